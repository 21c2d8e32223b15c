package datarepo

import (
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"den/internal/ticks/jsonobject"
)

// Container says where the agent's terminals and hooks run.
type Container struct {
	Engine string // Auto, None, Podman or Docker
	// Options are all keys of the object, for who starts the container; or nil.
	Options json.RawMessage
}

// The engines. Auto is a container if the repository has a Containerfile.
const (
	Auto   = "auto"
	None   = "none"
	Podman = "podman"
	Docker = "docker"
)

// readContainer reads an engine's name, or an object with one and more.
func readContainer(c *Config, v jsonobject.Value) error {
	c.Container = Container{Engine: Auto}
	if !v.IsObject() {
		engine, err := engineOf(v)
		c.Container.Engine = engine
		return err
	}
	object, err := v.Object()
	if err != nil {
		return err
	}
	c.Container.Options = v.Raw
	if e, ok := object.Get("engine"); ok {
		c.Container.Engine, err = engineOf(e)
	}
	return err
}

func engineOf(v jsonobject.Value) (string, error) {
	engines := []string{Auto, None, Podman, Docker}
	s, err := v.Text()
	if err == nil && !slices.Contains(engines, s) {
		err = v.Errorf("no engine is named %.40q; there are %s", s, strings.Join(engines, ", "))
	}
	return s, err
}

// writtenContainer is a container as it is written.
func writtenContainer(c Container) any {
	if c.Options == nil {
		return c.Engine
	}
	object, err := jsonobject.Parse(configFile, c.Options)
	if err != nil {
		return c.Options // it cannot be written either, which tells the caller
	}
	was := Auto
	if e, ok := object.Get("engine"); ok {
		was, err = engineOf(e)
	}
	if err != nil || was != c.Engine {
		if err := object.Set("engine", c.Engine); err != nil {
			panic("datarepo: a string cannot be encoded: " + err.Error()) // it can
		}
	}
	return object.Raw()
}

// HasContainerfile reports whether the repository describes a container.
func (r *Repo) HasContainerfile() (bool, error) {
	_, err := r.root.Lstat(Containerfile)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, r.failed("look at", Containerfile, err)
	}
	return true, nil
}
