// Package cell models code sent to a session's program: the rule that detects
// its end, the collection of its output, its record, and the start-up files
// that make shells mark their commands.
package cell

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/base/ident"
	"den/internal/base/journal"
	"den/internal/base/statefile"
)

// Status is where a cell is in its life.
type Status string

// Statuses. They are stored in files and sent as JSON: add, never rename.
const (
	Fired    Status = "fired"
	Running  Status = "running"
	Done     Status = "done"
	TimedOut Status = "timeout" // for its caller: the cell runs on
	Failed   Status = "error"
	// Unsure is the status of a cell that is over as far as anybody can tell:
	// the program has been silent, and nothing says that it waits for code.
	Unsure Status = "unsure"
)

// Final reports whether a cell with this status is over.
func (s Status) Final() bool { return s == Done || s == Failed || s == Unsure }

// Asking is the status of the event that is logged for every question of a
// cell. The cell itself is Running.
const Asking = "asking"

// By names what decided that a cell was done.
type By string

// The ways to know: from the program's output, the surest first, and others.
const (
	ByHook    By = "hook"
	ByPrompt  By = "prompt"
	ByShell   By = "shell"
	ByReady   By = "ready"
	ByLearned By = "prompt-learned"
	ByQuiet   By = "quiet"
	ByExit    By = "exit"      // the program ended
	ByInt     By = "interrupt" // somebody pressed Ctrl-C for it, and nothing surer told of its end
	ByRefusal By = "refused"   // its code was not sent
	ByRelease By = "released"  // somebody gave the session back; its program may run on
)

// How sure the end of a cell is.
const (
	Exact  = "exact"  // the shell, the kernel, a hook or the given prompt says so, or the program ended
	Likely = "likely" // the prompt from before is back, and the kernel cannot tell
	Guess  = "guess"  // there was silence
)

// Of a cell that asks the same words say how sure it is that the program waits:
// the kernel says so; the line ends as a question, or a menu is shown; the
// program is silent behind an open line.

// Certainty returns how sure an end that was detected this way is, or "".
func (b By) Certainty() string {
	switch b {
	case ByHook, ByPrompt, ByShell, ByReady, ByExit:
		return Exact
	case ByLearned, ByInt:
		return Likely
	case ByQuiet:
		return Guess
	}
	return ""
}

// What a running cell may wait for.
const (
	ForInput        = "input"        // the program asks something
	ForContinuation = "continuation" // the code is not complete
	// ForProgram is told when time is up and the code was not sent: the program
	// does not take any yet.
	ForProgram = "program"
	// ForHost is never shown to a user: the host is being upgraded, and the
	// client asks the new one.
	ForHost = "host"
)

// Result is the state of a cell as seen by its callers.
type Result struct {
	CellID     string `json:"cell_id"`
	Status     Status `json:"status"`
	Output     string `json:"output"`
	ExitCode   *int   `json:"exit_code,omitempty"`
	By         By     `json:"by,omitempty"`
	Certainty  string `json:"certainty,omitempty"`
	DurationMS int64  `json:"duration_ms"`
	// Interrupted is set if somebody pressed Ctrl-C to end the cell.
	Interrupted bool   `json:"interrupted,omitempty"`
	WaitingFor  string `json:"waiting_for,omitempty"`
	// Question is the text left of the cursor while the program waits.
	Question string `json:"question,omitempty"`
	// InnerShell says that what asks is the prompt of a shell inside the program:
	// the next cell is for that shell.
	InnerShell bool   `json:"inner_shell,omitempty"`
	Truncated  bool   `json:"truncated,omitempty"`
	OutputFile string `json:"output_file,omitempty"`
	// OutputBytes is the size of the whole output, with a line end behind each
	// line, where Output is not all of it. A file of that size has all.
	OutputBytes int64 `json:"output_bytes,omitempty"`
	// Left are the processes that an interrupted cell started and that outlived
	// it.
	Left []Process `json:"left,omitempty"`
	// OutputLacks says what of the output is in neither Output nor the file, or "".
	OutputLacks string `json:"output_lacks,omitempty"`
	// NotSaved says what of the cell could not be written to disk, and why: its
	// record, its output, or events of the log.
	NotSaved string `json:"not_saved,omitempty"`
	// Answered are the questions that were answered with what the caller gave
	// before, in order.
	Answered []Given `json:"answered,omitempty"`
}

// Err is the error that the result stands for, or nil.
func (r Result) Err() error {
	switch {
	case r.Status == TimedOut && r.WaitingFor == ForProgram:
		return fault.Errorf(fault.Timeout, "cell '%s': nothing was sent yet: the program does not take code", r.CellID)
	case r.Status == TimedOut:
		return fault.Errorf(fault.Timeout, "cell '%s' is not done yet", r.CellID)
	case r.By == ByRefusal:
		return fault.Errorf(fault.Busy, "cell '%s': %s", r.CellID, r.Output)
	case r.Interrupted:
		return fault.Errorf(fault.Internal, "cell '%s' was interrupted", r.CellID)
	case r.Status == Failed:
		return fault.Errorf(fault.Internal, "cell '%s': %s", r.CellID, r.Output)
	case r.Status == Unsure:
		return fault.Errorf(fault.Unsure, "cell '%s': the program is silent, and nothing says that it is done", r.CellID)
	case r.WaitingFor != "" && r.Certainty == Guess:
		return fault.Errorf(fault.Waiting, "cell '%s' may wait for %s: its program is silent behind an open line", r.CellID, r.WaitingFor)
	case r.WaitingFor != "":
		return fault.Errorf(fault.Waiting, "cell '%s' waits for %s", r.CellID, r.WaitingFor)
	}
	return nil
}

// Given says which question was answered, and by which pattern.
type Given struct {
	Question string `json:"question"`
	Pattern  string `json:"pattern"`
}

// Process is a process that runs.
type Process struct {
	PID     int    `json:"pid"`
	Command string `json:"command"`
}

// ShowOutput takes the output fields of another result.
func (r *Result) ShowOutput(of Result) {
	r.Output, r.Truncated, r.OutputFile, r.OutputBytes, r.OutputLacks = of.Output, of.Truncated, of.OutputFile, of.OutputBytes, of.OutputLacks
}

// AddNotSaved adds something that could not be written.
func (r *Result) AddNotSaved(what string) {
	switch {
	case r.NotSaved == "":
		r.NotSaved = what
	case !strings.Contains(r.NotSaved, what):
		r.NotSaved += "; " + what
	}
}

// Record is a cell as stored on disk.
type Record struct {
	V int `json:"v"`
	Result
	Code     string    `json:"code"`
	Started  time.Time `json:"started"`
	StartSeq uint64    `json:"start_seq"`
	EndSeq   uint64    `json:"end_seq,omitempty"`
	// AskedSeq is the event before that of the last question.
	AskedSeq uint64 `json:"asked_seq,omitempty"`
}

// Asks reports whether the cell waits for an answer of its caller.
func (r Result) Asks() bool { return r.WaitingFor == ForInput || r.WaitingFor == ForContinuation }

// ShowsQuestion reports whether the output ends with the question, as it does unless
// that is a menu, or the output is cut.
func (r Result) ShowsQuestion() bool {
	return strings.HasSuffix(strings.TrimRight(r.Output, " \n"), strings.TrimRight(r.Question, " \n"))
}

// Final reports whether the cell is over.
func (r Result) Final() bool { return r.Status.Final() }

// CheckID returns an error if id is not a valid cell id. Ids are file names.
func CheckID(id string) error {
	if !ident.IsID(id) {
		return fault.Errorf(fault.Usage, "'%s' is not a cell id", id)
	}
	return nil
}

// recordVersion is the version of the record format. A newer one is refused.
const recordVersion = 2

// File suffixes of a cell, and the size limit of the file that names the last
// cell.
const (
	journalEnd = ".jsonl"
	outputEnd  = ".out"
	maxLast    = 4 << 10
)

// Store keeps the records of a session's cells. Looking one up costs the same
// whatever the log's size.
type Store struct {
	Dir string
}

func (s Store) path(id string) string { return filepath.Join(s.Dir, id+journalEnd) }

// last returns the path of the file whose last complete line is the id of the
// last cell.
func (s Store) last() string { return filepath.Join(s.Dir, "last") }

// OutputPath returns the path of a cell's whole output.
func (s Store) OutputPath(id string) string { return filepath.Join(s.Dir, id+outputEnd) }

// Begin stores a new cell's record and makes it the last cell. The caller
// closes the journal. With an error something of that could not be written, and
// the journal tries again with every Save.
func (s Store) Begin(r Record) (*Journal, error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return &Journal{journal.New(s.path(r.CellID))}, fault.Errorf(fault.KindOf(err), "keep cell '%s': %w", r.CellID, err)
	}
	j, err := newJournal(s.path(r.CellID), r)
	return j, errors.Join(err, s.setLast(r.CellID))
}

func (s Store) setLast(id string) error {
	if err := appendID(s.last(), id, maxLast); err != nil {
		return fault.Errorf(fault.KindOf(err), "keep cell '%s': %w", id, err)
	}
	return nil
}

// Reopen opens the journal of a cell that was begun before.
func (s Store) Reopen(id string) (*Journal, error) {
	j := &Journal{journal.New(s.path(id))}
	if err := j.Open(0); err != nil {
		return j, fault.Errorf(fault.KindOf(err), "keep a cell: %w", err)
	}
	return j, nil
}

// Put stores the record of a cell that is over, which could not be stored when
// it ended.
func (s Store) Put(r Record) error {
	j := &Journal{journal.New(s.path(r.CellID))}
	if err := errors.Join(j.Save(r), j.Close()); err != nil {
		return err
	}
	return s.NotBefore(r.CellID)
}

// NotBefore makes a cell the last one if it is newer than the last one.
func (s Store) NotBefore(id string) error {
	if last, err := s.lastID(); err == nil && last >= id { // identifiers sort by time
		return nil
	}
	return s.setLast(id)
}

// Load reads a cell's record; an empty id means the last cell.
func (s Store) Load(id string) (Record, error) {
	var r Record
	if id == "" {
		var err error
		if id, err = s.lastID(); err != nil {
			return r, err
		}
	}
	if err := CheckID(id); err != nil {
		return r, err
	}
	found, err := readLast(s.path(id), func(line []byte) bool {
		r = Record{}
		return json.Unmarshal(line, &r) == nil
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return r, fault.Errorf(fault.NotFound, "no cell '%s'", id)
	case err != nil:
		return r, fault.Errorf(fault.Storage, "read cell '%s': %w", id, err)
	case !found:
		return r, fault.Errorf(fault.Storage, "read cell '%s': its record holds nothing", id)
	}
	if err := statefile.Check("the record of cell '"+id+"'", r.V, recordVersion); err != nil {
		return r, err
	}
	r.CellID = id
	s.locateOutput(&r)
	return r, nil
}

// locateOutput sets where the cell's whole output is. The record's own path is
// not used: its Home may have moved, or somebody else may have written it.
func (s Store) locateOutput(r *Record) {
	if r.OutputFile == "" {
		return
	}
	r.OutputFile = s.OutputPath(r.CellID)
	if fi, err := os.Lstat(r.OutputFile); err != nil || !fi.Mode().IsRegular() {
		r.OutputFile = "" // pruned
	}
}

// lastID is the id of the last cell.
func (s Store) lastID() (id string, err error) {
	found, err := readLast(s.last(), func(line []byte) bool {
		id = string(line)
		return ident.IsID(id)
	})
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && !found:
		return "", fault.Hintf(fault.Errorf(fault.NotFound, "no cell was run in this session"), "'den run' runs one")
	case err != nil:
		return "", fault.Errorf(fault.Storage, "find the last cell: %w", err)
	}
	return id, nil
}

// Prune removes the oldest cells beyond keep, and the oldest outputs beyond
// size bytes in total. The newest cell is always kept whole.
func (s Store) Prune(keep int, size int64) error {
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return fault.Errorf(fault.KindOf(err), "forget old cells: %w", err)
	}
	slices.Reverse(entries) // identifiers sort by time: the newest first
	cells, newest := 0, ""
	var errs []error
	for _, e := range entries {
		id, kind, _ := strings.Cut(e.Name(), ".")
		kind = "." + kind
		if !ident.IsID(id) || id == newest {
			continue
		}
		switch {
		case newest == "":
			newest = id
			cells++
			continue
		case kind == journalEnd:
			cells++
		case kind == outputEnd:
			if info, err := e.Info(); err == nil {
				size -= info.Size()
			}
		}
		if kind == journalEnd && cells > keep || kind == outputEnd && (size < 0 || cells >= keep) {
			errs = append(errs, os.Remove(filepath.Join(s.Dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}

// maxJournal is the size at which a journal is rewritten.
const maxJournal = 1 << 20

// Journal stores the record of one cell. Each change appends a line with the
// whole record, and the last complete line counts. Appending costs a fiftieth
// of replacing a file, and after a crash the previous line is still there.
type Journal struct {
	*journal.File
}

// newJournal creates the journal of a new cell. With an error it returns a
// journal that tries again with every Save.
func newJournal(path string, r Record) (*Journal, error) {
	j := &Journal{journal.New(path)}
	if err := j.Open(os.O_CREATE | os.O_EXCL); err != nil {
		return j, fault.Errorf(fault.KindOf(err), "keep a cell: %w", err)
	}
	return j, j.Save(r)
}

// Save makes r the record.
func (j *Journal) Save(r Record) error {
	r.V = recordVersion
	line, err := json.Marshal(r)
	if err != nil {
		return fault.Errorf(fault.Internal, "keep cell '%s': %w", r.CellID, err)
	}
	if size := j.Size(); size > 0 && size+int64(len(line)) >= maxJournal {
		err = j.Rewrite(append(line, '\n'), atomicfile.Replace) // only the newest line is left
	} else {
		err = j.Append(line)
	}
	if err != nil {
		return fault.Errorf(fault.KindOf(err), "keep cell '%s': %w", r.CellID, err)
	}
	return nil
}

// maxJournalRead bounds a journal that is read: it is rewritten above 1 MiB, but
// one record may be longer.
const maxJournalRead = 64 << 20

// readLast calls take with the lines of a file, last line first, until take
// returns true. It reports whether it did. A missing file is an error.
func readLast(path string, take func(line []byte) bool) (bool, error) {
	raw, err := atomicfile.Read(path, maxJournalRead)
	return journal.Last(raw, take), err
}

// appendID appends an id to a file. The file is rewritten before it exceeds
// max bytes.
func appendID(path, id string, max int64) error {
	f := journal.New(path)
	if err := f.Open(os.O_CREATE); err != nil {
		return err
	}
	defer f.Close() // Best effort: the line was written.
	if f.Size() > max {
		return atomicfile.Replace(path, []byte(id+"\n"))
	}
	return f.Append([]byte(id))
}
