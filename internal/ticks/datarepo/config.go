package datarepo

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"time"

	"den/internal/base/fault"
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
	data, _, err := r.Read(configFile, maxJSON)
	if errors.Is(err, fs.ErrNotExist) {
		return parseConfig([]byte("{}"))
	}
	if err != nil {
		return Config{}, err
	}
	c, err := parseConfig(data)
	if err != nil {
		return Config{}, fault.Hintf(fault.Errorf(fault.Usage, "data repository '%s': %w", r.path, err), "correct the file, or restore it from git")
	}
	return c, nil
}

// EditConfig changes the configuration. Keys whose values stay the same are
// written as they were, and those that den does not know too.
func (r *Repo) EditConfig(ctx context.Context, change func(*Config) error) error {
	return r.Edit(ctx, func() error {
		old, _, err := r.Read(configFile, maxJSON)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		before, err := r.Config()
		if err != nil {
			return err
		}
		after := before
		if err := change(&after); err != nil {
			return err
		}
		data, err := encodeConfig(before, after)
		if err != nil {
			return err
		}
		return r.Swap(configFile, old, data)
	})
}

// Extra returns a key that is not den's, and whether it is there.
func (c Config) Extra(key string) (json.RawMessage, bool) {
	if c.object == nil {
		return nil, false
	}
	v, ok := c.object.Get(key)
	return v.Raw, ok
}

// field is one of den's keys: how its value gets into a Config, and what is
// written for one.
type field struct {
	key  string
	read func(*Config, jsonobject.Value) error
	get  func(Config) any
}

var fields = []field{
	{"model", func(c *Config, v jsonobject.Value) (err error) { c.Model, err = v.Text(); return }, func(c Config) any { return c.Model }},
	{"max_thinking_tokens", func(c *Config, v jsonobject.Value) (err error) { c.MaxThinkingTokens, err = count(v); return }, func(c Config) any { return c.MaxThinkingTokens }},
	{"initial_query", func(c *Config, v jsonobject.Value) (err error) { c.InitialQuery, err = v.Text(); return }, func(c Config) any { return c.InitialQuery }},
	{"hook_env_prefix", readPrefix, func(c Config) any { return c.HookEnvPrefix }},
	{"runner", readRunner, func(c Config) any { return c.Runner }},
	{"command", readCommand, func(c Config) any { return c.Command }},
	{"limits", readLimits, func(c Config) any { return writtenLimits(c.Limits) }},
	{"container", readContainer, func(c Config) any { return writtenContainer(c.Container) }},
}

func parseConfig(data []byte) (Config, error) {
	object, err := jsonobject.Parse(configFile, data)
	if err != nil {
		return Config{}, err
	}
	c := DefaultConfig()
	c.object = object
	for _, f := range fields {
		if v, ok := object.Get(f.key); ok {
			if err := f.read(&c, v); err != nil {
				return Config{}, jsonobject.Key(f.key, err)
			}
		}
	}
	return c, nil
}

func encodeConfig(before, after Config) ([]byte, error) {
	object := before.object
	for _, f := range fields {
		if value := f.get(after); !reflect.DeepEqual(value, f.get(before)) {
			if err := object.Set(f.key, value); err != nil {
				return nil, err
			}
		}
	}
	data := object.File()
	if _, err := parseConfig(data); err != nil {
		return nil, fault.Errorf(fault.Usage, "write the agent's configuration: %w", err)
	}
	return data, nil
}

// count reads a number that counts something.
func count(v jsonobject.Value) (int, error) {
	n, err := v.Int()
	if err == nil && n < 0 {
		err = v.Errorf("%d is negative", n)
	}
	return n, err
}

var variableName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)?$`) })

func readPrefix(c *Config, v jsonobject.Value) error {
	s, err := v.Text()
	if err == nil && (!variableName().MatchString(s) || len(s) > 100) {
		err = v.Errorf("%.40q cannot begin the name of a variable: use letters, digits and '_'", s)
	}
	c.HookEnvPrefix = s
	return err
}

func readRunner(c *Config, v jsonobject.Value) error {
	s, err := v.Text()
	if err == nil && s == "" {
		err = v.Errorf("it is empty")
	}
	c.Runner = s
	return err
}

func readCommand(c *Config, v jsonobject.Value) error {
	words, err := v.List()
	if err != nil {
		return v.Errorf(`want a program and its arguments, such as ["./mind", "--fast"]`)
	}
	c.Command = nil
	for _, w := range words {
		s, err := w.Text()
		if err == nil && strings.ContainsRune(s, 0) {
			err = w.Errorf("it has a NUL character")
		}
		if err != nil {
			return err
		}
		c.Command = append(c.Command, s)
	}
	if len(c.Command) > 0 && c.Command[0] == "" {
		return v.Errorf("the program's name is empty")
	}
	return nil
}
