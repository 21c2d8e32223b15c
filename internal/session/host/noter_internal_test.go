package host

import (
	"testing"
	"time"

	"den/internal/process/pty"
	"den/internal/session/attention"
	"den/internal/session/cell"
)

// The rule of a pause: what the kernel says counts; what it cannot say is a
// guess after a time in which the program stood still; what is not known yet is
// looked at again.
func TestPauseSays(t *testing.T) {
	begun := time.Now()
	at := func(looked, still time.Duration, p pauseLook) pauseLook {
		p.probed, p.begun, p.now, p.still = true, begun, begun.Add(looked), begun.Add(looked-still)
		return p
	}
	unknown, busy := pty.Readiness{State: pty.Unknown}, pty.Readiness{State: pty.Busy}
	for name, c := range map[string]struct {
		p       pauseLook
		what    attention.Activity
		decided bool
	}{
		"two probes agree":                  {at(0, 0, pauseLook{ready: true}), attention.Waiting, true},
		"its own timers":                    {at(0, 0, pauseLook{asks: true, last: unknown}), attention.Waiting, true},
		"busy, at the first look":           {at(0, 0, pauseLook{last: busy}), attention.Working, false},
		"busy":                              {at(busyPatience, 0, pauseLook{last: busy}), attention.Working, true},
		"not known yet":                     {at(time.Second, time.Second, pauseLook{last: unknown}), attention.Working, false},
		"nobody can tell, it stands still":  {at(guessAfter, guessAfter, pauseLook{last: unknown}), attention.Waiting, true},
		"nobody can tell, it runs":          {at(2*guessAfter, time.Second, pauseLook{last: unknown}), attention.Working, true},
		"no process is in the foreground":   {at(2*guessAfter, 2*guessAfter, pauseLook{last: pty.Readiness{State: pty.Unknown, Gone: true}}), attention.Working, true},
		"ready once, and not a second time": {at(time.Millisecond, 0, pauseLook{last: pty.Readiness{State: pty.Ready}}), attention.Working, false},
	} {
		if what, decided := c.p.says(); decided != c.decided || decided && what != c.what {
			t.Errorf("%s: %s, decided %v", name, what, decided)
		}
	}
}

// An answer that was told is over when its cell is: the failure of the next
// cell, which nobody waits for, stays news.
func TestCellEndsTheTurnOfItsAnswers(t *testing.T) {
	h := newTestHost(t)
	h.cells = &cells{h: h}
	end := func(awaited, exit int) {
		r := &running{cells: h.cells, awaited: awaited}
		r.life.Record.Result = cell.Result{Status: cell.Done, ExitCode: &exit}
		r.noteCellLocked()
	}
	h.noteWorking()
	h.core.Inputs++ // the answer
	h.core.noteTold()
	end(1, 0)
	end(0, 3)
	h.noteWorking() // it was seen printing, a moment ago
	(&noter{h: h}).noteWaiting(false)
	if n := h.manifest().Noted; n.Over.IsZero() || n.Failure == "" {
		t.Errorf("the failed cell is forgotten: %+v", n)
	}
}

// A program that waits again behind an answer has ended no turn while the cell
// is not over: whoever waits for the cell is told.
func TestTurnWithinACellIsTheCells(t *testing.T) {
	h := newTestHost(t)
	h.cells = &cells{h: h}
	r := &running{cells: h.cells, awaited: 1}
	h.cells.active = r
	h.noteWorking()
	h.core.Inputs++ // the answer
	(&noter{h: h}).noteWaiting(false)
	exit := 0
	r.life.Record.Result = cell.Result{Status: cell.Done, ExitCode: &exit}
	r.noteCellLocked()
	h.cells.active = nil
	h.noteWorking()
	(&noter{h: h}).noteWaiting(false)
	if n := h.manifest().Noted; !n.Over.IsZero() {
		t.Errorf("its caller was told: %+v", n)
	}
}

// A cell that ends while its answer is typed is no news: who typed it is told.
func TestEndBeforeTheCallerWaits(t *testing.T) {
	h := newTestHost(t)
	h.cells = &cells{h: h}
	r := &running{cells: h.cells, changed: make(chan struct{})}
	exit := 1
	r.life.Record.Result = cell.Result{Status: cell.Done, ExitCode: &exit}
	r.noteCellLocked()
	if n := h.manifest().Noted; n.Over.IsZero() {
		t.Fatalf("nobody waits yet: %+v", n)
	}
	if res, err := r.await(t.Context(), 0, true); err != nil || !res.Final() {
		t.Fatal(res, err)
	}
	if n := h.manifest().Noted; !n.Over.IsZero() || n.Failure != "" {
		t.Errorf("its caller was told: %+v", n)
	}
}
