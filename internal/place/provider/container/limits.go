package container

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"den/internal/base/fault"

	api "github.com/moby/moby/api/types/container"
)

// resources are the limits of a container.
func resources(c Spec) (api.Resources, error) {
	var r api.Resources
	memory, err := parseMemory(c.Memory)
	if err != nil {
		return r, err
	}
	if c.PIDs < 0 {
		return r, fault.Errorf(fault.Usage, "limit of processes %d is below zero", c.PIDs)
	}
	if c.CPUs < 0 || math.IsNaN(c.CPUs) || c.CPUs > 1<<20 {
		return r, fault.Errorf(fault.Usage, "%v is no number of processors", c.CPUs)
	}
	pids := int64(c.PIDs)
	if pids == 0 {
		pids = -1 // engines have a default of their own, which is a limit
	}
	r.Memory, r.PidsLimit, r.NanoCPUs = memory, &pids, int64(c.CPUs*1e9)
	return r, nil
}

var memoryPattern = regexp.MustCompile(`^([0-9]+)([kmg]?)(i?b)?$`)

// parseMemory reads "512m" and the like: k, m and g stand for powers of 1024.
// "" is 0, no limit.
func parseMemory(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	if parts := memoryPattern.FindStringSubmatch(strings.ToLower(s)); parts != nil {
		shift := map[string]int{"": 0, "k": 10, "m": 20, "g": 30}[parts[2]]
		n, err := strconv.ParseInt(parts[1], 10, 64)
		if err == nil && n > 0 && n <= math.MaxInt64>>shift {
			return n << shift, nil
		}
	}
	return 0, fault.Hintf(fault.Errorf(fault.Usage, "memory limit %q is not understood", s), "for example 512m or 2g")
}

// networkMode checks the network that a container gets.
func networkMode(network string) (api.NetworkMode, error) {
	switch network {
	case "none", "host", "default":
		return api.NetworkMode(network), nil
	case "":
		return "default", nil
	}
	return "", fault.Errorf(fault.Usage, "network is none, host or default, not %q", network)
}
