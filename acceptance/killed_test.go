package acceptance

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"den/internal/process/pty"
	"den/internal/screen"
	"den/internal/screen/eventlog"
	"den/internal/screen/replay"
	"den/internal/session/home"
)

// Hosts are killed at random points under output. Every log opens, nothing
// that a snapshot had shown is missing, and no process is left behind.
// DEN_SOAK sets how often; 'make soak' does it 500 times.
func TestKilledHosts(t *testing.T) {
	t.Parallel()
	rounds := 8
	if s := os.Getenv("DEN_SOAK"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("DEN_SOAK: %v", err)
		}
		rounds = n
	}
	w := newWorld(t)
	const workers = 4
	var wg sync.WaitGroup
	jobs := make(chan int, rounds) // a worker that fails takes no more
	for i := range rounds {
		jobs <- i
	}
	close(jobs)
	for range workers {
		wg.Go(func() {
			for i := range jobs {
				w.killOne(fmt.Sprintf("k%d", i))
			}
		})
	}
	wg.Wait()
}

// counting prints numbered lines, with a stubborn child beside it that
// survives the hang-up of its terminal.
const counting = `trap "" HUP; (trap "" HUP; exec sleep 1000) & i=0; while :; do i=$((i+1)); echo "line $i of the flood é"; done`

var numbered = regexp.MustCompile(`line (\d+) of the flood`)

func highest(text string) int {
	top := 0
	for _, m := range numbered.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[1]) // digits, by the pattern
		top = max(top, n)
	}
	return top
}

func (w *world) killOne(name string) {
	t := w.t
	w.do("new", name, "--log-limit", "2MiB", "bash", "-c", counting)
	d, err := w.home.Find(name)
	if err != nil {
		t.Error(err)
		return
	}
	m, err := d.Load()
	if err != nil {
		t.Error(err)
		return
	}
	w.do("wait", name, "--text", "of the flood")
	time.Sleep(rand.N(30 * time.Millisecond)) // the random point, not a synchronisation
	shown := highest(w.do("snapshot", name))
	time.Sleep(rand.N(5 * time.Millisecond))
	if err := syscall.Kill(m.HostPID, syscall.SIGKILL); err != nil {
		t.Error(err)
		return
	}
	out, stderr, code := w.try("snapshot", name)
	if code != 0 {
		t.Errorf("%s: snapshot of a lost session: exit %d: %s", name, code, stderr)
		return
	}
	if got := highest(out); got < shown {
		t.Errorf("%s: a snapshot had shown line %d, the log ends with %d", name, shown, got)
	}
	if _, stderr, code := w.try("type", name, "x"); code != 4 || !strings.Contains(stderr, "lost") {
		t.Errorf("%s: type: exit %d: %s", name, code, stderr)
	}
	w.checkLog(d)
	w.do("kill", name)
	if left := pty.Marked(home.ProgramMark + "=" + d.ID); len(left) > 0 {
		t.Errorf("%s: processes %v are left", name, left)
	}
}

// checkLog reads a whole log: no damage, and each segment's repaint equals
// what the segments before it led to.
func (w *world) checkLog(d home.Dir) {
	t := w.t
	log, err := eventlog.Open(d.Log())
	if err != nil {
		t.Error(err)
		return
	}
	for _, err := range log.Events(0) {
		var gap *eventlog.Gap // what the limit dropped is no damage
		if err != nil && !errors.As(err, &gap) {
			t.Errorf("%s: %v", d.ID, err)
		}
	}
	end, err := replay.At(log, replay.End())
	if err != nil {
		t.Error(err)
		return
	}
	if len(end.Missing) > 0 || screen.Text(end.Terminal) == "" {
		t.Errorf("%s: replay: %v", d.ID, end.Missing)
	}
}
