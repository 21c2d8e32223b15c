package kubernetes_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/provider/kubernetes"
	"den/internal/session/home"
)

// figures are what the fault tests saw, printed when all are over.
var figures struct {
	mu   sync.Mutex // guards rows
	rows [][2]string
}

func figure(t *testing.T, format string, args ...any) {
	t.Helper()
	text := fmt.Sprintf(format, args...)
	t.Log(text)
	figures.mu.Lock()
	defer figures.mu.Unlock()
	figures.rows = append(figures.rows, [2]string{t.Name(), text})
}

func printFigures() {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, row := range figures.rows {
		fmt.Fprintf(w, "%s\t%s\n", row[0], row[1])
	}
	w.Flush() // Best effort.
}

// markEnv is in the environment of a session's program. The only node is this
// machine, so its processes can be counted here.
const markEnv = "DEN_TEST_MARK"

// marked is command with a mark, which is the owner and the session's name.
func marked(owner, name string, argv ...string) provider.Config {
	c := command(confined, argv...)
	c.Env = map[string]string{markEnv: owner + "/" + name}
	return c
}

// copies returns the processes with the mark, by the session that they are of:
// more than one session means that the agent runs twice.
func copies(mark string) map[string][]int {
	all := map[string][]int{}
	files, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is good
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(raw, []byte(markEnv+"="+mark+"\x00")) {
			continue
		}
		for _, kv := range bytes.Split(raw, []byte{0}) {
			if id, ok := bytes.CutPrefix(kv, []byte(home.ProgramMark+"=")); ok {
				pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
				all[string(id)] = append(all[string(id)], pid)
			}
		}
	}
	return all
}

// killProgram ends a session's program, behind everybody's back.
func killProgram(t *testing.T, mark string) {
	t.Helper()
	all := copies(mark)
	if len(all) != 1 {
		t.Fatalf("%d sessions are marked %s", len(all), mark)
	}
	for _, pids := range all {
		for _, pid := range pids {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
				t.Fatal(err)
			}
		}
	}
}

// guard watches a session through a fault: that it never runs twice, and that
// what the provider tells of it is true or "not known".
type guard struct {
	p          *kubernetes.Provider
	name, mark string

	mu       sync.Mutex // guards the fields below
	asked    int
	unknown  int
	first    time.Time // unknown
	last     time.Time // unknown
	most     int       // sessions at one time
	untrue   []string
	stopping chan struct{}
	stopped  chan struct{}
}

// askLimit is how long a caller of the guard's kind waits for an answer.
const askLimit = 10 * time.Second

func guarded(p *kubernetes.Provider, owner, name string) *guard {
	g := &guard{p: p, name: name, mark: owner + "/" + name, stopping: make(chan struct{}), stopped: make(chan struct{})}
	go g.run()
	return g
}

func (g *guard) run() {
	defer close(g.stopped)
	for {
		g.look()
		select {
		case <-g.stopping:
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (g *guard) look() {
	before := copies(g.mark)
	ctx, cancel := context.WithTimeout(context.Background(), askLimit)
	running, err := g.p.IsRunning(ctx, g.name)
	cancel()
	after := copies(g.mark)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked++
	g.most = max(g.most, len(before), len(after))
	switch {
	case err != nil:
		g.unknown++
		if g.last = time.Now(); g.first.IsZero() {
			g.first = g.last
		}
		if k := fault.KindOf(err); k == fault.NotFound || k == fault.NotRunning {
			g.untrue = append(g.untrue, err.Error())
		}
	case !running && len(before) > 0 && len(after) > 0:
		g.untrue = append(g.untrue, "it runs, and was said not to")
	}
}

// end stops watching, checks what was seen and says it in short.
func (g *guard) end(t *testing.T) string {
	t.Helper()
	close(g.stopping)
	<-g.stopped
	if g.most > 1 {
		t.Errorf("%s ran %d times at one moment", g.name, g.most)
	}
	if len(g.untrue) > 0 {
		t.Errorf("%s: %d of %d answers were not true: %s", g.name, len(g.untrue), g.asked, g.untrue[0])
	}
	text := fmt.Sprintf("asked %d times, copies at most %d", g.asked, g.most)
	if g.unknown > 0 {
		text += fmt.Sprintf(", not known %d times within %.1f s", g.unknown, g.last.Sub(g.first).Seconds())
	}
	return text
}

// lastLine is the number of the last line that a session has shown.
func lastLine(t *testing.T, p *kubernetes.Provider, name string) int {
	t.Helper()
	n := 0
	eventually(t, name+" shows lines", func() bool {
		text, err := p.Peek(t.Context(), name, 0)
		if err == nil {
			n = numbered(text)
		}
		return n > 0
	})
	return n
}

// numbered is the highest number of a line in a text, 0 for none.
func numbered(text string) int {
	n := 0
	for line := range strings.Lines(text) {
		var i int
		if _, err := fmt.Sscanf(line, "line %d", &i); err == nil {
			n = max(n, i)
		}
	}
	return n
}

// nothingLost checks that a session's log has all lines from the first on, with
// all that were shown, and returns how many.
func nothingLost(t *testing.T, root, ref string, shown int) int {
	t.Helper()
	text := logOf(t, root, ref)
	if !strings.Contains("\n"+text, "\nline 1\n") {
		t.Errorf("the log of %s does not begin with its first line", ref)
	}
	n := whole(t, text)
	if n < shown {
		t.Errorf("the log of %s has %d lines, %d were shown", ref, n, shown)
	}
	return n
}
