package cli

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/keeper"
	"den/internal/session/home"
)

// listenAsKeeper makes a workspace whose keeper takes connections and does not
// answer them, and returns its file.
func listenAsKeeper(t *testing.T) (file string, l *net.UnixListener) {
	t.Helper()
	dir := t.TempDir()
	p, err := keeper.At(filepath.Join(dir, "den.toml"))
	if err != nil {
		t.Fatal(err)
	}
	getenv := func(key string) string {
		return map[string]string{"XDG_STATE_HOME": filepath.Join(dir, "state"), "DEN_RUN_DIR": filepath.Join(dir, "run")}[key]
	}
	if err := p.Make(); err != nil {
		t.Fatal(err)
	}
	lock, err := p.Lock()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Close() })
	r, err := p.Establish(keeper.Caller{Home: home.Home{Path: filepath.Join(dir, "home")}, Getenv: getenv})
	if err != nil {
		t.Fatal(err)
	}
	socket, err := r.Socket(getenv)
	if err != nil {
		t.Fatal(err)
	}
	if l, err = rpc.Listen(socket); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() }) // Best effort: a server closes it too.
	if err := p.Save(keeper.Record{PID: os.Getpid(), Socket: socket}); err != nil {
		t.Fatal(err)
	}
	return p.Config, l
}

// serveAsKeeper makes a workspace with a keeper.
func serveAsKeeper(t *testing.T, handle rpc.Handler) (file string) {
	t.Helper()
	file, l := listenAsKeeper(t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); keeper.NewServer(handle, "test").Serve(ctx, l) }()
	t.Cleanup(func() { cancel(); <-done })
	return file
}

// silent is a keeper that never comes to an end.
func silent(ctx context.Context, _ *rpc.Call) (any, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// begins is a keeper that begins what it is asked for, and never ends it.
func begins(ctx context.Context, call *rpc.Call) (any, error) {
	if err := call.Send(struct{}{}); err != nil {
		return nil, err
	}
	return silent(ctx, call)
}

// A call whose time is over says what is known of what was asked: that it was
// not sent, that nobody knows, or that it goes on.
func TestTaskSaysHowFarItCame(t *testing.T) {
	const short, long = time.Nanosecond, 10 * time.Minute
	unreached, _ := listenAsKeeper(t)
	for name, tt := range map[string]struct {
		file         string
		connect      time.Duration
		reach, limit time.Duration
		want         string
	}{
		"not sent":   {unreached, short, long, long, "does not answer: nothing was sent to it"},
		"unanswered": {serveAsKeeper(t, silent), long, short, short, "does not answer: whether it dances is not known"},
		"begun":      {serveAsKeeper(t, begins), long, long, short, "it goes on dancing"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := keeper.At(tt.file)
			if err != nil {
				t.Fatal(err)
			}
			dance := task{method: "dance", reach: tt.reach, unknown: "whether it dances", limit: tt.limit, late: fault.Errorf(fault.Timeout, "it goes on dancing")}
			c, err := reachKeeper(t.Context(), p, tt.connect)
			if err == nil {
				defer c.Close()
				err = dance.ask(t.Context(), p, c, nil)
			}
			if fault.KindOf(err) != fault.Timeout || !strings.HasSuffix(err.Error(), tt.want) {
				t.Errorf("%v, want '… %s'", err, tt.want)
			}
		})
	}
}

// The wait ends with what the keeper answers, or with the caller's patience.
func TestTaskEnds(t *testing.T) {
	a, _ := testApp(t)
	dance := task{method: "dance", reach: 10 * time.Minute, limit: 10 * time.Minute}
	a.file = serveAsKeeper(t, func(_ context.Context, call *rpc.Call) (any, error) { return "danced", call.Send(struct{}{}) })
	var result string
	if err := a.perform(t.Context(), dance, &result); err != nil || result != "danced" {
		t.Errorf("%q, %v", result, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	a.file = serveAsKeeper(t, func(ctx context.Context, call *rpc.Call) (any, error) {
		cancel()
		return silent(ctx, call)
	})
	if err := a.perform(ctx, dance, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that was interrupted: %v", err)
	}
}

// However short the time limit is, it is known whether a message is kept and
// whether an order holds.
func TestShortLimitIsForTheEnd(t *testing.T) {
	file := serveAsKeeper(t, begins)
	for want, args := range map[string][]string{
		"it is kept":      {"agent", "nudge", "a", "hello", "-t", "1ns", "--file", file},
		"the order holds": {"agent", "stop", "a", "-t", "1ns", "--file", file},
	} {
		a, _ := testApp(t)
		root := newRoot(a, args)
		root.SetArgs(args)
		err := execute(t.Context(), root)
		if fault.KindOf(err) != fault.Timeout || !strings.Contains(fault.HintOf(err), want) {
			t.Errorf("%v: %v (%s), want '%s'", args, err, fault.HintOf(err), want)
		}
	}
}
