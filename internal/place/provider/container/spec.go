package container

import (
	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/workspace"
)

// Spec is what one session's container is made of. It is the `container` table
// of an agent in the workspace file, and the Options of a provider.Config.
type Spec struct {
	Image   string           `key:"image"`   // a reference, or "" where Context builds one
	Context workspace.Path   `key:"context"` // a directory with a Containerfile, or ""
	Memory  string           `key:"memory"`  // such as "512m", or "" for no limit
	PIDs    int              `key:"pids"`    // 0 means no limit
	CPUs    float64          `key:"cpus"`    // 0 means no limit
	Network string           `key:"network"` // "none", "host", "default" or ""
	Mounts  []workspace.Path `key:"mounts"`  // host directories that appear at the same path
}

// specOf returns the container's part of a session's configuration.
func specOf(c provider.Config) (Spec, error) {
	s, ok := c.Options.(Spec)
	if !ok {
		return Spec{}, fault.Errorf(fault.Usage, "no container is described: the session's options are %T", c.Options)
	}
	return s, nil
}

// DecodeSpec reads an agent's `container` table.
func DecodeSpec(a *workspace.Agent) (Spec, workspace.Problems) {
	var s Spec
	t := a.Tables.Container
	problems := t.Decode(&s)
	problems = append(problems, t.OneOf("network", s.Network, "", "none", "host", "default")...)
	if _, err := parseMemory(s.Memory); err != nil {
		problems = append(problems, t.Problem("memory", "agent '%s': 'memory' is such as \"512m\" or \"2g\", not \"%s\"", a.Name, s.Memory))
	}
	for key, negative := range map[string]bool{"pids": s.PIDs < 0, "cpus": s.CPUs < 0} {
		if negative {
			problems = append(problems, t.Problem(key, "agent '%s': '%s' is negative", a.Name, key))
		}
	}
	switch inContainer := a.SessionProvider == Kind; {
	case inContainer && s.Image == "" && s.Context == "":
		problems = append(problems, a.Problem("runs_in", "agent '%s' lives in a container: [agents.container] needs an 'image' or a 'context'", a.Name))
	case s.Image != "" && s.Context != "":
		problems = append(problems, t.Problem("context", "agent '%s': 'image' and 'context' exclude each other", a.Name))
	}
	return s, problems
}

// EngineOptions is the `container` table of the file's [session] section.
type EngineOptions struct {
	Engine string `key:"engine"` // Podman, Docker, or "" for what is there
	Socket string `key:"socket"` // of the engine, or ""
}

// DecodeEngine reads the session section's `container` table.
func DecodeEngine(t workspace.Table) (EngineOptions, workspace.Problems) {
	var o EngineOptions
	problems := t.Decode(&o)
	return o, append(problems, t.OneOf("engine", o.Engine, "", Podman, Docker)...)
}
