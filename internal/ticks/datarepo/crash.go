package datarepo

import (
	"cmp"
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"den/internal/ticks/isotime"
	"den/internal/ticks/jsonobject"
)

const (
	// maxCrash is how many characters of an error are told.
	maxCrash = 1500
	// crashQuiet is for how long the same error is told once.
	crashQuiet = 30 * time.Minute
	// maxNoted is how many errors are remembered that were told. Of more the
	// oldest may be told again.
	maxNoted = 20
)

// Crash is an error that is worth a note.
type Crash struct {
	Text string
	// Same is what the same error would say again, where Text has more, such as
	// the number of a tick. "" means Text.
	Same string
	// Beside adds the note to one that was left a short while ago and is still
	// there, instead of replacing it.
	Beside bool
}

// NotifyCrash leaves a note of an error in system/crash_notify.txt, for the
// agent's tools. It returns false if the same error was noted a short while
// ago.
func (r *Repo) NotifyCrash(ctx context.Context, now time.Time, c Crash) (noted bool, err error) {
	text := firstRunes(strings.ToValidUTF8(c.Text, "\uFFFD"), maxCrash)
	hash := crashHash(cmp.Or(c.Same, text))
	err = r.Edit(ctx, func() error {
		object, err := r.crashState()
		if err != nil {
			return err
		}
		known := notedIn(object)
		if recent(known[hash], now) {
			return nil
		}
		last := localTime(object, "last_notify")
		added := false
		if c.Beside && recent(last, now) {
			if text, added, err = r.beside(text); err != nil {
				return err
			}
		}
		// The note first: killed in between, it is told twice, not never.
		if err := r.Write(crashFile, []byte(text)); err != nil {
			return err
		}
		noted = true
		if !added { // else the tools' keys are about the note above it
			err = errors.Join(object.Set("last_notify", isotime.Naive(now, time.Local)), object.Set("error_hash", hash))
		}
		known[hash] = now
		if err := errors.Join(err, object.Set("noted", writtenNoted(known, now))); err != nil {
			return err
		}
		return r.Write(crashStateFile, object.File())
	})
	return noted, err
}

// beside puts a text under the note that is there, if there is one.
func (r *Repo) beside(text string) (both string, added bool, err error) {
	data, _, err := r.Read(crashFile, maxJSON)
	if errors.Is(err, fs.ErrNotExist) {
		return text, false, nil
	}
	if err != nil {
		return text, false, err
	}
	note := clean(data)
	if note == "" {
		return text, false, nil
	}
	return firstRunes(note+"\n\n"+text, 2*maxCrash), true, nil
}

func firstRunes(text string, n int) string {
	if utf8.RuneCountInString(text) > n {
		return string([]rune(text)[:n])
	}
	return text
}

// crashHash stands for an error. It is no protection: it is what tools of the
// agent compare.
func crashHash(text string) string {
	sum := md5.Sum([]byte(text))
	return hex.EncodeToString(sum[:4])
}

// notedIn returns when errors were noted, by their hashes: those that den
// lists, and the last one, which is all that agent-kernel writes.
func notedIn(object *jsonobject.Object) map[string]time.Time {
	known := map[string]time.Time{}
	if v, ok := object.Get("noted"); ok {
		if list, err := v.Object(); err == nil { // damage is as good as none: an error is told again
			for _, hash := range list.Keys() {
				known[hash] = localTime(list, hash)
			}
		}
	}
	if hash := textOf(object, "error_hash"); hash != "" {
		known[hash] = localTime(object, "last_notify")
	}
	return known
}

// writtenNoted are the errors that count, as they are written.
func writtenNoted(known map[string]time.Time, now time.Time) map[string]string {
	hashes := slices.SortedFunc(maps.Keys(known), func(a, b string) int { return known[b].Compare(known[a]) })
	written := map[string]string{}
	for _, hash := range hashes[:min(len(hashes), maxNoted)] {
		if recent(known[hash], now) {
			written[hash] = isotime.Naive(known[hash], time.Local)
		}
	}
	return written
}

// recent reports whether t is within crashQuiet before now. A time in the
// future is from before the clock was set back.
func recent(t, now time.Time) bool {
	age := now.Sub(t)
	return age >= 0 && age < crashQuiet
}

// crashState is what was noted last. A damaged file is none: at worst an error
// is told again.
func (r *Repo) crashState() (*jsonobject.Object, error) {
	data, _, err := r.Read(crashStateFile, maxJSON)
	if errors.Is(err, fs.ErrNotExist) {
		return jsonobject.New(), nil
	}
	if err != nil {
		return nil, err
	}
	object, err := jsonobject.Parse(crashStateFile, data)
	if err != nil {
		return jsonobject.New(), nil
	}
	return object, nil
}

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
