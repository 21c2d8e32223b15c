package outbox

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"den/internal/base/atomicfile"
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
	path  string
	known []past // the oldest first
	lines int    // in the file: more than are known
	torn  bool   // the last of them has no end
}

// openPast reads the file. A line that cannot be read is the last one of a
// process that was killed, and its message is still there.
func openPast(dir string, now time.Time) (pastIDs, error) {
	p := pastIDs{path: filepath.Join(dir, pastFile)}
	data, err := os.ReadFile(p.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return p, fmt.Errorf("read the ids of past messages: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, maxRecord)
	for lines.Scan() {
		var one past
		p.lines++
		if json.Unmarshal(lines.Bytes(), &one) == nil && one.ID != "" {
			p.known = append(p.known, one)
		}
	}
	p.torn = len(data) > 0 && data[len(data)-1] != '\n'
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
	if p.torn || p.lines >= 2*pastKept { // or most of the file is beyond the bounds
		return p.rewrite()
	}
	line, err := json.Marshal(pastOf(m))
	if err != nil {
		return err
	}
	f, err := os.OpenFile(p.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("keep the id of message %s: %w", m.ID, err)
	}
	_, err = f.Write(append(line, '\n'))
	p.lines++
	return errors.Join(err, f.Close())
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
	p.lines, p.torn = len(p.known), false
	return atomicfile.Replace(p.path, data)
}
