package stdio_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"den/internal/agent/runner"
	"den/internal/agent/runner/local"
	"den/internal/agent/runner/stdio"
)

// logged collects a connection's log.
type logged struct {
	mu    sync.Mutex
	lines []string
}

func (l *logged) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
}

func (l *logged) has(part string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(strings.Join(l.lines, "\n"), part)
}

func open(t *testing.T, script string) (*stdio.Conn, *logged) {
	t.Helper()
	log := &logged{}
	o := runner.Options{Spawn: local.Spawner{Mark: t.Name()}, Log: log.add}
	conn, err := stdio.Open(t.Context(), o, runner.Command{Argv: []string{"sh", "-c", script}, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn, log
}

// Whatever an agent prints between its messages, the messages arrive.
func TestReadSkipsGarbage(t *testing.T) {
	conn, log := open(t, `
		echo 'npm WARN something'; echo '[1,2]'; echo '{"half":'; echo; printf '\377\376\n'
		echo '{"a":1}'
		head -c 3000000 /dev/zero | tr '\0' x; echo
		printf '{"b":"'; head -c 2000000 /dev/zero | tr '\0' y; echo '"}'
		printf '{"c":3}'`)
	for _, want := range []string{`{"a":1}`, `{"b":"yyy`, `{"c":3}`} {
		line, err := conn.Read()
		if err != nil || !strings.HasPrefix(string(line), want) {
			t.Fatalf("read %.40q, %v; want %s", line, err, want)
		}
	}
	if _, err := conn.Read(); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
	if !log.has("npm WARN something") || !log.has("(3000000 bytes)") {
		t.Errorf("log: %.2000q", log.lines)
	}
}

// An agent that floods stderr is read on, and its last lines tell why it ended.
func TestStderrNeverWedges(t *testing.T) {
	conn, _ := open(t, `i=0; while [ $i -lt 5000 ]; do echo "noise noise noise noise noise noise noise $i" >&2; i=$((i+1)); done; echo '{"ok":true}'; echo the reason >&2; exit 3`)
	if line, err := conn.Read(); err != nil || string(line) != `{"ok":true}` {
		t.Fatalf("%q, %v", line, err)
	}
	if exit := conn.Exit(); exit.Code != 3 || !strings.HasSuffix(exit.Reason, "the reason") || strings.Count(exit.Reason, "\n") > 20 {
		t.Errorf("%+v", exit)
	}
}

func TestWriteAndCloseByEOF(t *testing.T) {
	conn, _ := open(t, `while read -r line; do printf '%s\n' "$line"; done; echo '{"bye":true}'; exit 0`)
	if err := conn.Write(t.Context(), map[string]string{"text": "two\nlines"}); err != nil {
		t.Fatal(err)
	}
	if line, err := conn.Read(); err != nil || string(line) != `{"text":"two\nlines"}` {
		t.Fatalf("%q, %v", line, err)
	}
	if exit := conn.Close(); exit.Code != 0 {
		t.Errorf("%+v", exit)
	}
	if exit := conn.Close(); exit.Code != 0 {
		t.Errorf("closed again: %+v", exit)
	}
}

// An agent that reads nothing holds up neither a writer with a deadline nor Close.
func TestFullInput(t *testing.T) {
	conn, _ := open(t, `trap '' TERM; while :; do sleep 1000; done`)
	conn.SetGraces(stdio.Graces{EOF: time.Millisecond, Term: time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	written := make(chan error, 1)
	go func() { written <- conn.Write(ctx, strings.Repeat("x", 1<<20)) }()
	cancel()
	if err := <-written; !errors.Is(err, context.Canceled) {
		t.Errorf("write: %v", err)
	}
	if exit := conn.Close(); exit.Code != 137 {
		t.Errorf("%+v", exit)
	}
	var failure *runner.Failure
	if err := conn.Write(t.Context(), "more"); !errors.As(err, &failure) || failure.Class != runner.Gone {
		t.Errorf("write after the end: %v", err)
	}
}
