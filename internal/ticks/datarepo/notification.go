package datarepo

import (
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
