package datarepo

import (
	"cmp"
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
	data, _, found, err := r.readIf(startupFile, maxJSON)
	if err != nil || !found {
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
	var values []jsonobject.Value
	if err := jsonobject.Field(object, "ttys", jsonobject.Value.List, &values); err != nil {
		return nil, err
	}
	var terminals []Terminal
	for _, v := range values {
		t, err := parseTerminal(v)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(terminals, func(other Terminal) bool { return other.Number == t.Number }) {
			return nil, v.Errorf("terminal %d is there twice", t.Number)
		}
		terminals = append(terminals, t)
	}
	if !slices.ContainsFunc(terminals, func(t Terminal) bool { return t.Number == 0 }) {
		terminals = append(terminals, DefaultStartup()...)
	}
	slices.SortFunc(terminals, func(a, b Terminal) int { return a.Number - b.Number })
	return terminals, nil
}

func parseTerminal(v jsonobject.Value) (Terminal, error) {
	t := Terminal{}
	o, err := v.Object()
	if err != nil {
		return t, jsonobject.Key("ttys", err)
	}
	if _, ok := o.Get("tty"); !ok {
		return t, v.Errorf(`"tty" is missing: the number of a terminal`)
	}
	err = cmp.Or(
		jsonobject.Field(o, "tty", readNumber, &t.Number),
		jsonobject.Field(o, "command", readWord, &t.Command),
		jsonobject.Field(o, "label", jsonobject.Value.Text, &t.Label),
	)
	if strings.TrimSpace(t.Command) == "" {
		t.Command = defaultCommand
	}
	return t, err
}

// readNumber reads the number of a terminal.
func readNumber(v jsonobject.Value) (int, error) {
	n, err := v.Int()
	if err == nil && (n < 0 || n >= Terminals) {
		err = v.Errorf("%d, want 0 to %d", n, Terminals-1)
	}
	return n, err
}
