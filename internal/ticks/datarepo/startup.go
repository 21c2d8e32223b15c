package datarepo

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"den/internal/base/fault"
	"den/internal/ticks/jsonobject"
)

// Terminals is how many terminals an agent can have; they are numbered from 0.
const Terminals = 20

// A Terminal is opened when the agent logs in.
type Terminal struct {
	Number  int
	Command string
	Label   string // or ""
}

// DefaultStartup is that of a repository without a file.
func DefaultStartup() []Terminal { return []Terminal{{Command: defaultCommand}} }

const defaultCommand = "bash"

// Startup returns the terminals that system/startup.json lists, by number.
// Terminal 0 is always among them. If the file is wrong, the default comes with
// the error: an agent must be able to log in to correct it, and to be told.
func (r *Repo) Startup() ([]Terminal, error) {
	data, _, err := r.Read(startupFile, maxJSON)
	if errors.Is(err, fs.ErrNotExist) {
		return DefaultStartup(), nil
	}
	if err != nil {
		return DefaultStartup(), err
	}
	terminals, err := parseStartup(data)
	if err != nil {
		return DefaultStartup(), fault.Errorf(fault.Usage, "data repository '%s': %w", r.path, err)
	}
	return terminals, nil
}

func parseStartup(data []byte) ([]Terminal, error) {
	object, err := jsonobject.Parse(startupFile, data)
	if err != nil {
		return nil, err
	}
	entries, err := startupEntries(object)
	if err != nil {
		return nil, err
	}
	var terminals []Terminal
	for _, e := range entries {
		if slices.ContainsFunc(terminals, func(t Terminal) bool { return t.Number == e.terminal.Number }) {
			return nil, e.value.Errorf("terminal %d is there twice", e.terminal.Number)
		}
		terminals = append(terminals, e.terminal)
	}
	if !slices.ContainsFunc(terminals, func(t Terminal) bool { return t.Number == 0 }) {
		terminals = append(terminals, DefaultStartup()...)
	}
	slices.SortFunc(terminals, func(a, b Terminal) int { return a.Number - b.Number })
	return terminals, nil
}

// startupEntry is a terminal and the object that it was read from.
type startupEntry struct {
	terminal Terminal
	value    jsonobject.Value
	object   *jsonobject.Object
}

func startupEntries(object *jsonobject.Object) ([]startupEntry, error) {
	list, ok := object.Get("ttys")
	if !ok {
		return nil, nil
	}
	values, err := list.List()
	if err != nil {
		return nil, jsonobject.Key("ttys", err)
	}
	var entries []startupEntry
	for _, v := range values {
		o, err := v.Object()
		if err != nil {
			return nil, jsonobject.Key("ttys", err)
		}
		t, err := parseTerminal(v, o)
		if err != nil {
			return nil, err
		}
		entries = append(entries, startupEntry{t, v, o})
	}
	return entries, nil
}

func parseTerminal(at jsonobject.Value, o *jsonobject.Object) (Terminal, error) {
	t := Terminal{Command: defaultCommand}
	v, ok := o.Get("tty")
	if !ok {
		return t, at.Errorf(`"tty" is missing: the number of a terminal`)
	}
	n, err := v.Int()
	if err == nil && (n < 0 || n >= Terminals) {
		err = v.Errorf("%d, want 0 to %d", n, Terminals-1)
	}
	if err != nil {
		return t, jsonobject.Key("tty", err)
	}
	t.Number = n
	if v, ok := o.Get("command"); ok {
		s, err := v.Text()
		if err == nil && strings.ContainsRune(s, 0) {
			err = v.Errorf("it has a NUL character")
		}
		if err != nil {
			return t, jsonobject.Key("command", err)
		}
		if strings.TrimSpace(s) != "" {
			t.Command = s
		}
	}
	if v, ok := o.Get("label"); ok {
		if t.Label, err = v.Text(); err != nil {
			return t, jsonobject.Key("label", err)
		}
	}
	return t, nil
}

// WriteStartup replaces the list of terminals. Keys that den does not know
// stay, those of a terminal with its number.
func (r *Repo) WriteStartup(ctx context.Context, terminals []Terminal) error {
	return r.Edit(ctx, func() error {
		old, _, err := r.Read(startupFile, maxJSON)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		data, err := encodeStartup(old, terminals)
		if err != nil {
			return fault.Errorf(fault.Usage, "data repository '%s': %w", r.path, err)
		}
		return r.Swap(startupFile, old, data)
	})
}

func encodeStartup(old []byte, terminals []Terminal) ([]byte, error) {
	object := jsonobject.New()
	var entries []startupEntry
	if old != nil {
		var err error
		if object, err = jsonobject.Parse(startupFile, old); err != nil {
			return nil, err
		}
		if entries, err = startupEntries(object); err != nil {
			return nil, err
		}
	}
	list := []json.RawMessage{}
	for _, t := range terminals {
		o := jsonobject.New()
		if i := slices.IndexFunc(entries, func(e startupEntry) bool { return e.terminal.Number == t.Number }); i >= 0 {
			o = entries[i].object
		}
		err := errors.Join(o.Set("tty", t.Number), o.Set("command", t.Command))
		if t.Label != "" || hasKey(o, "label") {
			err = errors.Join(err, o.Set("label", t.Label))
		}
		if err != nil {
			return nil, err
		}
		list = append(list, o.Raw())
	}
	if err := object.Set("ttys", list); err != nil {
		return nil, err
	}
	data := object.File()
	_, err := parseStartup(data)
	return data, err
}

func hasKey(o *jsonobject.Object, key string) bool {
	_, ok := o.Get(key)
	return ok
}
