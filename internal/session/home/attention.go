package home

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/base/filelock"
	"den/internal/base/lazy"
	"den/internal/base/statefile"
	"den/internal/session/attention"
)

// Noted is what a host noted of its program, for those who list sessions: they
// ask no host.
type Noted struct {
	attention.Note
	// Guess says that the program is taken to wait because it is silent and
	// reads the terminal: the kernel does not tell more.
	Guess bool `json:"guess,omitempty"`
	// Question is what the active cell asks, or nil.
	Question *attention.Question `json:"question,omitempty"`
}

// AgentNote is what a keeper knows of the agent in a session, beside the
// record of the session's host. It is truer than what the host sees.
type AgentNote struct {
	V     int    `json:"v"`
	Agent string `json:"agent"`
	attention.Note
	Question *attention.Question `json:"question,omitempty"`
	Source   string              `json:"source,omitempty"` // what it was read from
	// Lock is a file that the keeper holds for as long as it runs: without it
	// the note is out of date.
	Lock string `json:"lock"`
}

// agentNoteVersion is the version of agent.json. A newer one is not used.
const agentNoteVersion = 1

// maxAgentNote bounds agent.json.
const maxAgentNote = 256 << 10

func (d Dir) agentNote() string { return filepath.Join(d.Path, "agent.json") }

// SaveAgentNote replaces the note of the session's agent.
func (d Dir) SaveAgentNote(n AgentNote) error {
	if err := statefile.Replace(d.agentNote(), agentNoteVersion, n); err != nil {
		return fault.Errorf(fault.KindOf(err), "note the state of agent '%s': %w", n.Agent, err)
	}
	return nil
}

// LoadAgentNote reads the note of the session's agent, whether its keeper runs
// or not. It is nil for a session that has none.
func (d Dir) LoadAgentNote() (*AgentNote, error) {
	n, found, err := statefile.Load[AgentNote](d.agentNote(), agentNoteVersion, maxAgentNote)
	switch {
	case fault.KindOf(err) == fault.Protocol:
		return nil, nil // written by a newer den; what the host noted is here
	case err != nil:
		return nil, fmt.Errorf("read the state of the agent in session '%s': %w", d.ID, err)
	case !found:
		return nil, nil
	}
	return &n, nil
}

// currentNote is the note of a keeper that runs, or nil.
func (d Dir) currentNote() *AgentNote {
	n, err := d.LoadAgentNote()
	if err != nil || n == nil {
		return nil // damaged: what the host noted is here
	}
	if held, err := filelock.Held(n.Lock); err != nil || !held {
		return nil
	}
	return n
}

// looked is the name of an empty file; its time is when somebody last looked.
const looked = "looked"

// Look notes that somebody looked at the session.
func (d Dir) Look(now time.Time) error {
	err := d.touchLooked(now)
	if err != nil {
		return fault.Errorf(fault.KindOf(err), "note that session '%s' was looked at: %w", d.ID, err)
	}
	return nil
}

// touchLooked changes nothing outside of the session's directory: a container
// may share it, and leave a link there.
func (d Dir) touchLooked(now time.Time) error {
	root, err := os.OpenRoot(d.Path)
	if err != nil {
		return err
	}
	defer root.Close()
	fi, err := root.Lstat(looked)
	if err == nil && !fi.Mode().IsRegular() {
		if err := root.Remove(looked); err != nil {
			return err
		}
		err = fs.ErrNotExist
	}
	if errors.Is(err, fs.ErrNotExist) { // nobody has looked yet
		f, err := root.OpenFile(looked, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil && !errors.Is(err, fs.ErrExist) { // somebody looks at the same time
			return err
		}
		if err == nil {
			f.Close() // Best effort: nothing was written.
		}
	}
	return root.Chtimes(looked, now, now)
}

// Looked returns when somebody last looked at the session, or zero.
func (d Dir) Looked() time.Time {
	fi, err := os.Lstat(filepath.Join(d.Path, looked))
	if err != nil || !fi.Mode().IsRegular() {
		return time.Time{}
	}
	return fi.ModTime()
}

// Attention returns whether the session needs a person. m is its record, with
// its actual status.
func (d Dir) Attention(m *Manifest) attention.Attention {
	if m.Status.Final() {
		return d.AttentionEnded(m.LastNews())
	}
	return attention.Of(d.Facts(m, d.currentNote()))
}

// Facts gathers what is known of a session that is active. note is that of its
// agent, or nil.
func (d Dir) Facts(m *Manifest, note *AgentNote) attention.Facts {
	var f attention.Facts
	if n := m.Noted; n != nil {
		f.Note, f.Question, f.Source = n.Note, n.Question, "host"
		if n.Guess {
			f.Source = "host, by silence"
		}
	}
	if f.Question != nil {
		f.Source = "cell"
	} else if note != nil {
		f.Note, f.Question, f.Source = note.Note, note.Question, note.Source
	}
	if !f.Note.Over.IsZero() { // else nothing is news, and those who list many sessions need not read it
		f.Looked = d.Looked()
	}
	return f
}

// AttentionEnded is Attention for a session that is over, by how it ended: that
// does not change, and may be kept.
func (d Dir) AttentionEnded(e *attention.Ending) attention.Attention {
	f := attention.Facts{Ended: e}
	if !e.Known {
		f.Looked = d.Looked()
	}
	return attention.Of(f)
}

// LastNews is how a session that is over ended, as far as that is news. An
// earlier den noted nothing: then it is none.
func (m *Manifest) LastNews() *attention.Ending {
	e := &attention.Ending{At: m.Ended, Known: m.Status == Destroyed || m.Noted == nil}
	switch {
	case m.Status == Lost && m.Noted != nil:
		e.At, e.Failure = m.Noted.Since, "its host died"
	case m.Status == Failed:
		e.Failure = m.Failure
	case m.ExitSignal != "":
		e.Failure = "ended by " + m.ExitSignal
	case m.ExitCode != nil && *m.ExitCode != 0:
		e.Failure = fmt.Sprintf("exit %d", *m.ExitCode)
	}
	return e
}

// ShownCommand returns a command for tables: without the variables that it sets
// for its program, which may be secrets, and which others may see over a
// shoulder or in a picture. The record keeps the command as it is.
func ShownCommand(argv []string) []string {
	for len(argv) > 1 && filepath.Base(argv[0]) == "env" {
		rest := afterEnv(argv[1:])
		if len(rest) == 0 {
			return argv[:1]
		}
		argv = rest
	}
	at := scriptOf(argv)
	if at < 0 {
		return argv
	}
	script := argv[at]
	for set := assignment.Get().FindString(script); set != ""; set = assignment.Get().FindString(script) {
		script = script[len(set):]
	}
	if script == argv[at] {
		return argv
	}
	argv = slices.Clone(argv)
	argv[at] = script
	return argv
}

// afterEnv returns the command in the arguments of env, or nothing where it is
// not known.
func afterEnv(args []string) []string {
	for len(args) > 0 {
		a := args[0]
		switch {
		case a == "-u" || a == "--unset" || a == "-C" || a == "--chdir":
			args = args[min(2, len(args)):]
		case a == "-S" || strings.HasPrefix(a, "-S") || strings.HasPrefix(a, "--split-string"):
			return nil
		case strings.HasPrefix(a, "-") || strings.Contains(a, "="):
			args = args[1:]
		default:
			return args
		}
	}
	return nil
}

// scriptOf returns where the script of a shell's -c is, or -1.
func scriptOf(argv []string) int {
	if len(argv) == 0 || !slices.Contains([]string{"sh", "bash", "dash", "zsh"}, filepath.Base(argv[0])) {
		return -1
	}
	for i, a := range argv[1:] {
		if !strings.HasPrefix(a, "-") {
			return -1
		}
		if !strings.HasPrefix(a, "--") && strings.HasSuffix(a, "c") {
			if i+2 < len(argv) {
				return i + 2
			}
			return -1
		}
	}
	return -1
}

// assignment is a variable at the beginning of a script, with what separates it
// from the command.
var assignment = lazy.Regexp{Expr: `^\s*(?:export\s+)?[A-Za-z_][A-Za-z0-9_]*=(?:'[^']*'|"(?:[^"\\]|\\.)*"|[^\s'";&|]|\\.)*(?:\s*;\s*|\s*&&\s*|\s+|$)`}
