package box

import (
	"bytes"
	"encoding/json"

	"den/internal/base/fault"
	"den/internal/ticks/datarepo"
)

// Settings are what an agent's configuration says of its container.
type Settings struct {
	Engine  string   `json:"engine,omitempty"`  // podman, docker, or "" for what is there
	Socket  string   `json:"socket,omitempty"`  // of the engine, or ""
	Image   string   `json:"image,omitempty"`   // instead of a Containerfile
	Memory  string   `json:"memory,omitempty"`  // such as "512m", or "" for no limit
	PIDs    int      `json:"pids,omitempty"`    // 0 means no limit
	CPUs    float64  `json:"cpus,omitempty"`    // 0 means no limit
	Network string   `json:"network,omitempty"` // "none", "host", "default" or ""
	Mounts  []string `json:"mounts,omitempty"`  // directories of this machine that appear at the same path
	Init    []string `json:"init,omitempty"`    // a program that runs while the container does; it ends with it
}

// Choose reads what a configuration says, and whether the agent lives in a
// container.
func Choose(c datarepo.Container, hasContainerfile bool) (s Settings, wanted bool, err error) {
	if c.Options != nil {
		d := json.NewDecoder(bytes.NewReader(c.Options))
		d.DisallowUnknownFields() // a misspelt limit must not be none
		if err := d.Decode(&s); err != nil {
			return s, false, fault.Hintf(fault.Errorf(fault.Usage, `system/agent_config.json: "container": %w`, err),
				"there are engine, socket, image, memory, pids, cpus, network, mounts and init")
		}
	}
	s.Engine = c.Engine
	named := s.Engine != datarepo.Auto // else the files decide
	switch {
	case s.Engine == datarepo.None:
		return Settings{}, false, nil
	case hasContainerfile && s.Image != "":
		return s, false, fault.Errorf(fault.Usage, `system/agent_config.json: "container" names the image %q, and there is a %s: only one of them can be`, s.Image, datarepo.Containerfile)
	case named && !hasContainerfile && s.Image == "":
		return s, false, fault.Hintf(fault.Errorf(fault.Usage, `system/agent_config.json: "container" is %q, but there is no %s`, s.Engine, datarepo.Containerfile),
			`write one, name an "image", or let "container" be "none"`)
	}
	if !named {
		s.Engine = ""
	}
	return s, hasContainerfile || s.Image != "", nil
}
