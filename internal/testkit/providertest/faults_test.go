package providertest_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"den/internal/testkit/need"

	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/provider/native"
	"den/internal/session/home"
	"den/internal/testkit/dentest"
	"den/internal/testkit/providertest"
)

// A suite that finds nothing proves nothing. So it is run against providers
// that each do one thing wrong, in a process of its own, and must fail.

const (
	faultEnv = "PROVIDERTEST_FAULT"
	denEnv   = "PROVIDERTEST_DEN"
)

// faults are wrong in one way, and the case that must find it.
var faults = map[string]struct {
	finds string
	wrap  func(*native.Provider) provider.Provider
}{
	"stops what begins with the name":   {"ExactNames", func(p *native.Provider) provider.Provider { return stopsPrefix{p} }},
	"peeks at one line more":            {"PeekCounts", func(p *native.Provider) provider.Provider { return peeksMore{p} }},
	"trims metadata":                    {"MetadataOddValues", func(p *native.Provider) provider.Provider { return trimsMeta{p} }},
	"keeps metadata by name":            {"MetadataGoneAfterRestart", func(p *native.Provider) provider.Provider { return &keepsMeta{Provider: p} }},
	"takes a doubt for no":              {"CouldNotAsk", func(p *native.Provider) provider.Provider { return doubts{p} }},
	"takes a dead session for running":  {"DeadIsNotRunning", func(p *native.Provider) provider.Provider { return neverDead{p} }},
	"replaces a running session":        {"StartTwiceIsBusy", func(p *native.Provider) provider.Provider { return replaces{p} }},
	"starts through a shell":            {"CannotExecute", func(p *native.Provider) provider.Provider { return throughShell{p} }},
	"hands on its environment":          {"Environment", func(p *native.Provider) provider.Provider { return handsOn{p} }},
	"keeps a descriptor of every start": {"NothingLeaks", func(p *native.Provider) provider.Provider { return &keepsFiles{Provider: p} }},
	"loses a trailing semicolon": {"NudgeFidelity", func(p *native.Provider) provider.Provider {
		return nudges{p, func(s string) []string { return []string{strings.TrimSuffix(s, ";")} }}
	}},
	"cuts a long nudge": {"NudgeLong", func(p *native.Provider) provider.Provider {
		return nudges{p, func(s string) []string { return []string{s[:min(len(s), 4095)]} }}
	}},
	"nudges line by line": {"NudgeMarked", func(p *native.Provider) provider.Provider {
		return nudges{p, func(s string) []string { return strings.Split(s, "\n") }}
	}},
	"knows no exit code":          {"ExitCodes", func(p *native.Provider) provider.Provider { return noCodes{p} }},
	"tells of no end":             {"Watch", func(p *native.Provider) provider.Provider { return silent{p} }},
	"tells of no start":           {"Watch", func(p *native.Provider) provider.Provider { return endsOnly{p} }},
	"observes the past":           {"Observe", func(p *native.Provider) provider.Provider { return &observesPast{Provider: p} }},
	"stages over what is there":   {"Stage", func(p *native.Provider) provider.Provider { return stagesOver{p} }},
	"loses the code of a command": {"Exec", func(p *native.Provider) provider.Provider { return losesCode{p} }},
	"types and presses Enter":     {"Type", func(p *native.Provider) provider.Provider { return pressesEnter{p} }},
	"takes all input for read": {"InputUnread", func(p *native.Provider) provider.Provider {
		return tellsInput{p, func(in *provider.Input) { in.Unread = 0 }}
	}},
	"tells of no unfinished line": {"InputLine", func(p *native.Provider) provider.Provider {
		return tellsInput{p, func(in *provider.Input) { in.Unfinished = "" }}
	}},
	"takes every terminal for raw": {"InputModes", func(p *native.Provider) provider.Provider {
		return tellsInput{p, func(in *provider.Input) { in.LineMode = false }}
	}},
	"interrupts nobody":              {"Interrupt", func(p *native.Provider) provider.Provider { return noInterrupt{p} }},
	"shows sessions to other owners": {"Owners", func(p *native.Provider) provider.Provider { return p }},
	"forgets sessions when reopened": {"FoundAgain", func(p *native.Provider) provider.Provider { return p }},
}

func TestFindsFaults(t *testing.T) {
	dir := t.TempDir()
	if err := dentest.Build(dir, "den"); err != nil {
		t.Fatal(err)
	}
	den, helper := filepath.Join(dir, "den"), providertest.BuildHelper(t)
	run, err := os.MkdirTemp("/tmp", "den-f-") // short: sockets go here
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(run) }) // Best effort.
	t.Run("faults", func(t *testing.T) {
		for name, f := range faults {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestFaulty$/^"+f.finds+"$", "-test.v")
				cmd.Env = append(os.Environ(), faultEnv+"="+name, denEnv+"="+den, providertest.Helper+"="+helper, "DEN_RUN_DIR="+run)
				out, err := cmd.CombinedOutput()
				if err == nil || !strings.Contains(string(out), "--- FAIL: TestFaulty/"+f.finds) {
					t.Errorf("%s did not find that the provider %s: %v\n%s", f.finds, name, err, out)
				}
			})
		}
	})
}

// TestFaulty is what TestFindsFaults runs.
func TestFaulty(t *testing.T) {
	name := os.Getenv(faultEnv)
	f, ok := faults[name]
	if !ok {
		need.Apart(t, "run by TestFindsFaults, with a fault to make")
	}
	open := func(t *testing.T, root, owner string) provider.Provider {
		p, err := native.Open(native.Options{
			Home: home.Home{Path: root, Explicit: true}, Owner: owner, Binary: os.Getenv(denEnv), Version: "test", Grace: 100 * time.Millisecond,
		})
		if err != nil {
			t.Fatal(err)
		}
		return f.wrap(p)
	}
	var root string // of the one case that runs
	providertest.Run(t, providertest.Harness{
		New: func(t *testing.T) provider.Provider {
			root = filepath.Join(t.TempDir(), "home")
			return open(t, root, "one")
		},
		Reopen: func(t *testing.T, _ provider.Provider) provider.Provider {
			if strings.HasPrefix(name, "forgets") {
				return open(t, root+"-2", "one")
			}
			return open(t, root, "one")
		},
		Owner2: func(t *testing.T, _ provider.Provider) provider.Provider {
			if strings.HasPrefix(name, "shows") {
				return open(t, root, "one")
			}
			return open(t, root, "two")
		},
		Break: func(t *testing.T, _ provider.Provider) func() {
			if err := os.Rename(root, root+".away"); err != nil {
				t.Fatal(err)
			}
			return sync.OnceFunc(func() {
				if err := os.Rename(root+".away", root); err != nil {
					t.Error(err)
				}
			})
		},
		Patience: 2 * time.Second,
	})
}

type stopsPrefix struct{ *native.Provider }

func (p stopsPrefix) Stop(ctx context.Context, name string) error {
	if running, err := p.ListRunning(ctx, name); err == nil && len(running) > 0 {
		name = running[0]
	}
	return p.Provider.Stop(ctx, name)
}

type peeksMore struct{ *native.Provider }

func (p peeksMore) Peek(ctx context.Context, name string, n int) (string, error) {
	if n > 0 {
		n++
	}
	return p.Provider.Peek(ctx, name, n)
}

type trimsMeta struct{ *native.Provider }

func (p trimsMeta) GetMeta(ctx context.Context, name, key string) (string, error) {
	v, err := p.Provider.GetMeta(ctx, name, key)
	return strings.TrimRight(v, " \n"), err
}

type keepsMeta struct {
	*native.Provider
	all sync.Map
}

func (p *keepsMeta) SetMeta(_ context.Context, name, key, value string) error {
	p.all.Store(name+"\x00"+key, value)
	return nil
}

func (p *keepsMeta) GetMeta(_ context.Context, name, key string) (string, error) {
	v, ok := p.all.Load(name + "\x00" + key)
	if !ok {
		return "", nil
	}
	return v.(string), nil
}

type doubts struct{ *native.Provider }

func (p doubts) IsRunning(ctx context.Context, name string) (bool, error) {
	running, _ := p.Provider.IsRunning(ctx, name) // the fault
	return running, nil
}

type neverDead struct{ *native.Provider }

func (p neverDead) IsRunning(ctx context.Context, name string) (bool, error) {
	_, err := p.Exit(ctx, name)
	return fault.KindOf(err) != fault.NotFound, nil
}

type replaces struct{ *native.Provider }

func (p replaces) Start(ctx context.Context, name string, c provider.Config) error {
	if err := p.Stop(ctx, name); err != nil {
		return err
	}
	return p.Provider.Start(ctx, name, c)
}

type throughShell struct{ *native.Provider }

func (p throughShell) Start(ctx context.Context, name string, c provider.Config) error {
	c.Argv = []string{"/bin/sh", "-c", strings.Join(c.Argv, " ")}
	return p.Provider.Start(ctx, name, c)
}

type handsOn struct{ *native.Provider }

func (p handsOn) Start(ctx context.Context, name string, c provider.Config) error {
	env := map[string]string{}
	for _, kv := range os.Environ() {
		if k, v, _ := strings.Cut(kv, "="); !strings.HasPrefix(k, "DEN_") { // those it refuses by itself
			env[k] = v
		}
	}
	for k, v := range c.Env {
		env[k] = v
	}
	c.Env = env
	return p.Provider.Start(ctx, name, c)
}

type keepsFiles struct {
	*native.Provider
	mu   sync.Mutex // guards kept
	kept []*os.File
}

func (p *keepsFiles) Start(ctx context.Context, name string, c provider.Config) error {
	f, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.kept = append(p.kept, f)
	p.mu.Unlock()
	return p.Provider.Start(ctx, name, c)
}

type nudges struct {
	*native.Provider
	split func(string) []string
}

func (p nudges) Nudge(ctx context.Context, name, text string) error {
	for _, part := range p.split(text) {
		if part == "" {
			if err := p.SendKeys(ctx, name, "Enter"); err != nil {
				return err
			}
			continue
		}
		if err := p.Provider.Nudge(ctx, name, part); err != nil {
			return err
		}
	}
	return nil
}

type noCodes struct{ *native.Provider }

func (p noCodes) Exit(ctx context.Context, name string) (*provider.Exit, error) {
	e, err := p.Provider.Exit(ctx, name)
	if e != nil {
		e.Code = 0
	}
	return e, err
}

type silent struct{ *native.Provider }

func (p silent) Watch(ctx context.Context) (<-chan provider.Event, error) {
	ends := make(chan provider.Event)
	context.AfterFunc(ctx, func() { close(ends) })
	return ends, nil
}

type noInterrupt struct{ *native.Provider }

func (p noInterrupt) Interrupt(ctx context.Context, name string) error {
	if _, err := p.Exit(ctx, name); err != nil {
		return fmt.Errorf("interrupt: %w", err)
	}
	return nil
}

type endsOnly struct{ *native.Provider }

func (p endsOnly) Watch(ctx context.Context) (<-chan provider.Event, error) {
	events, err := p.Provider.Watch(ctx)
	ends := make(chan provider.Event, 1024)
	go func() {
		defer close(ends)
		for e := range events {
			if e.Change == provider.Ended {
				ends <- e
			}
		}
	}()
	return ends, err
}

type observesPast struct {
	*native.Provider
	mu   sync.Mutex
	past map[string]provider.Observation
}

func (p *observesPast) Observe(ctx context.Context, prefix string) (map[string]provider.Observation, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all, err := p.Provider.Observe(ctx, prefix)
	if len(p.past) == 0 {
		p.past = all
	}
	return p.past, err
}

type stagesOver struct{ *native.Provider }

func (p stagesOver) Stage(ctx context.Context, name string, c provider.Config, files io.Reader, o provider.StageOptions) error {
	o.KeepExisting = false
	return p.Provider.Stage(ctx, name, c, files, o)
}

type losesCode struct{ *native.Provider }

func (p losesCode) Exec(ctx context.Context, name string, c provider.Config, e provider.ExecSpec) (int, error) {
	_, err := p.Provider.Exec(ctx, name, c, e)
	return 0, err
}

type pressesEnter struct{ *native.Provider }

func (p pressesEnter) Type(ctx context.Context, name, text string) error {
	return p.Provider.Nudge(ctx, name, text)
}

type tellsInput struct {
	*native.Provider
	wrongly func(*provider.Input)
}

func (p tellsInput) Input(ctx context.Context, name string) (provider.Input, error) {
	in, err := p.Provider.Input(ctx, name)
	p.wrongly(&in)
	return in, err
}
