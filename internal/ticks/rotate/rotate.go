// Package rotate writes log files that are replaced by new ones before they get
// too old or too large.
package rotate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"den/internal/base/atomicfile"
)

const (
	keptDays  = 14
	maxSize   = 5 << 20
	keptSized = 5
)

// file is a log file below a directory. It is opened by name for every process
// that writes it; the lines of each are whole.
type file struct {
	root *os.Root
	name string
	open *os.File // or nil
	size int64
	day  string // of the last line, as dayOf writes it
}

// use opens the file if it is not open, or if another process has moved it
// away.
func (f *file) use(now time.Time) error {
	if f.open != nil {
		mine, merr := f.open.Stat()
		there, terr := f.root.Lstat(f.name)
		if merr == nil && terr == nil && os.SameFile(mine, there) {
			f.size = mine.Size()
			return nil
		}
		f.close()
	}
	open, err := f.root.OpenFile(f.name, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return err
	}
	fi, err := open.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = fmt.Errorf("open %s: %w", f.name, atomicfile.ErrNotRegular)
	}
	if err != nil {
		open.Close() // Best effort: nothing was written.
		return err
	}
	f.open, f.size, f.day = open, fi.Size(), dayOf(now)
	if fi.Size() > 0 {
		f.day = dayOf(fi.ModTime())
	}
	return nil
}

func (f *file) close() {
	if f.open != nil {
		f.open.Close() // Best effort: every line was written when it was logged.
		f.open = nil
	}
}

func (f *file) write(line []byte) error {
	n, err := f.open.Write(line)
	f.size += int64(n)
	return err
}

// dayOf is a local date. Dates sort as text.
func dayOf(t time.Time) string { return t.Local().Format("2006-01-02") }

// daily is a file that becomes NAME.DATE at the first line of another day.
type daily struct{ file }

func (d *daily) log(line []byte, now time.Time) error {
	if err := d.use(now); err != nil {
		return err
	}
	// A day before the file's own is one of a clock that was set back.
	if today := dayOf(now); d.size > 0 && today > d.day {
		if err := d.rotate(now); err != nil {
			return err
		}
		d.day = today
	}
	return d.write(line)
}

func (d *daily) rotate(now time.Time) error {
	old := d.name + "." + d.day
	for i := 1; ; i++ {
		if _, err := d.root.Lstat(old); errors.Is(err, fs.ErrNotExist) {
			break
		} else if err != nil {
			return err
		}
		old = fmt.Sprintf("%s.%s.%d", d.name, d.day, i)
	}
	d.close()
	if err := d.root.Rename(d.name, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := d.prune(); err != nil {
		return err
	}
	return d.use(now)
}

var dated = regexp.MustCompile(`^\.[0-9]{4}-[0-9]{2}-[0-9]{2}(\.[0-9]+)?$`)

// prune removes the oldest of the dated files.
func (d *daily) prune() error {
	entries, err := fs.ReadDir(d.root.FS(), ".")
	if err != nil {
		return err
	}
	var old []string
	for _, e := range entries {
		if suffix, ok := strings.CutPrefix(e.Name(), d.name); ok && dated.MatchString(suffix) {
			old = append(old, e.Name())
		}
	}
	slices.Sort(old)
	for _, name := range old[:max(0, len(old)-keptDays)] {
		if err := d.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// sized is a file that becomes NAME.1 when it is full, NAME.1 becomes NAME.2,
// and so on.
type sized struct{ file }

func (s *sized) log(line []byte, now time.Time) error {
	if err := s.use(now); err != nil {
		return err
	}
	if s.size > 0 && s.size+int64(len(line)) > maxSize {
		if err := s.rotate(now); err != nil {
			return err
		}
	}
	return s.write(line)
}

func (s *sized) rotate(now time.Time) error {
	s.close()
	numbered := func(i int) string {
		if i == 0 {
			return s.name
		}
		return fmt.Sprintf("%s.%d", s.name, i)
	}
	for i := keptSized - 1; i >= 0; i-- { // the last is written over
		if err := s.root.Rename(numbered(i), numbered(i+1)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return s.use(now)
}

// Logs are the two logs of one process: PROCESS.log for each day, and
// PROCESS-current.log, which is never large.
type Logs struct {
	process string
	console io.Writer // or nil

	mu      sync.Mutex // guards the fields below; held while files are written
	daily   daily
	current sized
	failed  bool // the last record could not be written
}

// Open returns the logs of a process in a directory. Every record also goes to
// console, unless it is nil. Files are opened when something is logged.
func Open(dir *os.Root, process string, console io.Writer) *Logs {
	return &Logs{
		process: process, console: console,
		daily:   daily{file{root: dir, name: process + ".log"}},
		current: sized{file{root: dir, name: process + "-current.log"}},
	}
}

// Close closes the files.
func (l *Logs) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.daily.close()
	l.current.close()
}

// Handler returns a handler of records from Info on.
func (l *Logs) Handler() slog.Handler { return handler{logs: l} }

// write adds a record to the files and the console.
func (l *Logs) write(now time.Time, level slog.Level, text string) error {
	line := fmt.Appendf(nil, "[%s] [%s] [%s] den: %s\n", now.Local().Format("2006-01-02 15:04:05"), l.process, level, text)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.console != nil {
		fmt.Fprintf(l.console, "[%s] %s\n", now.Local().Format("15:04:05"), text) // Best effort: it may be closed.
	}
	err := l.daily.log(line, now)
	if cerr := l.current.log(line, now); err == nil {
		err = cerr
	}
	if err != nil && !l.failed && l.console != nil {
		fmt.Fprintf(l.console, "[%s] cannot write the log: %v\n", now.Local().Format("15:04:05"), err) // Best effort, as above.
	}
	l.failed = err != nil
	return err
}

// handler turns records into lines.
type handler struct {
	logs *Logs
	with []func(slog.Handler) slog.Handler // attributes and groups, as slog knows them
}

func (h handler) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelInfo }

func (h handler) Handle(ctx context.Context, r slog.Record) error {
	rest := slog.NewRecord(time.Time{}, r.Level, "", 0)
	r.Attrs(func(a slog.Attr) bool {
		rest.AddAttrs(a)
		return true
	})
	attrs, err := h.format(ctx, rest)
	if err != nil {
		return err
	}
	text := strings.TrimSpace(r.Message + " " + attrs)
	// A line that does not begin with a bracket continues the record above it.
	text = strings.ReplaceAll(text, "\n", "\n    ")
	return h.logs.write(r.Time, r.Level, text)
}

// format writes attributes as slog does.
func (h handler) format(ctx context.Context, r slog.Record) (string, error) {
	var b bytes.Buffer
	var text slog.Handler = slog.NewTextHandler(&b, &slog.HandlerOptions{ReplaceAttr: withoutOwn})
	for _, with := range h.with {
		text = with(text)
	}
	err := text.Handle(ctx, r)
	return strings.TrimSpace(b.String()), err
}

// withoutOwn removes the record's own level and message, which are written
// elsewhere, and leaves attributes of the same names.
func withoutOwn(groups []string, a slog.Attr) slog.Attr {
	_, level := a.Value.Any().(slog.Level)
	if len(groups) == 0 && (a.Key == slog.LevelKey && level || a.Key == slog.MessageKey && a.Value.String() == "") {
		return slog.Attr{}
	}
	return a
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.and(func(to slog.Handler) slog.Handler { return to.WithAttrs(attrs) })
}

func (h handler) WithGroup(name string) slog.Handler {
	return h.and(func(to slog.Handler) slog.Handler { return to.WithGroup(name) })
}

func (h handler) and(with func(slog.Handler) slog.Handler) slog.Handler {
	h.with = append(h.with[:len(h.with):len(h.with)], with)
	return h
}
