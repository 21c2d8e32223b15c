package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"den/internal/agent/webhook"
	"den/internal/base/fault"
	"den/internal/base/statefile"
	"den/internal/base/wake"
)

// defaultIdle is how long an agent must have had nothing to do before its work
// counts as complete: an answer that is followed by the next question is no
// end.
const defaultIdle = 15 * time.Second

// batch is work between two times in which the agent had nothing to do. It is
// on disk, so that its end is told after a restart too.
type batch struct {
	V      int       `json:"v"`
	Begun  time.Time `json:"begun"`
	Turns  int       `json:"turns"`
	Failed int       `json:"failed,omitempty"`
}

const batchVersion = 1

// workload follows the batch that the agent works on.
type workload struct {
	path string
	wake wake.Signal // room for one token: a turn has ended

	mu    sync.Mutex // guards batch, and the file
	batch batch      // Turns is 0 while there is none
}

func openWorkload(path string) (*workload, error) {
	begun, found, err := statefile.Load[batch](path, batchVersion, statefile.Large)
	if err != nil {
		return nil, statefile.Advise(fmt.Errorf("read the agent's work: %w", err), "remove the file: the end of the work is then not told")
	}
	w := &workload{path: path, wake: wake.New(), batch: begun}
	if found {
		w.wake.Set()
	}
	return w, nil
}

// turnEnded counts a turn.
func (w *workload) turnEnded(begun time.Time, failed bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.batch.Turns == 0 {
		w.batch = batch{Begun: begun}
	}
	w.batch.Turns++
	if failed {
		w.batch.Failed++
	}
	w.wake.Set()
	if err := statefile.Replace(w.path, batchVersion, w.batch); err != nil {
		return fault.Errorf(fault.Storage, "remember the agent's work: %w", err)
	}
	return nil
}

func (w *workload) current() batch {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.batch
}

func (w *workload) end() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.batch = batch{}
	if err := os.Remove(w.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.Errorf(fault.Storage, "forget the agent's work: %w", err)
	}
	return nil
}

// openWork makes the workload, if anybody is told of its end.
func (h *Harness) openWork() (err error) {
	if h.config.Webhook.URL != "" || h.config.Webhook.Channel != "" {
		h.work, err = openWorkload(filepath.Join(h.stateDir, "work.json"))
	}
	return err
}

// watchWork tells when the agent has nothing left to do, until the context
// ends.
func (h *Harness) watchWork(ctx context.Context) {
	idle := h.options.Idle
	if idle == 0 {
		idle = defaultIdle
	}
	timer := time.NewTimer(idle)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.work.wake:
			timer.Reset(idle)
		case <-timer.C:
			if h.runner.Pending() == 0 { // else a turn will end
				h.workComplete()
			}
		}
	}
}

// workComplete tells the end of a batch, once.
func (h *Harness) workComplete() {
	b := h.work.current()
	if b.Turns == 0 {
		return
	}
	severity, failed := webhook.Info, ""
	if b.Failed > 0 {
		severity, failed = webhook.Warning, fmt.Sprintf(", %d of them failed", b.Failed)
	}
	data, err := json.Marshal(b)
	if err != nil {
		h.logf("tell that the work is complete: %v", err)
		return
	}
	h.mu.Lock()
	said := h.said
	h.mu.Unlock()
	text := fmt.Sprintf("%s has nothing left to do: %d turns since %s%s", h.config.Nick, b.Turns, b.Begun.Format("15:04:05"), failed)
	if said != "" {
		text += "; its last words: " + said
	}
	h.tell(webhook.Event{
		ID:   fmt.Sprintf("complete-%s-%d", h.config.Nick, b.Begun.UnixNano()), // the same if it is told again after a crash
		Type: webhook.AgentComplete, Severity: severity, Message: text, Data: data,
	})
	if err := h.work.end(); err != nil {
		h.logf("%v", err)
	}
}
