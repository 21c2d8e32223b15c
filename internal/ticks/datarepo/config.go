package datarepo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"regexp"
	"slices"
	"strconv"
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
var limitKeys = map[string]func(*Limits, jsonobject.Value) error{
	"wall_time":       func(l *Limits, v jsonobject.Value) (err error) { l.WallTime, err = duration(v); return },
	"turns":           func(l *Limits, v jsonobject.Value) (err error) { l.Turns, err = count(v); return },
	"cost_usd":        func(l *Limits, v jsonobject.Value) (err error) { l.Cost, err = cost(v); return },
	"rounds":          func(l *Limits, v jsonobject.Value) (err error) { l.Rounds, err = count(v); return },
	"context_tokens":  func(l *Limits, v jsonobject.Value) (err error) { l.ContextTokens, err = count(v); return },
	"context_percent": func(l *Limits, v jsonobject.Value) (err error) { l.ContextPercent, err = percent(v); return },
}

func readLimits(c *Config, v jsonobject.Value) error {
	object, err := v.Object()
	if err != nil {
		return err
	}
	for _, key := range object.Keys() {
		value, ok := object.Get(key)
		if !ok {
			continue // a null
		}
		read, known := limitKeys[key]
		if !known {
			return value.Errorf("no limit is named %q; there are context_percent, context_tokens, cost_usd, rounds, turns and wall_time", key)
		}
		if err := read(&c.Limits, value); err != nil {
			return jsonobject.Key(key, err)
		}
	}
	return nil
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

// writtenLimits are limits as they are written.
func writtenLimits(l Limits) any {
	return struct {
		WallTime       string  `json:"wall_time"`
		Turns          int     `json:"turns"`
		Cost           float64 `json:"cost_usd"`
		Rounds         int     `json:"rounds"`
		ContextTokens  int     `json:"context_tokens"`
		ContextPercent int     `json:"context_percent"`
	}{l.WallTime.String(), l.Turns, l.Cost, l.Rounds, l.ContextTokens, l.ContextPercent}
}

// placeholder is a name in the initial query, with the width of a number:
// {tick}, {tick:03d}, {data_dir}. Doubled braces stand for one.
var placeholder = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\{\{|\}\}|\{tick(?::(0?)([0-9]{1,2})d?|:d)?\}|\{data_dir\}`)
})

// Query is the initial query of a tick. Braces that are no placeholder stay as
// they are.
func (c Config) Query(tick int, dataDir string) string {
	return placeholder().ReplaceAllStringFunc(c.InitialQuery, func(s string) string {
		switch {
		case s == "{{" || s == "}}":
			return s[:1]
		case s == "{data_dir}":
			return dataDir
		}
		parts := placeholder().FindStringSubmatch(s)
		if parts[2] == "" {
			return strconv.Itoa(tick)
		}
		return fmt.Sprintf("%"+parts[1]+parts[2]+"d", tick)
	})
}

// Prompt is the agent's whole system prompt, "" if it has none.
func (r *Repo) Prompt() (string, error) {
	data, _, err := r.Read(promptFile, maxPrompt)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.ToValidUTF8(string(data), "\uFFFD"), err
}

// WritePrompt replaces the system prompt.
func (r *Repo) WritePrompt(text string) error { return r.Write(promptFile, []byte(text)) }
