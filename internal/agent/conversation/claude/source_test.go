package claude_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"den/internal/testkit/need"

	"den/internal/agent/conversation"
	"den/internal/agent/conversation/claude"
)

// process is a real one with a session file that the test writes.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	dir   string
	start string
	ended atomic.Bool
}

func startProcess(t *testing.T) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command("sleep", "1000"), dir: t.TempDir()}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.end)
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/stat")
	if err != nil {
		need.Feature(t, "this system has no /proc: the source cannot tell a stale file")
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	p.start = strings.Fields(after)[19]
	return p
}

func (p *process) end() {
	p.cmd.Process.Kill() // Best effort: it may have ended.
	p.cmd.Wait()         // Best effort: it was killed.
	p.ended.Store(true)
}

func (p *process) processes(context.Context) ([]int, error) {
	if p.ended.Load() {
		return nil, nil
	}
	return []int{os.Getpid(), p.cmd.Process.Pid}, nil
}

func (p *process) write(status, start string) {
	p.t.Helper()
	dir := filepath.Join(p.dir, "sessions")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		p.t.Fatal(err)
	}
	pid := p.cmd.Process.Pid
	text := fmt.Sprintf(`{"pid":%d,"sessionId":"s","procStart":%q,"kind":"interactive","status":%q,"waitingFor":"permission prompt"}`, pid, start, status)
	if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(pid)+".json"), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func await(t *testing.T, s conversation.Source, want conversation.Activity) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	for {
		state, err := s.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if state.Activity == want {
			return
		}
		select {
		case <-s.Changes():
		case <-deadline:
			t.Fatalf("it is %+v, want %s", state, want)
		}
	}
}

func TestSourceFollowsTheFile(t *testing.T) {
	p := startProcess(t)
	s, err := claude.Open(claude.Options{ConfigDir: p.dir, Processes: p.processes})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	await(t, s, conversation.Unknown)
	p.write("busy", p.start) // the directory comes with it
	await(t, s, conversation.Busy)
	p.write("waiting", p.start)
	await(t, s, conversation.Asking)
	p.write("idle", p.start)
	await(t, s, conversation.Ready)
	p.write("busy", p.start)
	await(t, s, conversation.Busy)
	p.end()
	await(t, s, conversation.Gone) // though the file still says busy
}

func TestStaleFileSaysNothing(t *testing.T) {
	p := startProcess(t)
	p.write("busy", "1")
	s, err := claude.Open(claude.Options{ConfigDir: p.dir, Processes: p.processes})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	await(t, s, conversation.Unknown)
	p.write("idle", p.start)
	await(t, s, conversation.Ready)
}

// A turn that failed is told with its error, until the next one; another
// session has another transcript.
func TestSourceTellsFailures(t *testing.T) {
	p := startProcess(t)
	lines, err := os.ReadFile("testdata/failed-limit.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	project := filepath.Join(p.dir, "projects", "-home-user-work")
	if err := os.MkdirAll(project, 0o700); err != nil {
		t.Fatal(err)
	}
	transcript := filepath.Join(project, "s.jsonl") // of the session that write names
	s, err := claude.Open(claude.Options{ConfigDir: p.dir, Processes: p.processes})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p.write("idle", p.start)
	await(t, s, conversation.Ready)
	if err := os.WriteFile(transcript, lines, 0o600); err != nil {
		t.Fatal(err)
	}
	await(t, s, conversation.TurnFailed)
	if state, err := s.State(t.Context()); err != nil || !strings.Contains(state.Why, "429") {
		t.Errorf("%+v, %v", state, err)
	}
	p.write("busy", p.start)
	await(t, s, conversation.Busy)
	next := append(lines, `{"type":"user","message":{"content":"once more"}}`+"\n"...)
	if err := os.WriteFile(transcript, next, 0o600); err != nil {
		t.Fatal(err)
	}
	p.write("idle", p.start)
	await(t, s, conversation.Ready)
}
