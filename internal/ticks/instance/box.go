package instance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"den/internal/base/fault"
	"den/internal/base/statefile"
	"den/internal/session/home"
)

// Box is what is known of the container in which the agent lives. It is
// recorded when the container has started; whether that still runs is told by
// its session.
type Box struct {
	Session string `json:"session"` // of the container, in BoxHome
	Image   string `json:"image"`   // that it was made from
	Made    string `json:"made"`    // a digest of all that it was made from
	Shell   string `json:"shell"`   // that the image has
	// Sockets is a directory that the container shares, for sockets of its
	// terminals.
	Sockets string    `json:"sockets"`
	Engine  string    `json:"engine,omitempty"` // its brand; "" means whichever there was
	Socket  string    `json:"socket,omitempty"` // of the engine; "" means that it was found
	Since   time.Time `json:"since"`
	Problem string    `json:"problem,omitempty"` // why it is an older one than the files describe
}

const boxVersion = 1

type boxFile struct {
	V int `json:"v"`
	Box
}

// BoxHome is the Home of the container's own session.
func (d Dir) BoxHome() home.Home {
	return home.Home{Path: filepath.Join(d.Path, "box"), Explicit: true}
}

// TerminalHome is the Home of the terminals in the container, which has the
// sessions of this one and of no other.
func (d Dir) TerminalHome() home.Home {
	return home.Home{Path: filepath.Join(d.Path, "tty"), Explicit: true}
}

func (d Dir) box() string { return filepath.Join(d.Path, "box.json") }

// SaveBox records a container that was started.
func (d Dir) SaveBox(b Box) error {
	if err := statefile.Save(d.box(), boxVersion, boxFile{Box: b}); err != nil {
		return fault.Errorf(fault.Storage, "record the agent's container: %w", err)
	}
	return nil
}

// LoadBox returns what SaveBox recorded, zero where there is nothing.
func (d Dir) LoadBox() (Box, error) {
	f, _, err := statefile.Load[boxFile](d.box(), boxVersion, maxFile)
	if err != nil {
		return Box{}, fmt.Errorf("read the record of the agent's container: %w", err)
	}
	return f.Box, nil
}

// RemoveBox forgets a container that is gone.
func (d Dir) RemoveBox() error {
	if err := os.Remove(d.box()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.Errorf(fault.Storage, "forget the agent's container: %w", err)
	}
	return nil
}

// Container is the container in which the agent lives, for people.
type Container struct {
	State   home.Status `json:"state"` // of its session
	Image   string      `json:"image"`
	Since   time.Time   `json:"since"`             // when it was started
	Home    string      `json:"home"`              // of its terminals
	Problem string      `json:"problem,omitempty"` // why it is an older one than the files describe
}

// container reads what became of the agent's container, nil if it never had
// one. No engine is asked.
func (i *Instance) container() (*Container, error) {
	b, err := i.Dir.LoadBox()
	if err != nil || b.Image == "" {
		return nil, err
	}
	c := &Container{State: home.Lost, Image: b.Image, Since: b.Since, Home: i.Dir.TerminalHome().Path, Problem: b.Problem}
	d, err := i.Dir.BoxHome().Find(b.Session)
	if fault.KindOf(err) == fault.NotFound {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	m, err := d.Inspect()
	if err != nil {
		return c, err
	}
	c.State = m.Status
	return c, nil
}
