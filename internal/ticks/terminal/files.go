package terminal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/base/poll"
	"den/internal/screen"
	"den/internal/screen/eventlog"
	"den/internal/ticks/datarepo"
)

// Where files are, below the data repository.
const (
	sessionsDir = datarepo.Tmp + "/sessions"
	archiveDir  = datarepo.SessionLogs
)

// recordingFile is the recording of a closed terminal, among its files.
const recordingFile = "recording.cast"

// maxRaw bounds the file of a terminal's bytes. Of more the newest half is kept.
const maxRaw = 2_000_000

// maxOutputs is how many files of long outputs a terminal keeps.
const maxOutputs = 10

// files writes below the data repository. The agent can write there too, so no
// link leads out of it.
type files struct {
	root *os.Root
	base string

	mu      sync.Mutex          // guards the fields below
	made    int                 // numbers that were given to directories and files
	owners  map[int]int         // whose the directory of a terminal is, by such a number
	outputs map[int][]string    // files of long outputs, by terminal
	written map[int]writtenFile // by terminal
}

// writtenFile is what a terminal's files show.
type writtenFile struct {
	history uint64 // the last event in the scrollback's file
	raw     int64  // the size of raw
}

func openFiles(data string) (*files, error) {
	root, err := os.OpenRoot(data)
	if err != nil {
		return nil, fault.Errorf(fault.KindOf(err), "open the data repository: %w", err)
	}
	f := &files{root: root, base: data, owners: map[int]int{}, outputs: map[int][]string{}, written: map[int]writtenFile{}}
	for _, dir := range []string{sessionsDir, archiveDir} {
		if err := root.MkdirAll(dir, 0o700); err != nil {
			return nil, errors.Join(fault.Errorf(fault.KindOf(err), "make %s in the data repository: %w", dir, err), root.Close())
		}
	}
	return f, nil
}

func (f *files) close() error { return f.root.Close() }

// dirOf is the directory of a terminal's files.
func dirOf(number int) string { return sessionsDir + "/tty_" + strconv.Itoa(number) }

// path is how the agent calls a file.
func (f *files) path(name string) string { return filepath.Join(f.base, name) }

// prepare makes an empty directory for a terminal, and returns the number of its
// owner. What is there belongs to nobody, and is archived.
func (f *files) prepare(number, tick int) (owner int, err error) {
	if f.exists(dirOf(number)) {
		if _, err := f.archive(number, tick); err != nil {
			return 0, err
		}
	}
	if err := f.root.MkdirAll(dirOf(number), 0o700); err != nil {
		return 0, fault.Errorf(fault.KindOf(err), "make the directory of terminal %d: %w", number, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.made++
	f.owners[number] = f.made
	return f.made, nil
}

// retake is prepare for a session that an earlier tick left. Files of its own
// that are there stay, so that they are archived once, with all of it; what is
// written anew goes.
func (f *files) retake(number, tick int, session string) (owner int, err error) {
	dir := dirOf(number)
	if whose := f.sessionOf(number); !f.exists(dir) || whose != "" && whose != session {
		return f.prepare(number, tick)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	entries, err := fs.ReadDir(f.root.FS(), dir)
	if err != nil {
		return 0, fault.Errorf(fault.KindOf(err), "read the directory of terminal %d: %w", number, err)
	}
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), outputPrefix)
		if n, err := strconv.Atoi(digits); ok && err == nil {
			f.made = max(f.made, n)
			f.outputs[number] = append(f.outputs[number], dir+"/"+e.Name())
		}
	}
	for _, name := range []string{"raw", recordingFile} {
		f.root.Remove(dir + "/" + name) // Best effort: it may not be there.
	}
	f.made++
	f.owners[number] = f.made
	return f.made, nil
}

// maxStatus bounds what is read of a status file.
const maxStatus = 64 << 10

// sessionOf is the session whose files a terminal's directory has, "" where it
// does not say.
func (f *files) sessionOf(number int) string {
	raw, err := f.tail(dirOf(number)+"/status", maxStatus)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(raw)) {
		if id, ok := strings.CutPrefix(line, "session: "); ok {
			return strings.TrimSpace(id)
		}
	}
	return ""
}

// outputPrefix begins the name of a file of a long output.
const outputPrefix = "output-"

// outputOf returns a function that makes a file for an output of a terminal
// that is too long to be shown.
func (f *files) outputOf(number int) func() (*os.File, string, error) {
	return func() (*os.File, string, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.made++
		name := fmt.Sprintf("%s/%s%04d", dirOf(number), outputPrefix, f.made)
		file, err := f.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return nil, "", fault.Errorf(fault.KindOf(err), "keep the output of terminal %d: %w", number, err)
		}
		all := append(f.outputs[number], name)
		if len(all) > maxOutputs {
			f.root.Remove(all[0]) // Best effort: a file more does no harm.
			all = all[1:]
		}
		f.outputs[number] = all
		return file, f.path(name), nil
	}
}

// image is what a terminal's files are to show.
type image struct {
	owner      int
	seq        uint64
	screen     string
	ansi       string
	scrollback []byte // or nil: the file shows it
	status     string
	raw        []byte
}

// write writes a terminal's files, unless they were archived meanwhile.
func (f *files) write(number int, i image) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.owners[number] != i.owner {
		return nil
	}
	dir := dirOf(number)
	errs := []error{f.root.MkdirAll(dir, 0o700)} // the agent may have removed it
	put := func(name string, data []byte) {
		errs = append(errs, atomicfile.ReplaceIn(f.root, dir+"/"+name, data))
	}
	put("screen", []byte(i.screen+"\n"))
	put("screen.ansi", []byte(i.ansi+"\n"))
	put("status", []byte(i.status))
	w := f.written[number]
	if i.scrollback != nil {
		put("scrollback", i.scrollback)
		w.history = i.seq
	}
	if len(i.raw) > 0 {
		var err error
		w.raw, err = f.addRaw(dir+"/raw", w.raw, i.raw)
		errs = append(errs, err)
	}
	f.written[number] = w
	if err := errors.Join(errs...); err != nil {
		return fault.Errorf(fault.KindOf(err), "write the files of terminal %d: %w", number, err)
	}
	return nil
}

// addRaw appends to the file of bytes, and shortens it when it is full.
func (f *files) addRaw(name string, size int64, data []byte) (int64, error) {
	if size+int64(len(data)) <= maxRaw {
		n, err := f.append(name, data)
		return size + int64(n), err
	}
	rest, err := f.tail(name, maxRaw/2)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return size, err
	}
	rest = append(rest, data...)
	rest = rest[max(0, len(rest)-maxRaw/2):]
	return int64(len(rest)), atomicfile.ReplaceIn(f.root, name, rest)
}

// append appends to a regular file.
func (f *files) append(name string, data []byte) (n int, err error) {
	file, err := f.root.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return 0, err
	}
	if err = isRegular(file); err == nil {
		n, err = file.Write(data)
	}
	return n, errors.Join(err, file.Close())
}

// tail reads the end of a regular file.
func (f *files) tail(name string, limit int64) ([]byte, error) {
	file, err := atomicfile.OpenIn(f.root, name)
	if err != nil {
		return nil, err
	}
	defer file.Close() // Best effort: it was only read.
	fi, err := file.Stat()
	if err != nil {
		return nil, err
	}
	from := max(0, fi.Size()-limit)
	return io.ReadAll(io.NewSectionReader(file, from, limit))
}

func isRegular(file *os.File) error {
	fi, err := file.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = fmt.Errorf("%s: %w", file.Name(), atomicfile.ErrNotRegular)
	}
	return err
}

// appendRaw appends output that is not written yet, and keeps what the file can
// hold of it.
func appendRaw(raw, out []byte) []byte {
	raw = append(raw, out...)
	if len(raw) > maxRaw {
		raw = slices.Clone(raw[len(raw)-maxRaw/2:])
	}
	return raw
}

// record puts the session's recording beside a terminal's files, as one file
// that players play. What was typed is not in it.
func (f *files) record(t *tty) error {
	if t.session.Dir.Path == "" {
		return fault.Errorf(fault.Unsupported, "the recording of terminal %d is not on this machine", t.number)
	}
	log, err := eventlog.Open(t.session.Dir.Log())
	if err != nil {
		return fmt.Errorf("archive the recording of terminal %d: %w", t.number, err)
	}
	name := dirOf(t.number) + "/" + recordingFile
	file, err := f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fault.Errorf(fault.KindOf(err), "archive the recording of terminal %d: %w", t.number, err)
	}
	_, err = eventlog.WriteCast3(file, log, eventlog.CastOptions{}) // what is missing was noted while it was followed
	if err = errors.Join(err, file.Close()); err != nil {
		return fault.Errorf(fault.KindOf(err), "archive the recording of terminal %d: %w", t.number, err)
	}
	return nil
}

// archive moves a terminal's directory to the archive, and returns its new
// name. The recording has all that raw has.
func (f *files) archive(number, tick int) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	dir := dirOf(number)
	f.root.Remove(dir + "/raw") // Best effort: a file more does no harm.
	if err := f.root.MkdirAll(archiveDir, 0o700); err != nil {
		return "", fault.Errorf(fault.KindOf(err), "archive terminal %d: %w", number, err)
	}
	target := datarepo.TerminalArchive(number, tick, 0)
	for suffix := 1; f.exists(target); suffix++ {
		target = datarepo.TerminalArchive(number, tick, suffix)
	}
	if err := f.move(dir, target); err != nil {
		return "", fault.Errorf(fault.KindOf(err), "archive terminal %d: %w", number, err)
	}
	delete(f.owners, number)
	delete(f.outputs, number)
	delete(f.written, number)
	return target, nil
}

func (f *files) exists(name string) bool {
	_, err := f.root.Lstat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// move renames a directory of files, or copies it to another file system.
func (f *files) move(from, to string) error {
	err := f.root.Rename(from, to)
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	if err := f.root.Mkdir(to, 0o700); err != nil {
		return err
	}
	entries, err := fs.ReadDir(f.root.FS(), from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue // den makes none
		}
		if err := f.copy(from+"/"+e.Name(), to+"/"+e.Name()); err != nil {
			return err
		}
	}
	return f.root.RemoveAll(from)
}

func (f *files) copy(from, to string) error {
	in, err := f.root.OpenFile(from, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer in.Close() // Best effort: it was only read.
	out, err := f.root.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// moved is the path of a terminal's file after it was archived.
func (f *files) moved(path string, number int, archive string) string {
	if rest, ok := strings.CutPrefix(path, f.path(dirOf(number))); ok && archive != "" {
		return f.path(archive) + rest
	}
	return path
}

// image returns what the files of a terminal are to show. The scrollback is
// left out if nothing was printed since the event that its file has.
func (t *tty) image(written uint64) image {
	t.mu.Lock()
	defer t.mu.Unlock()
	shot := screen.Capture(t.view.term, 0)
	i := image{owner: t.owner, seq: t.output, screen: shot.Text, ansi: shot.ANSI(), status: t.statusLocked(), raw: t.raw}
	if t.output > written || written == 0 {
		i.scrollback = t.view.history()
	}
	t.raw, t.stale = nil, false
	return i
}

// history is all that the terminal has kept, line by line.
func (v *view) history() []byte {
	b := make([]byte, 0, 64<<10)
	_, rows := v.term.Size()
	last := rows - 1
	for last >= 0 && isBlank(v.term.Row(last)) {
		last--
	}
	for y := -v.term.ScrollbackLen(); y <= last; y++ {
		row := v.term.Row(y)
		b = row.AppendWritten(b, 0, row.Len())
		if !row.Wrapped() || y == last {
			b = append(b, '\n')
		}
	}
	return b
}

// statusLocked is the content of the status file.
func (t *tty) statusLocked() string {
	var b strings.Builder
	fmt.Fprintln(&b, t.wordLocked())
	fmt.Fprintf(&b, "command: %s\nprogram: %s\nsession: %s\ncreated: %s\n", t.command, t.program, t.session.Dir.ID, t.created.Format(time.RFC3339))
	if t.label != "" {
		fmt.Fprintf(&b, "label: %s\n", t.label)
	}
	return b.String()
}

// wordLocked is a terminal's status in one word.
func (t *tty) wordLocked() string {
	switch {
	case t.end != nil && t.end.lost:
		return "lost"
	case t.end != nil && t.end.exit.Code != nil:
		return fmt.Sprintf("exited (%d)", *t.end.exit.Code)
	case t.end != nil:
		return "exited"
	case t.stateLocked() == StateRunning:
		return "running"
	}
	return "idle"
}

// flushStale writes the files of a terminal that shows something else.
func (s *Set) flushStale(t *tty) error {
	t.writing.Lock()
	defer t.writing.Unlock()
	if !t.now().stale {
		return nil
	}
	return s.flush(t)
}

// flush writes the files of a terminal. The caller holds t.writing.
func (s *Set) flush(t *tty) error {
	s.files.mu.Lock()
	written := s.files.written[t.number].history
	s.files.mu.Unlock()
	i := t.image(written)
	err := s.files.write(t.number, i)
	if err != nil {
		t.unwritten(i)
	}
	return err
}

// unwritten takes back what could not be written: the next one to look tries
// again, and is told.
func (t *tty) unwritten(i image) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.raw, t.stale = appendRaw(i.raw, t.raw), true
}

// flushAll writes the files of all terminals that show something else.
func (s *Set) flushAll() {
	for _, t := range s.open() {
		if err := s.flushStale(t); err != nil {
			s.config.Warn(err)
		}
	}
}

// How often files are written while output comes: at most every flushPause, and
// so seldom that writing takes one part in flushShare of the time.
const (
	flushPause = 250 * time.Millisecond
	flushShare = 20
)

// writeFiles writes files that are stale, until the Set is detached. It sleeps
// while nothing happens.
func (s *Set) writeFiles() {
	for {
		select {
		case <-s.dirty:
		case <-s.running.Done():
			return
		}
		if !s.anyStale() {
			continue
		}
		// What comes with it is written with it.
		if poll.Pause(s.running, flushPause/2) != nil {
			return
		}
		begun := time.Now()
		for _, t := range s.open() {
			if now := t.now(); now.stale && now.live {
				t.ask(s.running)
			}
		}
		s.flushAll()
		s.saveRegistry()
		if poll.Pause(s.running, max(flushPause/2, flushShare*time.Since(begun))) != nil {
			return
		}
	}
}

func (s *Set) anyStale() bool {
	return slices.ContainsFunc(s.open(), func(t *tty) bool { return t.now().stale })
}
