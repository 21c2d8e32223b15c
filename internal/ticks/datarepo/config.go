package datarepo

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/base/lazy"
	"den/internal/ticks/jsonobject"
)

// Config is an agent's configuration, system/agent_config.json, over the
// defaults.
type Config struct {
	Model             string
	MaxThinkingTokens int
	InitialQuery      string // see Query
	HookEnvPrefix     string // begins the names of hooks' variables

	// Runner is the backend that runs the agent's mind, and Command its program
	// with its arguments, nil for the backend's own.
	Runner  string
	Command []string

	Limits    Limits
	Container Container

	object *jsonobject.Object // as it was read: keys that are not den's stay
}

// DefaultConfig is that of a repository without a file.
func DefaultConfig() Config {
	return Config{
		Model:             "claude-opus-4-6",
		MaxThinkingTokens: 16000,
		InitialQuery:      "Tick {tick} starting. Call login() to begin.",
		HookEnvPrefix:     "AGENT",
		Runner:            "claude",
		Limits:            Limits{WallTime: 4 * time.Hour, Rounds: 10, ContextPercent: 70},
		Container:         Container{Engine: Auto},
	}
}

// Config reads the configuration. A file that is wrong is an error that says
// where, and not the defaults: a typo must not take away a limit.
func (r *Repo) Config() (Config, error) {
	data, _, found, err := r.readIf(configFile, maxJSON)
	if err != nil {
		return Config{}, err
	}
	if !found {
		data = []byte("{}")
	}
	c, err := parseConfig(data)
	if err != nil {
		return Config{}, fault.Hintf(fault.Errorf(fault.Usage, "data repository '%s': %w", r.path, err), "correct the file, or restore it from git")
	}
	return c, nil
}

// Extra returns a key that is not den's, and whether it is there.
func (c Config) Extra(key string) (json.RawMessage, bool) {
	if c.object == nil {
		return nil, false
	}
	v, ok := c.object.Get(key)
	return v.Raw, ok
}

func parseConfig(data []byte) (Config, error) {
	object, err := jsonobject.Parse(configFile, data)
	if err != nil {
		return Config{}, err
	}
	c := DefaultConfig()
	c.object = object
	err = cmp.Or(
		jsonobject.Field(object, "model", jsonobject.Value.Text, &c.Model),
		jsonobject.Field(object, "max_thinking_tokens", count, &c.MaxThinkingTokens),
		jsonobject.Field(object, "initial_query", jsonobject.Value.Text, &c.InitialQuery),
		jsonobject.Field(object, "hook_env_prefix", readPrefix, &c.HookEnvPrefix),
		jsonobject.Field(object, "runner", readRunner, &c.Runner),
		jsonobject.Field(object, "command", readCommand, &c.Command),
		jsonobject.Field(object, "limits", readLimits, &c.Limits),
		jsonobject.Field(object, "container", readContainer, &c.Container),
	)
	return c, err
}

// count reads a number that counts something.
func count(v jsonobject.Value) (int, error) {
	n, err := v.Int()
	if err == nil && n < 0 {
		err = v.Errorf("%d is negative", n)
	}
	return n, err
}

var variableName = lazy.Regexp{Expr: `^([A-Za-z_][A-Za-z0-9_]*)?$`}

func readPrefix(v jsonobject.Value) (string, error) {
	s, err := v.Text()
	if err == nil && (!variableName.Get().MatchString(s) || len(s) > 100) {
		err = v.Errorf("%.40q cannot begin the name of a variable: use letters, digits and '_'", s)
	}
	return s, err
}

func readRunner(v jsonobject.Value) (string, error) {
	s, err := v.Text()
	if err == nil && s == "" {
		err = v.Errorf("it is empty")
	}
	return s, err
}

func readCommand(v jsonobject.Value) (command []string, err error) {
	words, err := v.List()
	if err != nil {
		return nil, v.Errorf(`want a program and its arguments, such as ["./mind", "--fast"]`)
	}
	for _, w := range words {
		s, err := readWord(w)
		if err != nil {
			return nil, err
		}
		command = append(command, s)
	}
	if len(command) > 0 && command[0] == "" {
		return nil, v.Errorf("the program's name is empty")
	}
	return command, nil
}

// readWord reads a word of a command line.
func readWord(v jsonobject.Value) (string, error) {
	s, err := v.Text()
	if err == nil && strings.ContainsRune(s, 0) {
		err = v.Errorf("it has a NUL character")
	}
	return s, err
}

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
func readContainer(v jsonobject.Value) (Container, error) {
	if !v.IsObject() {
		engine, err := engineOf(v)
		return Container{Engine: engine}, err
	}
	c := Container{Engine: Auto, Options: v.Raw}
	object, err := v.Object()
	if e, ok := object.Get("engine"); ok && err == nil {
		c.Engine, err = engineOf(e)
	}
	return c, err
}

func engineOf(v jsonobject.Value) (string, error) {
	engines := []string{Auto, None, Podman, Docker}
	s, err := v.Text()
	if err == nil && !slices.Contains(engines, s) {
		err = v.Errorf("no engine is named %.40q; there are %s", s, strings.Join(engines, ", "))
	}
	return s, err
}

// HasContainerfile reports whether the repository describes a container.
func (r *Repo) HasContainerfile() (bool, error) {
	_, err := r.Stat(Containerfile)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Limits bound one tick. 0 means no limit.
type Limits struct {
	WallTime       time.Duration
	Turns          int     // replies of the model
	Cost           float64 // in US dollars, where the backend tells it, and when it does
	Rounds         int     // how often the agent is told that it cannot end yet
	ContextTokens  int     // the model's window; 0 means what the backend tells
	ContextPercent int     // of the window: the agent is told to wrap up
}

// limitKeys are the keys of "limits". An unknown one is an error: it may be a
// limit that somebody relies on.
func limitKeys() map[string]func(*Limits, jsonobject.Value) error {
	return map[string]func(*Limits, jsonobject.Value) error{
		"wall_time":       func(l *Limits, v jsonobject.Value) (err error) { l.WallTime, err = duration(v); return },
		"turns":           func(l *Limits, v jsonobject.Value) (err error) { l.Turns, err = count(v); return },
		"cost_usd":        func(l *Limits, v jsonobject.Value) (err error) { l.Cost, err = cost(v); return },
		"rounds":          func(l *Limits, v jsonobject.Value) (err error) { l.Rounds, err = count(v); return },
		"context_tokens":  func(l *Limits, v jsonobject.Value) (err error) { l.ContextTokens, err = count(v); return },
		"context_percent": func(l *Limits, v jsonobject.Value) (err error) { l.ContextPercent, err = percent(v); return },
	}
}

func readLimits(v jsonobject.Value) (Limits, error) {
	limits := DefaultConfig().Limits
	object, err := v.Object()
	if err != nil {
		return limits, err
	}
	for _, key := range object.Keys() {
		value, ok := object.Get(key)
		if !ok {
			continue // a null
		}
		read, known := limitKeys()[key]
		if !known {
			return limits, value.Errorf("no limit is named %q; there are context_percent, context_tokens, cost_usd, rounds, turns and wall_time", key)
		}
		if err := read(&limits, value); err != nil {
			return limits, jsonobject.Key(key, err)
		}
	}
	return limits, nil
}

func cost(v jsonobject.Value) (float64, error) {
	f, err := v.Float()
	if err == nil && f < 0 {
		err = v.Errorf("%g is negative", f)
	}
	return f, err
}

func percent(v jsonobject.Value) (int, error) {
	n, err := count(v)
	if err == nil && n > 100 {
		err = v.Errorf("%d is more than 100", n)
	}
	return n, err
}

// duration is a string such as "45m", or a number of seconds.
func duration(v jsonobject.Value) (time.Duration, error) {
	if !v.IsString() {
		seconds, err := count(v)
		if err == nil && seconds > int(maxDuration/time.Second) {
			err = v.Errorf("%d seconds is more than a year", seconds)
		}
		return time.Duration(seconds) * time.Second, err
	}
	s, err := v.Text()
	if err != nil {
		return 0, err
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || d > maxDuration {
		return 0, v.Errorf(`%.40q is no time such as "90s", "45m" or "2h30m", of at most a year`, s)
	}
	return d, nil
}

const maxDuration = 366 * 24 * time.Hour

// placeholder is a name in the initial query, with the width of a number:
// {tick}, {tick:03d}, {data_dir}. Doubled braces stand for one.
var placeholder = lazy.Regexp{Expr: `\{\{|\}\}|\{tick(?::(0?)([0-9]{1,2})d?|:d)?\}|\{data_dir\}`}

// Query is the initial query of a tick. Braces that are no placeholder stay as
// they are.
func (c Config) Query(tick int, dataDir string) string {
	return placeholder.Get().ReplaceAllStringFunc(c.InitialQuery, func(s string) string {
		switch {
		case s == "{{" || s == "}}":
			return s[:1]
		case s == "{data_dir}":
			return dataDir
		}
		parts := placeholder.Get().FindStringSubmatch(s)
		if parts[2] == "" {
			return strconv.Itoa(tick)
		}
		return fmt.Sprintf("%"+parts[1]+parts[2]+"d", tick)
	})
}

// Prompt is the agent's whole system prompt, "" if it has none.
func (r *Repo) Prompt() (string, error) {
	data, _, _, err := r.readIf(promptFile, maxPrompt)
	return strings.ToValidUTF8(string(data), "\uFFFD"), err
}

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
