package rotate

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
)

// ModuleKey is the attribute that names the part of den that logs.
const ModuleKey = "module"

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
func (l *Logs) Handler() slog.Handler { return handler{logs: l, module: "den"} }

// write adds a record to the files and the console.
func (l *Logs) write(now time.Time, level slog.Level, module, text string) error {
	line := fmt.Appendf(nil, "[%s] [%s] [%s] %s: %s\n", now.Local().Format("2006-01-02 15:04:05"), l.process, level, module, text)
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
	logs   *Logs
	module string
	group  bool // within a group, a module is an attribute as any other
	with   []func(slog.Handler) slog.Handler
}

func (h handler) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelInfo }

func (h handler) Handle(ctx context.Context, r slog.Record) error {
	module := h.module
	rest := slog.NewRecord(time.Time{}, r.Level, "", 0)
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == ModuleKey && !h.group {
			module = a.Value.String()
		} else {
			rest.AddAttrs(a)
		}
		return true
	})
	attrs, err := h.format(ctx, rest)
	if err != nil {
		return err
	}
	text := strings.TrimSpace(r.Message + " " + attrs)
	// A line that does not begin with a bracket continues the record above it.
	text = strings.ReplaceAll(text, "\n", "\n    ")
	return h.logs.write(r.Time, r.Level, module, text)
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
	var rest []slog.Attr
	for _, a := range attrs {
		if a.Key == ModuleKey && !h.group {
			h.module = a.Value.String()
		} else {
			rest = append(rest, a)
		}
	}
	return h.and(func(to slog.Handler) slog.Handler { return to.WithAttrs(rest) })
}

func (h handler) WithGroup(name string) slog.Handler {
	h.group = true
	return h.and(func(to slog.Handler) slog.Handler { return to.WithGroup(name) })
}

func (h handler) and(with func(slog.Handler) slog.Handler) slog.Handler {
	h.with = append(h.with[:len(h.with):len(h.with)], with)
	return h
}
