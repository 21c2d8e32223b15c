package datarepo

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/base/ident"
)

// A Notification is a message for the agent, a file in system/notifications.
type Notification struct {
	Name string // of its file
	Text string
	ID   string // of the file with this content, for acknowledging it
}

// Inbox is what there is to deliver.
type Inbox struct {
	Ready []Notification // by name
	// Again is when to look again: files are being written, or there is more.
	// 0 means that there is nothing to wait for.
	Again time.Duration
	// Problems are files that cannot be delivered. They stay.
	Problems []error
}

// maxInbox bounds the notifications of one look.
const maxInbox = 100

// Notifications returns the messages for the agent, which stay until they are
// acknowledged. An empty file is one that is about to be written.
func (r *Repo) Notifications(now time.Time) (Inbox, error) {
	return r.NewNotifications(now, func(string) bool { return false })
}

// NewNotifications is Notifications without those whose ID is known already:
// they may stay for long, and do not keep others from being returned.
func (r *Repo) NewNotifications(now time.Time, known func(id string) bool) (Inbox, error) {
	names, err := r.List(InboxDir)
	if err != nil {
		return Inbox{}, err
	}
	var in Inbox
	for _, name := range names {
		if !strings.HasSuffix(name, ".txt") || strings.HasPrefix(name, ".") {
			continue
		}
		if len(in.Ready) == maxInbox {
			in.Again = settled
			break
		}
		r.look(name, now, known, &in)
	}
	return in, nil
}

// look adds a file to the inbox, unless it is known.
func (r *Repo) look(name string, now time.Time, known func(id string) bool, in *Inbox) {
	data, modified, err := r.Read(path.Join(InboxDir, name), maxNotification)
	if errors.Is(err, fs.ErrNotExist) {
		if _, lerr := r.root.Lstat(path.Join(InboxDir, name)); errors.Is(lerr, fs.ErrNotExist) {
			return // it was removed meanwhile; a link to nowhere was not
		}
	}
	if err != nil {
		in.Problems = append(in.Problems, err)
		return
	}
	if wait := waitForWhole(modified, now); wait > 0 {
		if in.Again == 0 || wait < in.Again {
			in.Again = wait
		}
		return
	}
	text := clean(data)
	if text == "" {
		return
	}
	if id := name + idMark + contentID(data, modified); !known(id) {
		in.Ready = append(in.Ready, Notification{Name: name, Text: text, ID: id})
	}
}

// idMark is between the name and the content in a notification's ID.
const idMark = "@"

// AcknowledgeNotification removes the message with an ID, which was delivered.
// It returns false if its file has changed since, and stays.
func (r *Repo) AcknowledgeNotification(id string) (bool, error) {
	i := strings.LastIndex(id, idMark)
	if i < 0 || !strings.HasSuffix(id[:i], ".txt") || strings.Contains(id[:i], "/") {
		return false, fault.Errorf(fault.Usage, "acknowledge a notification: %.100q is no ID of one", id)
	}
	return r.acknowledge(path.Join(InboxDir, id[:i]), id[i+len(idMark):], maxNotification)
}

// Notify leaves a message for the agent, and returns its file's name.
func (r *Repo) Notify(now time.Time, text string) (string, error) {
	if strings.TrimSpace(text) == "" {
		return "", fault.Errorf(fault.Usage, "notify the agent: the text is empty")
	}
	if len(text) > maxNotification {
		return "", fault.Errorf(fault.Usage, "notify the agent: the text has %d bytes; the limit is %d", len(text), maxNotification)
	}
	name := ident.New(now) + ".txt"
	if err := r.Write(path.Join(InboxDir, name), []byte(text)); err != nil {
		return "", fmt.Errorf("notify the agent: %w", err)
	}
	return name, nil
}

// settled is how long nobody may have written a file before it counts as
// whole. Programs that are not den's write into the file that is read.
const settled = 500 * time.Millisecond

// waitForWhole is how long to wait until a file that was written at modified
// counts as whole, 0 if it does. A time of writing in the future is one from
// before the clock was set back.
func waitForWhole(modified, now time.Time) time.Duration {
	age := now.Sub(modified)
	if age >= settled || age <= -settled {
		return 0
	}
	return settled - age
}

// contentID tells one content of a file from another, also if it is the same
// text written again.
func contentID(data []byte, modified time.Time) string {
	h := sha256.New()
	var at [8]byte
	binary.BigEndian.PutUint64(at[:], uint64(modified.UnixNano()))
	h.Write(at[:])
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

const takenMark = ".taken-"

func isTaken(name string) bool {
	return strings.HasPrefix(name, ".") && strings.Contains(name, takenMark)
}

// original is the name that a taken file had.
func original(taken string) string {
	dir, name := path.Split(taken)
	name, _, _ = strings.Cut(strings.TrimPrefix(name, "."), takenMark)
	return dir + name
}

// acknowledge removes a file if its content is that with the given id. It is taken away first
// and compared then, so that what another program writes meanwhile is either in
// the file that is compared or in a new one. A file that has changed is put
// back, and acknowledge returns false.
func (r *Repo) acknowledge(name, id string, limit int64) (bool, error) {
	dir, base := path.Split(name)
	taken := dir + "." + base + takenMark + rand.Text()
	err := r.root.Rename(name, taken)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil // somebody else has removed it
	}
	if err != nil {
		return false, r.failed("take", name, err)
	}
	data, modified, err := r.Read(taken, limit)
	if err == nil && contentID(data, modified) == id {
		_, err := r.Remove(taken)
		return err == nil, err
	}
	// Not readable is changed too: what is there now was not delivered.
	return false, r.putBack(taken, name)
}

// putBack gives a taken file its name again. If another program has made a new
// file of that name, a notification gets another name, and a trigger, of which
// one is as good as two, is dropped.
func (r *Repo) putBack(taken, name string) error {
	err := r.root.Link(taken, name)
	if err == nil || errors.Is(err, fs.ErrExist) && name == triggerFile {
		_, err := r.Remove(taken)
		return err
	}
	// Hard links are not everywhere: a rename is as good where no new file is.
	if _, err := r.root.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		name = strings.TrimSuffix(name, ".txt") + "-" + strings.ToLower(rand.Text()[:8]) + ".txt"
	}
	if err := r.root.Rename(taken, name); err != nil {
		return r.failed("put back", name, err)
	}
	return nil
}

// A Trigger is a request for a tick, system/tick_trigger.
type Trigger struct {
	Reason string // what the file says, or ""
	ID     string // of this request: the same text written again is another one
}

// Trigger returns the request for a tick, nil if there is none. While another
// program may still write it, it returns nil and when to look again.
func (r *Repo) Trigger(now time.Time) (t *Trigger, again time.Duration, err error) {
	data, modified, found, err := r.readIf(triggerFile, maxTrigger)
	if err != nil || !found {
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
