package box_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"den/internal/agent/runner"
	"den/internal/agent/runner/local"
	"den/internal/agent/runner/script"
	"den/internal/place/provider/container"
	"den/internal/process/tree"
	"den/internal/testkit/podmantest"
	"den/internal/ticks/box"
	"den/internal/ticks/datarepo"
	"den/internal/ticks/instance"
	"den/internal/ticks/plan"
	"den/internal/ticks/registry"
	"den/internal/ticks/tick"

	api "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// patience is longer than anything here takes, unless it hangs.
const patience = 3 * time.Minute

func TestMain(m *testing.M) {
	if root := os.Getenv(childRoot); root != "" {
		os.Exit(child(root))
	}
	run, err := os.MkdirTemp("/tmp", "den-kb-") // short: sockets go here
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Setenv("DEN_RUN_DIR", run)
	code := podmantest.Main(m)
	os.RemoveAll(run) // Best effort: a temporary directory.
	os.Exit(code)
}

// lines is a log that can be read while it is written.
type lines struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// kernelHome is an instance on the disk whose agent lives in a container.
type kernelHome struct {
	root, data string
	socket     string // of the engine
	den        string

	logs       lines
	containers *container.Provider
	o          tick.Options
}

// open opens the instance, as dend does.
func (h *kernelHome) open() error {
	h.data = filepath.Join(h.root, "data")
	getenv := func(key string) string {
		if key == "XDG_STATE_HOME" {
			return h.root
		}
		return os.Getenv(key)
	}
	in, err := instance.Open(registry.Instance{Name: "demo", Path: h.data}, getenv)
	if err != nil {
		return err
	}
	mark, err := tree.Mark("kernel", in.Dir.Path)
	if err != nil {
		return err
	}
	h.containers, err = container.Open(container.Options{
		Home: in.Dir.BoxHome(), Owner: box.Owner, Binary: h.den, Version: "test", Grace: 300 * time.Millisecond, Engine: h.socket, Getenv: getenv,
	})
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(&h.logs, nil))
	h.o = tick.Options{
		Instance: in, Drivers: map[string]runner.Driver{"script": script.Driver{}}, Spawn: local.Spawner{Mark: mark},
		Lodge: func(c datarepo.Config) (tick.Lodging, error) {
			settings, _, err := box.Choose(c.Container, true)
			if err != nil {
				return tick.Lodging{}, err
			}
			b := box.New(box.Options{
				Name: in.Name, Data: h.data, Dir: in.Dir, Containers: h.containers, Settings: settings, Mark: mark, Version: "test",
				Getenv: getenv, Log: log, Clock: time.Now,
			})
			return tick.Lodging{Place: b.Place(), Hooks: b.Spawner(), Prepare: b.Prepare, Confined: true}, nil
		},
		Tools: []string{"true"}, Den: h.den, Version: "test", Getenv: getenv, Log: log, Clock: time.Now, Who: "tick",
	}
	return nil
}

// world is such an instance in a test.
type world struct {
	*testing.T
	*kernelHome
	engine *podmantest.Engine
}

// newWorld makes one below a directory whose path is as long as it is said.
func newWorld(t *testing.T, below string) *world {
	t.Helper()
	e := podmantest.Shared(t)
	root, err := os.MkdirTemp("/tmp", "kb")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, kernelHome: &kernelHome{root: filepath.Join(root, below), socket: e.Socket, den: e.Den}, engine: e}
	w.data = filepath.Join(w.root, "data")
	w.put("system/agent_config.json", `{"runner": "script", "command": ["system/mind"], "container": {"network": "none"}}`)
	w.put("system/container/Containerfile", "FROM "+podmantest.BaseImage+"\nCOPY word /inside\n")
	w.put("system/container/word", "the box\n")
	for _, phase := range []string{"pre-tick", "post-tick"} {
		w.put("system/hooks/"+phase+"/10-where", "#!/bin/sh\necho \""+phase+" $AGENT_TICK in $(cat /inside) at $PWD\" >>\"$DATA_DIR/notes/ran\"\n")
	}
	if err := w.open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := w.containers.Stop(ctx, "box"); err != nil {
			t.Error(err)
		}
		if _, err := w.containers.Prune(ctx, 0); err != nil {
			t.Error(err)
		}
		if err := errors.Join(w.containers.Close(), w.o.Close(), os.RemoveAll(root)); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(w.logs.String())
		}
	})
	return w
}

// put writes a file of the repository.
func (w *world) put(name, text string) {
	w.Helper()
	path := filepath.Join(w.data, name)
	mode := os.FileMode(0o644)
	if strings.HasPrefix(text, "#!") {
		mode = 0o755
	}
	syscall.ForkLock.RLock() // a child of another test, just being started, must not have a script open that is run
	defer syscall.ForkLock.RUnlock()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), mode)); err != nil {
		w.Fatal(err)
	}
}

// read returns a file of the repository, "" if it is missing.
func (w *world) read(name string) string {
	w.Helper()
	data, err := os.ReadFile(filepath.Join(w.data, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.Fatal(err)
	}
	return string(data)
}

// await waits for a file of the repository.
func (w *world) await(name string) {
	w.Helper()
	if !w.appears(name) {
		w.Fatalf("%s does not come\n%s", name, &w.logs)
	}
}

// appears waits for a file of the repository, and reports whether it came.
func (w *world) appears(name string) bool {
	return soon(func() bool { _, err := os.Stat(filepath.Join(w.data, name)); return err == nil })
}

func (w *world) until(what string, holds func() bool) {
	w.Helper()
	if !soon(holds) {
		w.Fatalf("it did not come to this: %s\n%s", what, &w.logs)
	}
}

// soon polls a condition.
func soon(holds func() bool) bool {
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// begin runs a tick that is to end normally, and hands on how it ended.
func (w *world) begin() <-chan tick.Result {
	ended := make(chan tick.Result, 1) // room for the one
	go func() {                        // ends with the tick
		r, err := tick.Run(context.Background(), w.o, nil)
		if err != nil || r.Outcome.Reason != plan.Normal {
			w.Errorf("it ended with %v, %v", r.Outcome, err)
		}
		ended <- r
	}()
	return ended
}

// tick runs one and demands how it ends.
func (w *world) tick(want plan.Reason, causes ...plan.Cause) tick.Result {
	w.Helper()
	r, err := tick.Run(w.Context(), w.o, causes)
	if err != nil {
		w.Fatalf("%v\n%s", err, &w.logs)
	}
	if r.Outcome.Reason != want {
		w.Fatalf("tick %d ended with %v, want %s\n%s", r.Tick, r.Outcome, want, &w.logs)
	}
	return r
}

// boxes are the instance's containers.
func (w *world) boxes() []api.Summary {
	w.Helper()
	var list client.ContainerListResult
	err := container.RetryWhileRemoving(w.Context(), func() (err error) {
		list, err = w.engine.API.ContainerList(w.Context(), client.ContainerListOptions{All: true, Filters: client.Filters{}.Add("label", "den.home="+w.o.Dir.BoxHome().Path)})
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	return list.Items
}

// images counts those that were built for the instance.
func (w *world) images() int {
	w.Helper()
	var list client.ImageListResult
	err := container.RetryWhileRemoving(w.Context(), func() (err error) {
		list, err = w.engine.API.ImageList(w.Context(), client.ImageListOptions{Filters: client.Filters{}.Add("label", "den.home="+w.o.Dir.BoxHome().Path)})
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	return len(list.Items)
}

// kill kills the container, as nobody asks for.
func (w *world) kill() {
	w.Helper()
	if _, err := w.engine.API.ContainerKill(w.Context(), w.boxes()[0].ID, client.ContainerKillOptions{Signal: "KILL"}); err != nil {
		w.Fatal(err)
	}
	w.until("the container has ended", func() bool {
		running, err := w.containers.IsRunning(w.Context(), "box")
		return err == nil && !running
	})
}

// noTerminals demands that no terminal is left.
func (w *world) noTerminals() {
	w.Helper()
	all, err := w.o.Dir.TerminalHome().All()
	if err != nil {
		w.Fatal(err)
	}
	for _, d := range all {
		if m, err := d.Inspect(); err != nil || m.Status.Active() {
			w.Errorf("terminal %+v is left, %v", m, err)
		}
	}
}

// status is what people are told.
func (w *world) status() instance.Status {
	w.Helper()
	s, err := w.o.Status(w.Context(), time.Now())
	if err != nil {
		w.Fatal(err)
	}
	return s
}
