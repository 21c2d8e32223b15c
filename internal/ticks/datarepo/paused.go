package datarepo

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"
)

// A Pause is why an agent has no ticks, for people who find system/paused.
type Pause struct {
	When time.Time
	Why  string
	Tick int    // during which it happened; 0 if none
	Todo string // what to do about it, or ""
}

func (p Pause) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Paused at %s\n", p.When.Local().Format("2006-01-02 15:04:05 -0700"))
	if p.Tick > 0 {
		fmt.Fprintf(&b, "Tick: %d\n", p.Tick)
	}
	fmt.Fprintf(&b, "Why: %s\n\n", strings.TrimSpace(p.Why))
	if todo := strings.TrimSpace(p.Todo); todo != "" {
		fmt.Fprintf(&b, "What to do: %s\n", todo)
	}
	b.WriteString("While this file is here, the agent has no ticks; triggers, wakes and notifications wait.\nTo go on, delete it or run 'den kernel resume'.\n")
	return b.String()
}

// Pause keeps the agent from having ticks. What somebody has written into the
// file before stays below.
func (r *Repo) Pause(p Pause) error {
	text := p.text()
	if before, paused, err := r.Paused(); err == nil && paused && before != "" {
		text += "\nBefore:\n" + before + "\n"
	}
	return r.Write(pausedFile, []byte(text[:min(len(text), maxPaused)]))
}

// Paused reports whether the agent is paused, and what the file says. Whatever
// has that name pauses it.
func (r *Repo) Paused() (text string, paused bool, err error) {
	if _, err := r.root.Lstat(pausedFile); errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	} else if err != nil {
		return "", false, r.failed("look at", pausedFile, err)
	}
	data, _, err := r.Read(pausedFile, maxPaused)
	if errors.Is(err, fs.ErrNotExist) {
		// Removed meanwhile, or a link to nowhere: which one shows the next look.
		_, err := r.root.Lstat(pausedFile)
		return "", err == nil, nil
	}
	if err != nil {
		return err.Error(), true, nil // it is there, which is what counts
	}
	return clean(data), true, nil
}

// PausedSince is when the agent was paused, as far as the file tells: the zero
// time if it is not paused.
func (r *Repo) PausedSince() (time.Time, error) {
	fi, err := r.root.Lstat(pausedFile)
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, r.failed("look at", pausedFile, err)
	}
	return fi.ModTime(), nil
}

// Resume lets the agent have ticks, and reports whether it was paused.
func (r *Repo) Resume() (bool, error) { return r.Remove(pausedFile) }
