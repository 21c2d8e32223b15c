package outbox

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"den/internal/base/atomicfile"
	"den/internal/base/journal"
)

// A caller who was not told what became of a message repeats the call with the
// same id. So ids outlive their messages: an id is known for pastFor after its
// message ended, unless pastKept other messages of the agent were forgotten
// since then.
const (
	pastFor  = 24 * time.Hour
	pastKept = 5000
)

// pastFile has one line for each message that was forgotten, the oldest first.
const pastFile = "past.jsonl"

// past is what stays of a message.
type past struct {
	ID     string    `json:"id"`
	Key    string    `json:"key"`
	Text   string    `json:"text"` // a hash of it
	Status Status    `json:"state"`
	Reason string    `json:"reason,omitempty"`
	At     time.Time `json:"at"` // when it last changed
}

func pastOf(m *Message) past {
	return past{ID: m.ID, Key: m.Key, Text: hashText(m.Text), Status: m.Status, Reason: m.Reason, At: m.Updated}
}

// message is the message without its text.
func (p past) message() Message {
	return Message{Version: recordVersion, ID: p.ID, Key: p.Key, Status: p.Status, Reason: p.Reason, Created: p.At, Updated: p.At, Forgotten: true}
}

func hashText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// pastIDs are the ids of one agent's forgotten messages. Their owner's lock
// guards them.
type pastIDs struct {
	file  *journal.File
	known []past // the oldest first
	lines int    // in the file: more than are known
}

// openPast reads the file. A line that cannot be read is the last one of a
// process that was killed, and its message is still there.
func openPast(dir string, now time.Time) (pastIDs, error) {
	path := filepath.Join(dir, pastFile)
	p := pastIDs{file: journal.New(path)}
	err := journal.ReadFile(path, maxRecord, func(line []byte) error {
		var one past
		p.lines++
		if json.Unmarshal(line, &one) == nil && one.ID != "" {
			p.known = append(p.known, one)
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return p, fmt.Errorf("read the ids of past messages: %w", err)
	}
	p.expire(now)
	return p, nil
}

// expire drops what is beyond the bounds.
func (p *pastIDs) expire(now time.Time) {
	from := max(0, len(p.known)-pastKept)
	for from < len(p.known) && now.Sub(p.known[from].At) > pastFor {
		from++
	}
	p.known = p.known[from:]
}

// find returns what is known of an id.
func (p *pastIDs) find(id string, now time.Time) (past, bool) {
	for i := len(p.known) - 1; i >= 0 && id != ""; i-- {
		if one := p.known[i]; one.ID == id {
			return one, now.Sub(one.At) <= pastFor
		}
	}
	return past{}, false
}

// add keeps the id of a message that is about to be forgotten.
func (p *pastIDs) add(m *Message, now time.Time) error {
	p.known = append(p.known, pastOf(m))
	p.expire(now)
	if p.lines >= 2*pastKept { // most of the file is beyond the bounds
		return p.rewrite()
	}
	line, err := json.Marshal(pastOf(m))
	if err != nil {
		return err
	}
	p.lines++
	if err := errors.Join(p.file.Append(line), p.file.Close()); err != nil { // rare: it is not kept open
		return fmt.Errorf("keep the id of message %s: %w", m.ID, err)
	}
	return nil
}

func (p *pastIDs) rewrite() error {
	var data []byte
	for _, one := range p.known {
		line, err := json.Marshal(one)
		if err != nil {
			return err
		}
		data = append(append(data, line...), '\n')
	}
	p.lines = len(p.known)
	return errors.Join(p.file.Rewrite(data, atomicfile.Replace), p.file.Close())
}
