// Package sources chooses, for each coding agent that den has a preset for, the
// most reliable source of its activity, and adds what the source needs to the
// agent's command line.
//
// It links HTTP: only the keeper may import it.
package sources

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"den/internal/agent/conversation"
	"den/internal/agent/conversation/claude"
	"den/internal/agent/conversation/codex"
	"den/internal/agent/conversation/copilot"
	"den/internal/agent/conversation/gemini"
	"den/internal/agent/conversation/opencode"
	"den/internal/base/fault"
	"den/internal/base/statefile"
)

// Agent is what is known of an agent whose state is to be read.
type Agent struct {
	Vendor string            // its preset's name
	Env    map[string]string // its own, on top of this process's
	// Dir is where what is needed to reach it is kept while it runs, for a
	// keeper that finds it running. It is made for its owner only.
	Dir string
	// Processes lists the processes of its session.
	Processes func(ctx context.Context) ([]int, error)
	// Title returns the title of its window; nil where its place cannot tell.
	Title func(ctx context.Context) (string, error)

	// Judge decides what an agent asks by its server, before a person is asked;
	// or nil.
	Judge func(tool string, input json.RawMessage) Verdict

	Version string // den's
}

// Verdict is what an agent's Judge says.
type Verdict = opencode.Verdict

// Launch is a start with what the agent's source needs.
type Launch struct {
	Argv []string
	Env  map[string]string // to be added; may hold secrets: never print it
}

// vendor is one coding agent's row of the table. prepare is nil where its
// source is there without anything.
type vendor struct {
	prepare func(a Agent, argv []string) (Launch, any, error)
	open    func(a Agent, kept json.RawMessage) (conversation.Source, error)
}

// vendors is the table. An agent that is not in it has its screen only.
var vendors = map[string]vendor{
	"claude":   {open: openClaude},
	"codex":    {prepare: prepareCodex, open: openCodex},
	"copilot":  {open: openCopilot},
	"gemini":   {open: openGemini},
	"opencode": {prepare: prepareOpencode, open: openOpencode},
}

// keptFile is what Prepare leaves for Open.
const keptFile = "source.json"

// keptVersion is the version of keptFile's content.
const keptVersion = 1

type kept struct {
	V        int             `json:"v"`
	Vendor   string          `json:"vendor"`
	Endpoint json.RawMessage `json:"endpoint"`
}

// Prepare adds to a start what the agent's source needs. An error means that
// it is started as it is; its state comes from its screen then.
func (a Agent) Prepare(argv []string) (Launch, error) {
	plain := Launch{Argv: argv}
	// What was kept of the start before is no longer true.
	if err := os.Remove(filepath.Join(a.Dir, keptFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return plain, fault.Errorf(fault.Storage, "forget the source of the last start: %w", err)
	}
	v, ok := vendors[a.Vendor]
	if !ok || v.prepare == nil {
		return plain, nil
	}
	if len(argv) == 0 || filepath.Base(argv[0]) != a.Vendor {
		return plain, fault.Errorf(fault.Unsupported, "its command is not %s itself", a.Vendor)
	}
	if err := os.MkdirAll(a.Dir, 0o700); err != nil {
		return plain, fault.Errorf(fault.Storage, "make the directory of its source: %w", err)
	}
	launch, endpoint, err := v.prepare(a, argv)
	if err != nil {
		return plain, err
	}
	data, err := json.Marshal(endpoint)
	if err != nil {
		return plain, fault.Errorf(fault.Internal, "keep its source: %w", err)
	}
	if err := statefile.Replace(filepath.Join(a.Dir, keptFile), keptVersion, kept{Vendor: a.Vendor, Endpoint: data}); err != nil {
		return plain, fault.Errorf(fault.Storage, "keep its source: %w", err)
	}
	return launch, nil
}

// Open returns the source of an agent that runs or is about to. Without one,
// the error says why its screen is all there is.
func (a Agent) Open() (conversation.Source, error) {
	v, ok := vendors[a.Vendor]
	switch {
	case !ok && a.Vendor == "":
		return nil, fault.Errorf(fault.Unsupported, "its command is no preset's")
	case !ok:
		return nil, fault.Errorf(fault.Unsupported, "no source is known for %s", a.Vendor)
	case a.Processes == nil:
		return nil, fault.Errorf(fault.Unsupported, "its provider does not tell its processes")
	case v.prepare == nil:
		return v.open(a, nil)
	}
	k, found, err := statefile.Load[kept](filepath.Join(a.Dir, keptFile), keptVersion, statefile.Large)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read its source: %w", err)
	case !found:
		return nil, fault.Errorf(fault.Unsupported, "it was started without one")
	case k.V != keptVersion || k.Vendor != a.Vendor:
		return nil, fault.Errorf(fault.Unsupported, "its source was kept as version %d for %s, this is version %d for %s", k.V, k.Vendor, keptVersion, a.Vendor)
	}
	return v.open(a, k.Endpoint)
}

// getenv returns a variable as the agent sees it.
func (a Agent) getenv(key string) string {
	if value, ok := a.Env[key]; ok {
		return value
	}
	return os.Getenv(key)
}

func openClaude(a Agent, _ json.RawMessage) (conversation.Source, error) {
	dir := a.getenv("CLAUDE_CONFIG_DIR")
	if dir == "" {
		dir = filepath.Join(a.getenv("HOME"), ".claude")
	}
	return claude.Open(claude.Options{ConfigDir: dir, Processes: a.Processes})
}

func openCopilot(a Agent, _ json.RawMessage) (conversation.Source, error) {
	dir := a.getenv("COPILOT_HOME")
	if dir == "" {
		dir = filepath.Join(a.getenv("HOME"), ".copilot")
	}
	return copilot.Open(copilot.Options{Home: dir, Processes: a.Processes})
}

func openGemini(a Agent, _ json.RawMessage) (conversation.Source, error) {
	if a.Title == nil {
		return nil, fault.Errorf(fault.Unsupported, "its provider does not tell its window's title")
	}
	dir := a.getenv("GEMINI_CLI_HOME")
	if dir == "" {
		dir = a.getenv("HOME")
	}
	return gemini.Open(gemini.Options{Title: a.Title, Processes: a.Processes, Home: filepath.Join(dir, ".gemini")}), nil
}

func prepareCodex(a Agent, argv []string) (Launch, any, error) {
	e, argv, err := codex.Launch(argv, a.Dir)
	return Launch{Argv: argv}, e, err
}

func openCodex(a Agent, data json.RawMessage) (conversation.Source, error) {
	var e codex.Endpoint
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, fault.Errorf(fault.Storage, "read its source: %w", err)
	}
	return codex.Open(codex.Options{Endpoint: e, Version: a.Version, Processes: a.Processes}), nil
}

func prepareOpencode(_ Agent, argv []string) (Launch, any, error) {
	e, args, err := opencode.Launch(argv, time.Now())
	if err != nil {
		return Launch{}, nil, err
	}
	return Launch{Argv: slices.Concat(argv[:1], args, argv[1:]), Env: map[string]string{opencode.PasswordVariable: e.Password}}, e, nil
}

func openOpencode(a Agent, data json.RawMessage) (conversation.Source, error) {
	var e opencode.Endpoint
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, fault.Errorf(fault.Storage, "read its source: %w", err)
	}
	return opencode.Open(opencode.Options{Endpoint: e, Processes: a.Processes, Judge: a.Judge}), nil
}
