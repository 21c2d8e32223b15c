package tree_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"den/internal/process/pty"
)

var marks atomic.Int64

// holder is a process that holds a tree of sh.
type holder struct {
	*testing.T
	mark string // in the environment of every process of the tree
	cmd  *exec.Cmd
	out  *bufio.Reader
	in   *json.Encoder
}

// holdTree starts a tree. The script says "up" when all of it is there.
func holdTree(t *testing.T, script string) *holder {
	t.Helper()
	h := &holder{T: t, mark: fmt.Sprintf("SUPERVISE_TEST=%d.%d", os.Getpid(), marks.Add(1))}
	h.cmd = exec.Command(os.Args[0], script)
	h.cmd.Env = append(os.Environ(), roleKey+"=holder", h.mark, "GORACE=atexit_sleep_ms=0", "SELF="+os.Args[0], "ROLE="+roleKey, "LOCK="+filepath.Join(t.TempDir(), "lock"))
	h.cmd.Stderr = os.Stderr
	stdin, err := h.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := h.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.kill()
		h.cmd.Wait() // Best effort: a test that failed left it in the middle.
	})
	h.out, h.in = bufio.NewReader(stdout), json.NewEncoder(stdin)
	if line, err := h.out.ReadString('\n'); strings.TrimSpace(line) != "up" {
		t.Fatalf("the tree said %q, %v", line, err)
	}
	return h
}

// kill ends all processes of the test.
func (h *holder) kill() {
	for _, pid := range pty.Marked(h.mark) {
		syscall.Kill(pid, syscall.SIGKILL) // Best effort: it may have ended.
	}
}

// end ends the tree and returns what is left with its mark.
func (h *holder) end(o order) (report, []int) {
	h.Helper()
	if err := h.in.Encode(o); err != nil {
		h.Fatal(err)
	}
	overdue := time.AfterFunc(patience, h.kill) // then it does not report
	defer overdue.Stop()
	var r report
	if err := json.NewDecoder(h.out).Decode(&r); err != nil {
		h.Fatal(err)
	}
	if r.Error != "" || len(r.Left) > 0 {
		h.Errorf("after End: %q, processes %v", r.Error, r.Left)
	}
	if err := h.cmd.Wait(); err != nil {
		h.Errorf("the holder: %v", err)
	}
	return r, pty.Marked(h.mark)
}

const (
	long     = time.Hour       // a grace that no tree that obeys needs
	patience = 2 * time.Minute // for such a tree
)

func TestEnd(t *testing.T) {
	for name, c := range map[string]struct {
		script  string
		grace   time.Duration
		killed  bool
		survive int // hosts that are not the tree's
	}{
		"a program":                          {"echo up; exec sleep 1000", long, false, 0},
		"a program that has ended":           {"echo up", long, false, 0},
		"daemons":                            {`for i in 1 2 3; do (setsid sh -c "(setsid sh -c \"echo >&3; exec sleep 1000\" &)" &); done 3>&1 | for i in 1 2 3; do read _; done; echo up; exec sleep 1000`, long, false, 0},
		"a stopped process":                  {`sleep 1000 & kill -STOP $!; echo up; wait`, long, false, 0},
		"a stopped leader":                   {`(echo up) ; kill -STOP $$; exec sleep 1000`, long, false, 0},
		"one that ignores a hang-up":         {`trap "" HUP; echo up; while :; do sleep 1; done`, 2 * time.Second, false, 0},
		"one that ignores all":               {`trap "" HUP TERM; sleep 1000 & echo up; while :; do sleep 1000; done`, 10 * time.Millisecond, true, 0},
		"many":                               {`trap "" HUP TERM; f() { if [ $1 -gt 0 ]; then f $(($1-1)) & f $(($1-1)) & fi; exec sleep 1000; }; f 5 & echo up; wait`, 10 * time.Millisecond, true, 0},
		"many that fork on":                  {`trap "" HUP TERM; for i in 1 2 3 4; do (while :; do (sleep 0.01 &); done) & done; echo up; wait`, 10 * time.Millisecond, true, 0},
		"one without environment":            {`env -i sleep 1000 & echo up; exec env -i sleep 1000`, long, false, 0},
		"one with a stray mark":              {`DEN_HOST=x sleep 1000 & echo up; exec sleep 1000`, long, false, 0},
		"one with a mark as an argument":     {`DEN_HOST=1077 sleep 1077 & echo up; exec sleep 1000`, long, false, 0},
		"one called as a host is":            {`DEN_HOST=id1 setsid sh -c 'echo up; sleep 1000; :' host name id1 & exec sleep 1000`, long, false, 0},
		"one that holds a lock too":          {`env DEN_HOST=id1 $ROLE=masked setsid $SELF host name id1 $LOCK & exec sleep 1000`, long, false, 0},
		"one that forks as it is asked":      {`trap "sleep 1000 & exit" HUP; echo up; while :; do sleep 1000 & wait; done`, long, false, 0},
		"one of den without a lock":          {`env DEN_HOST=id1 $ROLE=host setsid $SELF host name id1 & exec sleep 1000`, long, false, 0},
		"a host inside":                      {`env DEN_HOST=id1 $ROLE=host setsid $SELF host name id1 $LOCK & exec sleep 1000`, long, false, 2},
		"a process without its first thread": {`env $ROLE=headless $SELF & wait`, long, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, left := holdTree(t, c.script).end(order{Grace: c.grace})
			if len(left) != c.survive {
				t.Errorf("processes %v are left, want %d", left, c.survive)
			}
			if (r.Killed > 0) != c.killed {
				t.Errorf("%d processes were killed", r.Killed)
			}
		})
	}
}

// A second call without patience ends the waiting of the first.
func TestEndHurries(t *testing.T) {
	r, left := holdTree(t, `trap "" HUP TERM; echo up; while :; do sleep 1000; done`).end(order{Grace: time.Hour, Twice: true})
	if r.Killed == 0 || r.Exit.Signal != "SIGKILL" || len(left) > 0 {
		t.Errorf("%+v, left %v", r, left)
	}
}

// The kernel's lists of children miss a process for a moment while its parent
// dies: an empty tree must not be believed then.
func TestEndMissesNoOrphan(t *testing.T) {
	for range 50 {
		// What is forked after the step that asked is not asked again: it may
		// be part of how a program ends.
		_, left := holdTree(t, `(sh -c '(setsid sleep 1000 &)' &); echo up`).end(order{Grace: 5 * time.Millisecond})
		if len(left) > 0 {
			t.Fatalf("processes %v are left", left)
		}
	}
}

func TestExit(t *testing.T) {
	for script, want := range map[string]struct {
		code   int
		signal string
	}{"echo up": {}, "echo up; exit 7": {code: 7}, "echo up; kill -9 $$": {137, "SIGKILL"}} {
		r, _ := holdTree(t, script).end(order{Grace: long})
		// One that has not ended by then is hung up, which is no mistake of End's.
		if r.Exit.Signal != "SIGHUP" && (r.Exit.Code != want.code || r.Exit.Signal != want.signal) || r.Exit.At.IsZero() {
			t.Errorf("%q: %+v", script, r.Exit)
		}
	}
}
