package session

import (
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/base/lazy"
	"den/internal/screen/eventlog"
	"den/internal/session/cell"
	"den/internal/session/home"
	"den/internal/session/wire"
)

// Run is code for the session's program.
type Run struct {
	Code    string
	Timeout time.Duration // 0: no end; the cell runs on after it
	// KeepWaiting does not return when the program asks something.
	KeepWaiting bool
	// NoWait has Answer return when the answer is typed.
	NoWait bool
	// Question, when not empty, is what Answer answers: nothing is typed if the
	// cell asks something else by now.
	Question string
	// MaxLines, when not 0, keeps only the first and the last lines of a longer
	// output; the whole is in the result's OutputFile.
	MaxLines int
	// MaxBytes, when not 0, does the same by size.
	MaxBytes int
	// Only, or nil, keeps only the lines that it matches.
	Only *regexp.Regexp
	// Known are answers to questions that the program may ask.
	Known []cell.Known
	// hidden refuses an answer that the terminal would show.
	hidden bool
}

// Run gives code to the program and waits until it is done, asks something,
// or time is up.
func (s *Session) Run(ctx context.Context, run Run) (cell.Result, error) {
	code, err := Typable(run.Code)
	if err != nil {
		return cell.Result{}, err
	}
	begun := time.Now()
	r, err := s.callCell(ctx, run.Timeout, wire.MethodRun, wire.Run{Code: code, Timeout: run.Timeout, KeepWaiting: run.KeepWaiting, MaxLines: run.MaxLines, MaxBytes: run.MaxBytes})
	if err != nil {
		return r, err
	}
	if r, err = s.awaitCell(ctx, r, run, begun); err != nil {
		return r, err
	}
	return s.giveKnown(ctx, r, run, begun)
}

// awaitCell returns a cell's result. If the host replaced its binary meanwhile,
// it goes on waiting with the new one.
func (s *Session) awaitCell(ctx context.Context, r cell.Result, run Run, begun time.Time) (cell.Result, error) {
	for r.WaitingFor == cell.ForHost {
		req := wire.Run{Cell: r.CellID, Timeout: remaining(run.Timeout, begun), KeepWaiting: run.KeepWaiting, MaxLines: run.MaxLines, MaxBytes: run.MaxBytes}
		var err error
		if r, err = s.callCell(ctx, req.Timeout, wire.MethodRun, req); err != nil {
			return r, err
		}
	}
	return s.Part(r, run, 0)
}

// Await goes on waiting for a cell, the last one without an id, as Run does. Of
// a cell that is over it returns the result. The Code of run is not used.
func (s *Session) Await(ctx context.Context, id string, run Run) (cell.Result, error) {
	if id == "" {
		last, err := s.Poll("")
		if err != nil {
			return last, err
		}
		id = last.CellID
	}
	// As a client goes on whose host was replaced.
	r, err := s.awaitCell(ctx, cell.Result{CellID: id, WaitingFor: cell.ForHost}, run, time.Now())
	if fault.KindOf(err) == fault.NotRunning && !s.options.Remote {
		if r, err = s.Poll(id); err == nil {
			return s.Part(r, run, 0)
		}
	}
	return r, err
}

// answerPatience is how much longer than a caller's limit a host may look whether
// an answer may be typed: that the program asks, and that nobody would see it.
const answerPatience = 2 * time.Second

// Answer types the answer to what the active cell asks, and waits as Run does:
// until the next question, the end, or the time is up. The Code of run is not
// used.
func (s *Session) Answer(ctx context.Context, in wire.Input, run Run) (cell.Result, error) {
	begun := time.Now()
	if run.NoWait {
		run.Timeout = time.Millisecond // for an older host, which waits
	}
	req := wire.Answer{
		Input: in, Question: run.Question, Timeout: run.Timeout, KeepWaiting: run.KeepWaiting, Fire: run.NoWait, MaxLines: run.MaxLines, MaxBytes: run.MaxBytes, Hidden: run.hidden,
	}
	limit := run.Timeout
	if limit > 0 {
		limit += answerPatience
	}
	r, err := s.callCell(ctx, limit, wire.MethodAnswer, req)
	if err != nil {
		return r, err
	}
	if r, err = s.awaitCell(ctx, r, run, begun); err != nil {
		return r, err
	}
	return s.giveKnown(ctx, r, run, begun)
}

// Fire gives code to the program and returns when the cell exists. The host gives
// the answers that are known before.
func (s *Session) Fire(ctx context.Context, code string, timeout time.Duration, known ...cell.Known) (r cell.Result, err error) {
	if code, err = Typable(code); err != nil {
		return r, err
	}
	req := wire.Run{Code: code, Timeout: timeout, Fire: true}
	if len(known) == 0 {
		return s.callCell(ctx, 0, wire.MethodRun, req)
	}
	knowing := wire.RunKnowing{Run: req}
	for _, k := range known {
		knowing.Known = append(knowing.Known, wire.Known{Name: k.Name, Pattern: k.Pattern.String(), Text: k.Text, Secret: k.Secret})
	}
	return s.callCell(ctx, 0, wire.MethodRunKnowing, knowing)
}

// StartOf returns the event with which a cell began, or 0 where it is not known.
func (s *Session) StartOf(id string) uint64 {
	rec, err := s.loadCell(id)
	if err != nil {
		return 0
	}
	return rec.StartSeq
}

// Interrupt presses Ctrl-C once, and waits until the cell ends, asks something,
// or the limit of run has passed. The result has no id if no cell ran. The Code of
// run is not used.
func (s *Session) Interrupt(ctx context.Context, run Run) (cell.Result, error) {
	r, err := s.callCell(ctx, run.Timeout, wire.MethodInt, wire.Interrupt{Timeout: run.Timeout, MaxLines: run.MaxLines, MaxBytes: run.MaxBytes})
	if err != nil || r.CellID == "" {
		return r, err
	}
	return s.Part(r, run, 0)
}

// Release ends the active cell and leaves its program running.
func (s *Session) Release(ctx context.Context) (r wire.Released, err error) {
	err = s.call(ctx, wire.MethodRelease, nil, &r)
	return r, err
}

// Cells is the store of the session's cells.
func (s *Session) Cells() cell.Store { return cell.Store{Dir: s.Dir.Cells()} }

// ActiveCell returns the id of the cell that runs, "" for none.
func (s *Session) ActiveCell() string {
	if rec, err := s.loadCell(""); err == nil && !rec.Final() {
		return rec.CellID
	}
	return ""
}

// loadCell reads the record of a cell, which is a file.
func (s *Session) loadCell(id string) (cell.Record, error) {
	if s.options.Remote {
		return cell.Record{}, fault.Errorf(fault.Unsupported, "read cell '%s': the session's files are not on this machine", id)
	}
	return s.Cells().Load(id)
}

// Poll tells how a cell goes or went; without an id, the last one. It reads
// the cell's record: the same few bytes whatever the log's size.
func (s *Session) Poll(id string) (cell.Result, error) {
	return pollRecord(func() (cell.Record, error) { return s.loadCell(id) }, s.Dir.Reconcile)
}

// pollRecord reads a cell's record, and the session's where the cell is not over. A
// host closes its cell's record before the session's, so the cell's is read
// again once the session is known to be over: only then is a cell that is not
// over one whose host died.
func pollRecord(load func() (cell.Record, error), reconcile func() (*home.Manifest, error)) (cell.Result, error) {
	rec, err := load()
	if err != nil || rec.Final() {
		return rec.Result, err
	}
	m, err := reconcile()
	if err == nil && m.Status.Final() {
		rec, err = load()
	}
	r := rec.Result
	if err != nil || r.Final() {
		return r, err
	}
	r.DurationMS = time.Since(rec.Started).Milliseconds()
	if m.Status.Final() {
		r.Status, r.WaitingFor, r.Question, r.Certainty, r.InnerShell = cell.Failed, "", "", "", false
		r.Output = "the session is " + m.Ending()
	}
	return r, nil
}

// RawOutput yields the bytes that the program wrote while a cell ran, each
// time it is called.
func (s *Session) RawOutput(id string) (func() iter.Seq2[[]byte, error], error) {
	rec, err := s.loadCell(id)
	if err != nil {
		return nil, err
	}
	log, err := eventlog.Open(s.Dir.Log())
	if err != nil {
		return nil, err
	}
	return func() iter.Seq2[[]byte, error] { return cellBytes(log, rec) }, nil
}

func cellBytes(log *eventlog.Log, rec cell.Record) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for e, err := range log.Events(rec.StartSeq) {
			if err != nil {
				yield(nil, err)
				return
			}
			if rec.EndSeq > 0 && e.Seq > rec.EndSeq {
				return
			}
			if p, ok := e.Output(); ok && !yield(p, nil) {
				return
			}
		}
	}
}

// Marks makes the shell that reads the terminal now print marks: one inside the
// session's program, behind ssh, sudo or docker exec. A cell that began it, and
// asks for input since, is released. Until that shell ends, its cells are exact
// and have exit codes.
func (s *Session) Marks(ctx context.Context, timeout time.Duration) (cell.Result, error) {
	if err := s.expectNoPassword(ctx); err != nil {
		return cell.Result{}, err
	}
	if last, err := s.Poll(""); err == nil && last.Asks() {
		if _, err := s.Release(ctx); err != nil {
			return last, err
		}
	}
	begun := time.Now()
	r, err := s.callCell(ctx, timeout, wire.MethodBringMarks, wire.BringMarks{Timeout: timeout})
	if err == nil {
		r, err = s.awaitCell(ctx, r, Run{Timeout: timeout, KeepWaiting: true}, begun)
	}
	if err != nil || r.Status == cell.Done && r.By == cell.ByShell {
		return r, err
	}
	if !r.Final() {
		if _, err := s.Release(ctx); err != nil && fault.KindOf(err) != fault.NotFound {
			return r, err
		}
	}
	return r, fault.Hintf(fault.Errorf(fault.Unsupported, "the program in the foreground prints no marks"), "it must be bash, zsh or a POSIX shell at its prompt; 'den snapshot' shows it")
}

// asksPassword matches a row that asks for a secret. Behind ssh the modes of the
// terminal at the other end are not known.
var asksPassword = lazy.Regexp{Expr: `(?i)(password|passphrase|passcode|verification code|\bpin\b)[^:]*:\s*$`}

// expectNoPassword returns an error if a password is asked for: whatever is
// typed there would be taken for it.
func (s *Session) expectNoPassword(ctx context.Context) error {
	in, err := s.InputState(ctx)
	switch {
	case fault.KindOf(err) == fault.Protocol: // an older host does not tell
		return nil
	case err != nil:
		return err
	case in.LineMode && !in.Echo || asksPassword.Get().MatchString(in.CursorRow):
		return fault.Hintf(fault.Errorf(fault.Busy, "nothing was typed: the program asks for a password: %q", strings.TrimSpace(in.CursorRow)),
			"answer it with 'den answer' or 'den type --enter', then bring the marks when the shell shows its prompt")
	}
	return nil
}

// Typable returns code as it can be typed: a terminal knows one kind of
// newline, and takes control characters for keys. Code that would reach the
// program as something else is refused before anything is sent.
func Typable(code string) (string, error) {
	code = strings.TrimPrefix(code, "\uFEFF") // a file's mark, not its first character
	code = strings.ReplaceAll(code, "\r\n", "\n")
	code = strings.ReplaceAll(code, "\r", "\n")
	if !utf8.ValidString(code) {
		return "", fault.Hintf(fault.Errorf(fault.Usage, "the code is not UTF-8, from byte %d on", firstInvalid(code)),
			"put the bytes into a file that the program reads, or write them as escapes of its language")
	}
	if at := strings.IndexFunc(code, isKey); at >= 0 {
		key := fmt.Sprintf("C-%c", code[at]|0x60)
		switch code[at] {
		case 0x1b:
			key = "Esc"
		case 0x7f:
			key = "Backspace"
		}
		return "", fault.Hintf(fault.Errorf(fault.Usage, "the code has a control character, 0x%02x at byte %d, that the terminal takes for the key %s", code[at], at, key),
			"write it as an escape of the program's language, such as '\\x%02x'; 'den keys %s' presses the key", code[at], key)
	}
	return code, nil
}

// isKey reports whether a character is a key and not text.
func isKey(r rune) bool { return r < ' ' && r != '\t' && r != '\n' || r == 0x7f }

func firstInvalid(s string) int {
	for i, r := range s {
		if r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD") {
			return i
		}
	}
	return len(s)
}

// callCell asks the host for something that it answers with a cell, within
// limit as callWithin does.
func (s *Session) callCell(ctx context.Context, limit time.Duration, method string, params any) (r cell.Result, err error) {
	if err := s.callWithin(ctx, limit, method, params, &r); err != nil {
		return r, err
	}
	if r.CellID != "" { // none: there was nothing to interrupt
		if err := cell.CheckID(r.CellID); err != nil {
			return cell.Result{}, fault.Errorf(fault.Protocol, "host of session '%s': %w", s.Dir.ID, err)
		}
	}
	s.locateOutput(&r)
	return r, nil
}

// locateOutput sets where the cell's whole output is. The path in the answer is
// not used: what answers may be a program in a container that has the session's
// directory, and would have the caller read a file of the user.
func (s *Session) locateOutput(r *cell.Result) {
	if r.OutputFile == "" || s.options.Remote {
		return
	}
	r.OutputFile = ""
	if f, err := s.openOutput(r.CellID); err == nil {
		r.OutputFile = s.Cells().OutputPath(r.CellID)
		f.Close() // Best effort: nothing was read.
	}
}

// openOutput opens the file of a cell's whole output. No link leads out of the
// session's directory.
func (s *Session) openOutput(id string) (*os.File, error) {
	if err := cell.CheckID(id); err != nil {
		return nil, err
	}
	root, rel, err := s.outputIn(id)
	if err != nil {
		return nil, err
	}
	defer root.Close() // Best effort: what is opened below it stays open.
	if fi, err := root.Lstat(rel); err != nil {
		return nil, err
	} else if !fi.Mode().IsRegular() {
		return nil, fmt.Errorf("open %s: %w", rel, atomicfile.ErrNotRegular)
	}
	return atomicfile.OpenIn(root, rel)
}

// outputIn returns the session's directory, and where in it a cell's whole
// output is.
func (s *Session) outputIn(id string) (root *os.Root, rel string, err error) {
	if rel, err = filepath.Rel(s.Dir.Path, s.Cells().OutputPath(id)); err != nil {
		return nil, "", err
	}
	root, err = os.OpenRoot(s.Dir.Path)
	return root, rel, err
}

// maxOutput is how much of an output ReadOutput takes.
const maxOutput = 1 << 30

// ReadOutput returns the whole output of a cell, if it was kept in a file.
func (s *Session) ReadOutput(id string) (string, error) {
	f, err := s.openOutput(id)
	if err != nil {
		return "", fault.Errorf(fault.Storage, "read the output of cell '%s': %w", id, err)
	}
	defer f.Close() // Best effort: it was only read.
	raw, err := io.ReadAll(io.LimitReader(f, maxOutput+1))
	if err == nil && len(raw) > maxOutput {
		err = atomicfile.ErrTooLarge
	}
	if err != nil {
		return "", fault.Errorf(fault.Storage, "read the output of cell '%s': %w", id, err)
	}
	return string(raw), nil
}

// cut keeps the two ends of a long output.
func (s *Session) cut(r cell.Result, run Run) (cell.Result, error) {
	r, err := s.shorten(r, run.MaxLines, cell.Cut, cell.CutFile)
	if err != nil || len(r.Output) <= run.MaxBytes {
		return r, err
	}
	return s.shorten(r, run.MaxBytes, cell.CutBytes, cell.CutBytesFile)
}

// shorten cuts an output to a limit, if there is one. The answer of a host may
// not be whole: then the file is.
func (s *Session) shorten(
	r cell.Result, limit int, cut func(string, int) (string, bool), cutFile func(*os.File, int) (string, bool, error),
) (cell.Result, error) {
	if r.OutputFile != "" && limit > 0 && !s.options.Remote {
		text, shortened, err := s.cutKept(r.CellID, limit, cutFile)
		if err != nil {
			return r, fault.Errorf(fault.Storage, "read the output of cell '%s': %w", r.CellID, err)
		}
		if shortened {
			r.Output, r.Truncated = text, true
		}
		return r, nil
	}
	if text, shortened := cut(r.Output, limit); shortened {
		if r.OutputFile == "" && r.Final() && !s.options.Remote { // an older host keeps a short output in memory
			r.OutputFile = s.keepOutput(r)
		}
		r.Output, r.Truncated = text, true
	}
	return r, nil
}

// cutKept cuts the output that is in the cell's file.
func (s *Session) cutKept(id string, limit int, cutFile func(*os.File, int) (string, bool, error)) (string, bool, error) {
	f, err := s.openOutput(id)
	if err != nil {
		return "", false, err
	}
	defer f.Close() // Best effort: it was only read.
	return cutFile(f, limit)
}

// keepOutput puts an output that is returned in part where it can be read
// whole. The session's directory may be shared with a container, so a link in it
// is not followed out of it.
func (s *Session) keepOutput(r cell.Result) string {
	root, rel, err := s.outputIn(r.CellID)
	if err != nil {
		return "" // Best effort: what is left out is still in the log.
	}
	defer root.Close() // Best effort: the file is closed after its write.
	if s.Dir.Home.CheckOwner() != nil || atomicfile.ReplaceIn(root, rel, []byte(r.Output+"\n")) != nil {
		return "" // Best effort, as above.
	}
	return s.Cells().OutputPath(r.CellID)
}
