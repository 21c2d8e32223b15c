package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"den/internal/base/ident"
	"den/internal/base/statefile"
)

const (
	recordVersion = 1
	maxPending    = 500 // the oldest are dropped and counted
	keptIDs       = 500 // of events that were sent, to know them again
	maxRecord     = 1 << 20
	sentFile      = "sent.json"
)

// record is an event that waits, on disk.
type record struct {
	Version int             `json:"v"`
	ID      string          `json:"id"`
	Created time.Time       `json:"created"`
	Body    json.RawMessage `json:"body"` // as it is sent, whenever that is
	key     string          // names the file, and orders by time
}

// outbox keeps events in a directory. Its owner serializes calls.
type outbox struct {
	dir     string
	pending []record // the oldest first
	sent    []string // ids, the oldest first
}

type sentIDs struct {
	Version int      `json:"v"`
	IDs     []string `json:"ids"`
}

// openOutbox reads what waits. A file that cannot be read stays where it is
// and is named in problems: it must not keep others from being sent.
func openOutbox(dir string) (o *outbox, problems []error, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("open webhooks: %w", err)
	}
	o = &outbox{dir: dir}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("open webhooks: %w", err)
	}
	for _, e := range entries { // by name, so by time
		key, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || !ident.IsID(key) {
			continue
		}
		r, found, err := statefile.Load[record](o.path(key), recordVersion, maxRecord)
		if err != nil {
			problems = append(problems, fmt.Errorf("open webhooks: %w", err))
		}
		if !found {
			continue
		}
		r.key, r.Body = key, compact(r.Body)
		o.pending = append(o.pending, r)
	}
	sent, _, err := statefile.Load[sentIDs](filepath.Join(dir, sentFile), recordVersion, maxRecord)
	if err != nil {
		problems = append(problems, fmt.Errorf("open webhooks: %w", err))
	}
	o.sent = sent.IDs
	return o, problems, nil
}

// compact takes the file's indentation away.
func compact(body json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, body) != nil {
		return body // it was part of valid JSON, so this does not happen
	}
	return b.Bytes()
}

func (o *outbox) path(key string) string { return filepath.Join(o.dir, key+".json") }

// knows reports whether an event waits or was sent.
func (o *outbox) knows(id string) bool {
	return slices.Contains(o.sent, id) || slices.ContainsFunc(o.pending, func(r record) bool { return r.ID == id })
}

// add keeps an event, and returns how many old ones were dropped for it.
func (o *outbox) add(e Event, now time.Time) (dropped int, err error) {
	body, err := json.Marshal(e)
	if err != nil {
		return 0, fmt.Errorf("send webhook: %w", err)
	}
	last := ""
	if n := len(o.pending); n > 0 {
		last = o.pending[n-1].key
	}
	r := record{ID: e.ID, Created: now, Body: body, key: ident.NewAfter(last, now)}
	if err := statefile.Save(o.path(r.key), recordVersion, r); err != nil {
		return 0, fmt.Errorf("send webhook: %w", err)
	}
	o.pending = append(o.pending, r)
	for len(o.pending) > maxPending {
		if err := o.remove(o.pending[0]); err != nil {
			return dropped, err
		}
		dropped++
	}
	return dropped, nil
}

// finish removes an event and remembers its id. One that was dropped meanwhile
// is only remembered.
func (o *outbox) finish(r record) error {
	o.sent = append(o.sent, r.ID)
	if over := len(o.sent) - keptIDs; over > 0 {
		o.sent = slices.Clone(o.sent[over:])
	}
	if err := statefile.Replace(filepath.Join(o.dir, sentFile), recordVersion, sentIDs{IDs: o.sent}); err != nil {
		return err
	}
	return o.remove(r)
}

func (o *outbox) remove(r record) error {
	o.pending = slices.DeleteFunc(o.pending, func(p record) bool { return p.key == r.key })
	if err := os.Remove(o.path(r.key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove webhook: %w", err)
	}
	return nil
}
