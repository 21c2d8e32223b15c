package box_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/provider/container"
	"den/internal/ticks/box"
	"den/internal/ticks/instance"
)

// engine is a container provider without containers: it says what is asked of
// it.
type engine struct {
	image    string // what the files make
	building error  // why they make none, or nil
	running  bool
	broken   string // an image from which nothing starts
	asked    []string
}

func (e *engine) did(format string, args ...any) {
	e.asked = append(e.asked, fmt.Sprintf(format, args...))
}

// since returns what was asked since the last call.
func (e *engine) since() []string {
	asked := e.asked
	e.asked = nil
	return asked
}

func (e *engine) Image(_ context.Context, _ string, c provider.Config, progress func(string)) (string, error) {
	e.did("image of %s", filepath.Base(string(c.Options.(container.Spec).Context)))
	progress("STEP 1")
	return e.image, e.building
}

func (e *engine) Start(_ context.Context, _ string, c provider.Config) error {
	from := c.Options.(container.Spec).Image
	e.did("start %s", from)
	if from == e.broken {
		return fault.Errorf(fault.Usage, "nothing starts from %s", from)
	}
	e.running = true
	return nil
}

func (e *engine) Stop(context.Context, string) error {
	e.did("stop")
	e.running = false
	return nil
}

func (e *engine) Exec(_ context.Context, _ string, _ provider.Config, s provider.ExecSpec) (int, error) {
	if !e.running {
		return 0, errors.New("it does not run")
	}
	io.WriteString(s.Stdout, "sh\n")
	return 0, nil
}

func (e *engine) Prune(context.Context, time.Duration) (container.Pruned, error) {
	e.did("prune")
	return container.Pruned{}, nil
}

func (e *engine) Interrupt(context.Context, string) error         { return nil }
func (e *engine) IsRunning(context.Context, string) (bool, error) { return e.running, nil }
func (e *engine) DenSession(name string) string                   { return "kernel." + name }

// newBox is a box of an engine that is played.
func newBox(t *testing.T, e *engine, settings box.Settings) *box.Box {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("DEN_RUN_DIR", filepath.Join(dir, "run"))
	return box.New(box.Options{
		Name: "demo", Data: filepath.Join(dir, "data"), Dir: instance.Dir{Path: filepath.Join(dir, "state")}, Containers: e, Settings: settings,
		Version: "1", Getenv: os.Getenv, Log: slog.New(slog.DiscardHandler), Clock: time.Now,
	})
}

// again is the same box in a later process, with other settings.
func again(b *box.Box, change func(*box.Options)) *box.Box {
	o := b.Options
	change(&o)
	return box.New(o)
}

// The container is made when it is needed, and made anew when what it is made
// from has changed, and not otherwise.
func TestPrepare(t *testing.T) {
	e := &engine{image: "one"}
	b := newBox(t, e, box.Settings{})
	for _, step := range []struct {
		what   string
		before func()
		want   []string
	}{
		{"the first", func() {}, []string{"start one", "prune"}},
		{"nothing has changed", func() {}, nil},
		{"a file has changed", func() { e.image = "two" }, []string{"stop", "start two", "prune"}},
		{"it has ended", func() { e.running = false }, []string{"start two", "prune"}},
		{"a limit has changed", func() { b = again(b, func(o *box.Options) { o.Settings.Memory = "1g" }) }, []string{"stop", "start two", "prune"}},
		{"den has changed", func() { b = again(b, func(o *box.Options) { o.Version = "2" }) }, []string{"stop", "start two", "prune"}},
		{"its record is damaged", func() {
			if err := os.WriteFile(filepath.Join(b.Dir.Path, "box.json"), []byte("{"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, []string{"stop", "start two", "prune"}},
		{"in a later process", func() { b = again(b, func(*box.Options) {}) }, nil},
	} {
		step.before()
		warning, err := b.Prepare(t.Context())
		if got, want := e.since(), append([]string{"image of container"}, step.want...); err != nil || warning != "" || !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v; %q, %v", step.what, got, want, warning, err)
		}
	}
}

// An agent whose container cannot be made has the one from before, if there is
// an engine.
func TestPrepareKeepsWhatThereWas(t *testing.T) {
	e := &engine{building: fault.Errorf(fault.Usage, "build: %s no such package", strings.Repeat("step\n", 10_000))}
	b := newBox(t, e, box.Settings{})
	warning, err := b.Prepare(t.Context())
	if fault.KindOf(err) != fault.Usage || warning != "" || !strings.HasSuffix(err.Error(), "no such package") || len(err.Error()) > 3000 {
		t.Fatalf("without one before: %q, %.4000v", warning, err)
	}
	failed := e.building
	e.image, e.building = "one", nil
	if warning, err := b.Prepare(t.Context()); err != nil || warning != "" {
		t.Fatal(warning, err)
	}
	e.since()

	e.building = failed
	for what, running := range map[string]bool{"it runs": true, "it has ended": false} {
		e.running = running
		warning, err = b.Prepare(t.Context())
		if err != nil || !strings.HasSuffix(warning, "no such package") || !e.running {
			t.Errorf("%s: %q, %v", what, warning, err)
		}
		if got := e.since(); slices.Contains(got, "stop") || slices.Contains(got, "prune") || slices.Contains(got, "start one") == running {
			t.Errorf("%s: %v", what, got)
		}
		if known, err := b.Dir.LoadBox(); err != nil || known.Image != "one" || !strings.HasSuffix(known.Problem, "no such package") {
			t.Errorf("%s: the record is %+v, %v", what, known, err)
		}
	}
	e.building = nil
	if warning, err := b.Prepare(t.Context()); err != nil || warning != "" {
		t.Error(warning, err)
	}
	if known, err := b.Dir.LoadBox(); err != nil || known.Problem != "" {
		t.Errorf("the record is %+v, %v", known, err)
	}
	e.since()

	e.image, e.broken = "two", "two"
	if warning, err := b.Prepare(t.Context()); err != nil || !strings.Contains(warning, "nothing starts from two") || !e.running {
		t.Errorf("an image without use: %q, %v", warning, err)
	}
	if got, want := e.since(), []string{"image of container", "stop", "start two", "start one"}; !slices.Equal(got, want) {
		t.Errorf("an image without use: %v, want %v", got, want)
	}

	e.building = fault.Errorf(fault.Unreachable, "no engine")
	if _, err := b.Prepare(t.Context()); fault.KindOf(err) != fault.Unreachable {
		t.Errorf("without an engine: %v", err)
	}
}

// A container that has ended in the middle of a tick is started again by who
// needs it, from the image that it had.
func TestContainerIsStartedAgain(t *testing.T) {
	e := &engine{image: "one"}
	b := newBox(t, e, box.Settings{})
	run := func() error {
		_, err := b.Spawner().Exec(t.Context(), provider.ExecSpec{Argv: []string{"x"}, Stdout: io.Discard})
		return err
	}
	if err := run(); fault.KindOf(err) != fault.NotRunning {
		t.Errorf("without a container: %v", err)
	}
	if _, err := b.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.since()
	if err := run(); err != nil || len(e.since()) != 0 {
		t.Errorf("it runs: %v, %v", err, e.asked)
	}
	e.running, e.image = false, "two"
	if n, err := b.Spawner().Clean(t.Context()); n != 0 || err != nil || e.running {
		t.Errorf("cleaning: %d, %v; it runs: %v", n, err, e.running)
	}
	if err := run(); err != nil || !slices.Equal(e.since(), []string{"start one"}) {
		t.Errorf("it has ended: %v", err)
	}
	if err := b.Leave(t.Context()); err != nil || e.running {
		t.Error(err)
	}
	if known, err := b.Dir.LoadBox(); err != nil || known.Image != "" {
		t.Errorf("it is left: %+v, %v", known, err)
	}
}
