package harness

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
)

// QuietHours are the hours of the day in which no turn begins, as "15:04" in
// local time. They may span midnight. The zero QuietHours are none.
type QuietHours struct {
	Start string `json:"start"`
	End   string `json:"end"`
}

// until returns the end of the quiet hours that now is in; ok is false outside
// of them.
func (q QuietHours) until(now time.Time) (end time.Time, ok bool) {
	start, err := time.Parse("15:04", q.Start)
	if err != nil {
		return end, false // the workspace file was checked: there are none
	}
	stop, err := time.Parse("15:04", q.End)
	if err != nil {
		return end, false
	}
	at := func(day int, clock time.Time) time.Time {
		return time.Date(now.Year(), now.Month(), now.Day()+day, clock.Hour(), clock.Minute(), 0, 0, now.Location())
	}
	for _, day := range []int{-1, 0} { // those that began yesterday, and today's
		from, to := at(day, start), at(day, stop)
		if !to.After(from) {
			to = at(day+1, stop)
		}
		if !now.Before(from) && now.Before(to) {
			return to, true
		}
	}
	return end, false
}

// wakeUp lets turns begin within quiet hours, until they end: somebody has
// resumed the agent. It is on disk, so that a restart does not undo it.
type wakeUp struct {
	file string

	mu    sync.Mutex // guards the fields below
	until time.Time
}

func openWakeUp(stateDir string) (*wakeUp, error) {
	w := &wakeUp{file: filepath.Join(stateDir, "awake.json")}
	data, err := os.ReadFile(w.file)
	if errors.Is(err, fs.ErrNotExist) {
		return w, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &w.until)
	}
	if err != nil {
		return nil, fault.Hintf(fault.Errorf(fault.Storage, "read until when the agent is awake: %w", err), "remove %s", w.file)
	}
	return w, nil
}

func (w *wakeUp) set(until time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.until.Equal(until) {
		return nil
	}
	if err := atomicfile.WriteJSON(w.file, until); err != nil {
		return fault.Errorf(fault.Storage, "keep until when the agent is awake: %w", err)
	}
	w.until = until
	return nil
}

func (w *wakeUp) isSet(now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return now.Before(w.until)
}

// asleep tells why no turn begins now, and until when; "" while the agent is
// awake.
func (h *Harness) asleep() (why string, until time.Time) {
	now := h.clock()
	end, quiet := h.config.Quiet.until(now.Local())
	if !quiet || h.awake.isSet(now) {
		return "", time.Time{}
	}
	return "quiet hours until " + end.Format("15:04"), end
}

// wake has the agent work although it is asleep.
func (h *Harness) wake() error {
	end, quiet := h.config.Quiet.until(h.clock().Local())
	if !quiet {
		return nil
	}
	return h.awake.set(end)
}

// sleepAgain undoes wake.
func (h *Harness) sleepAgain() error { return h.awake.set(time.Time{}) }
