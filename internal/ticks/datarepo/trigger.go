package datarepo

import (
	"errors"
	"io/fs"
	"strings"
	"time"
)

// A Trigger is a request for a tick, system/tick_trigger.
type Trigger struct {
	Reason string // what the file says, or ""
	ID     string // of this request: the same text written again is another one
}

// Trigger returns the request for a tick, nil if there is none. While another
// program may still write it, it returns nil and when to look again.
func (r *Repo) Trigger(now time.Time) (t *Trigger, again time.Duration, err error) {
	data, modified, err := r.Read(triggerFile, maxTrigger)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	if wait := waitForWhole(modified, now); wait > 0 {
		return nil, wait, nil
	}
	return &Trigger{Reason: clean(data), ID: contentID(data, modified)}, 0, nil
}

// AcknowledgeTrigger removes the request with an ID, which was answered. It
// returns false if there is a new one, which stays.
func (r *Repo) AcknowledgeTrigger(id string) (bool, error) {
	return r.acknowledge(triggerFile, id, maxTrigger)
}

// RequestTick asks for a tick.
func (r *Repo) RequestTick(reason string) error {
	return r.Write(triggerFile, []byte(strings.TrimSpace(reason)+"\n"))
}

// clean is a file's text without white space around it.
func clean(data []byte) string {
	return strings.TrimSpace(strings.ToValidUTF8(string(data), "\uFFFD"))
}
