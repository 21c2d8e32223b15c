package container

import (
	"math"
	"strconv"
	"strings"

	"den/internal/fault"
	"den/internal/provider"

	api "github.com/moby/moby/api/types/container"
)

// resources are the limits of a container.
func resources(c provider.Container) (api.Resources, error) {
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
	pids := c.PIDs
	if pids == 0 {
		pids = -1 // engines have a default of their own, which is a limit
	}
	r.Memory, r.PidsLimit, r.NanoCPUs = memory, &pids, int64(c.CPUs*1e9)
	return r, nil
}

// parseMemory reads "512m" and the like: a number and one of b, k, m, g, which
// stand for powers of 1024. "" is 0, no limit.
func parseMemory(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	number := strings.TrimRight(strings.ToLower(s), "bi")
	shift := 0
	if at := strings.IndexByte("kmg", number[max(len(number)-1, 0):][0]); at >= 0 {
		shift = 10 * (at + 1)
		number = number[:len(number)-1]
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64>>shift {
		return 0, fault.Hintf(fault.Errorf(fault.Usage, "memory limit %q is not understood", s), "for example 512m or 2g")
	}
	return n << shift, nil
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
