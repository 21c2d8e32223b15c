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

	"den/internal/base/fault"
	"den/internal/ticks/isotime"
	"den/internal/ticks/jsonobject"
)

// State is what is known of an agent's ticks, system/state.json. Times are
// local, because that is what tools of the agent expect there.
type State struct {
	TickCount     int       // of ticks that have begun
	LastTick      time.Time // when the last one began; zero: never
	LastTickEnd   time.Time // when one last ended; zero: never
	FirstTickDate string    // YYYY-MM-DD, or ""

	object *jsonobject.Object // as it was read, or nil
	read   *State             // the fields as they were read, or nil
}

// ErrCorrupt means that a file's content makes no sense.
var ErrCorrupt = errors.New("the file is damaged")

// State reads the state. A missing file is an empty one that counts from the
// logs; a damaged one is ErrCorrupt, and stays as it is.
func (r *Repo) State() (State, error) {
	data, _, found, err := r.readIf(stateFile, maxJSON)
	if err != nil {
		return State{}, err
	}
	if !found {
		highest, err := r.HighestTick()
		return State{TickCount: highest}, err
	}
	s, err := parseState(data)
	if err != nil {
		err = fault.Errorf(fault.Storage, "data repository '%s': %w: %w", r.path, ErrCorrupt, err)
		return State{}, fault.Hintf(err, "the next tick keeps it aside and counts on from the logs")
	}
	return s, nil
}

// StateForTick is State for whoever begins a tick. A damaged file is kept
// aside, and counting goes on from the logs; then told says so.
func (r *Repo) StateForTick(now time.Time) (s State, told string, err error) {
	s, err = r.State()
	if !errors.Is(err, ErrCorrupt) {
		return s, "", err
	}
	why := err
	highest, err := r.HighestTick()
	if err != nil {
		return State{}, "", err
	}
	aside, err := r.KeepAside(stateFile, now)
	if err != nil {
		return State{}, "", err
	}
	return State{TickCount: highest}, fmt.Sprintf("%v; it is kept as %s, and ticks are counted on from %d", why, aside, highest), nil
}

func parseState(data []byte) (State, error) {
	object, err := jsonobject.Parse(stateFile, data)
	if err != nil {
		return State{}, err
	}
	s := State{object: object}
	if err := jsonobject.Field(object, "tick_count", count, &s.TickCount); err != nil {
		return State{}, err
	}
	s.LastTick = localTime(object, "last_tick")
	s.LastTickEnd = localTime(object, "last_tick_end")
	s.FirstTickDate = textOf(object, "first_tick_date")
	read := s
	s.read = &read
	return s, nil
}

// localTime is a time, zero if it is missing or none: the count of ticks is
// worth more than that.
func localTime(o *jsonobject.Object, key string) time.Time {
	t, err := isotime.Parse(textOf(o, key), time.Local)
	if err != nil {
		return time.Time{}
	}
	return t
}

// textOf is a string, "" if it is missing or none.
func textOf(o *jsonobject.Object, key string) (s string) {
	_ = jsonobject.Field(o, key, jsonobject.Value.Text, &s) // Best effort, as above.
	return s
}

// SaveState writes the state. What State did not understand stays.
func (r *Repo) SaveState(s State) error {
	data, err := encodeState(s)
	if err != nil {
		return fmt.Errorf("write the state of data repository '%s': %w", r.path, err)
	}
	return r.Write(stateFile, data)
}

// EditState changes the state as it is now: the agent may have put keys of its
// own into the file since it was read last.
func (r *Repo) EditState(ctx context.Context, change func(*State) error) error {
	return r.Edit(ctx, func() error {
		s, err := r.State()
		if err != nil {
			return err
		}
		if err := change(&s); err != nil {
			return err
		}
		return r.SaveState(s)
	})
}

func encodeState(s State) ([]byte, error) {
	object, was := jsonobject.New(), &State{TickCount: -1} // a new file has the count at least
	if s.object != nil {
		object, was = s.object.Clone(), s.read
	}
	written := func(t time.Time) any {
		if t.IsZero() {
			return nil
		}
		return isotime.Naive(t, time.Local)
	}
	var errs []error
	set := func(key string, value any, changed bool) {
		if changed {
			errs = append(errs, object.Set(key, value))
		}
	}
	set("tick_count", s.TickCount, s.TickCount != was.TickCount)
	set("last_tick", written(s.LastTick), !s.LastTick.Equal(was.LastTick))
	set("last_tick_end", written(s.LastTickEnd), !s.LastTickEnd.Equal(was.LastTickEnd))
	set("first_tick_date", s.FirstTickDate, s.FirstTickDate != was.FirstTickDate)
	return object.File(), errors.Join(errs...)
}

// LiveStatus is what the agent does at the moment, tmp/live_status.json.
type LiveStatus struct {
	Tick    int
	Tool    string
	Status  string // for people; "" means "Tick N: TOOL"
	Updated time.Time
}

// SetLiveStatus replaces the status. It is not synced: after a loss of power
// nothing runs any more.
func (r *Repo) SetLiveStatus(s LiveStatus) error {
	s.Status = cmp.Or(s.Status, fmt.Sprintf("Tick %d: %s", s.Tick, s.Tool))
	o := jsonobject.New()
	err := errors.Join(o.Set("status", s.Status), o.Set("updated", isotime.Naive(s.Updated, time.Local)), o.Set("tick", s.Tick), o.Set("tool", s.Tool))
	if err != nil {
		return err
	}
	return r.Replace(liveFile, o.File())
}

// LiveStatus returns what the agent did last, nil if there is nothing.
func (r *Repo) LiveStatus() (*LiveStatus, error) {
	data, _, found, err := r.readIf(liveFile, maxJSON)
	if err != nil || !found {
		return nil, err
	}
	o, err := jsonobject.Parse(liveFile, data)
	if err != nil {
		return nil, fmt.Errorf("data repository '%s': %w", r.path, err)
	}
	s := &LiveStatus{Tool: textOf(o, "tool"), Status: textOf(o, "status"), Updated: localTime(o, "updated")}
	if err := jsonobject.Field(o, "tick", jsonobject.Value.Int, &s.Tick); err != nil {
		return nil, fmt.Errorf("data repository '%s': %w", r.path, err)
	}
	return s, nil
}

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
	data, _, _, err := r.readIf(crashFile, maxJSON)
	note := clean(data)
	if err != nil || note == "" {
		return text, false, err
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
	data, _, _, err := r.readIf(crashStateFile, maxJSON)
	if err != nil {
		return nil, err
	}
	if object, err := jsonobject.Parse(crashStateFile, data); err == nil {
		return object, nil
	}
	return jsonobject.New(), nil
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
	_, err = r.Stat(pausedFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
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
	fi, err := r.Stat(pausedFile)
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	return fi.ModTime(), nil
}

// Resume lets the agent have ticks, and reports whether it was paused.
func (r *Repo) Resume() (bool, error) { return r.Remove(pausedFile) }
