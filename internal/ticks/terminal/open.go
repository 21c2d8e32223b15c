package terminal

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/process/pty"
	"den/internal/session"
	"den/internal/session/home"
	"den/internal/ticks/history"
)

// OpenArgs are those of open.
type OpenArgs struct {
	Command string `json:"command,omitempty"` // or "": bash
}

// Opened is the answer of open.
type Opened struct {
	Number  int    `json:"tty"`
	Command string `json:"command"`
	Free    int    `json:"free"` // terminals that can still be opened
	// First is what the program printed until it waited for input, or nil if it
	// does not: then wait tells.
	First *Report `json:"first,omitempty"`
}

// Text is the answer as the agent reads it.
func (o Opened) Text() string {
	text := fmt.Sprintf("Opened terminal %d (%s). %d more available.", o.Number, o.Command, o.Free)
	if o.First != nil {
		text += "\n" + o.First.Text()
	}
	return text
}

// Open opens a terminal under the lowest free number, and starts a command in
// it. A program that soon waits for input is shown.
func (s *Set) Open(ctx context.Context, a OpenArgs) (Opened, error) {
	if err := s.requireLogin(); err != nil {
		return Opened{}, err
	}
	n, err := s.reserve(-1)
	if err != nil {
		return Opened{}, err
	}
	t, err := s.start(ctx, Startup{Number: n, Command: strings.TrimSpace(a.Command)}, false)
	if err != nil {
		return Opened{}, err
	}
	o := Opened{Number: n, Command: t.command}
	w := waiter{set: s, only: t, rule: waitRule{begun: time.Now(), limit: openWait, all: true, begins: true}}
	if _, err := w.wait(ctx); err == nil && t.observe(nil).rest == waiting {
		o.First = &s.report(ctx, []*tty{t}, false)[0]
		t.setShown(true)
		s.saveRegistry()
	}
	o.Free = s.free()
	return o, nil
}

// start starts a session under a number that is reserved, and frees the number
// if that fails. With hold, a shell follows the command.
func (s *Set) start(ctx context.Context, w Startup, hold bool) (*tty, error) {
	t, err := s.create(ctx, w, hold)
	if err != nil {
		s.release(w.Number)
		return nil, err
	}
	s.put(t)
	s.begin(t)
	s.saveRegistry()
	s.config.Record(t.tick, t.record())
	return t, nil
}

func (s *Set) create(ctx context.Context, w Startup, hold bool) (*tty, error) {
	command := strings.TrimSpace(w.Command)
	if strings.ContainsRune(command, 0) {
		return nil, fault.Errorf(fault.Usage, "the command has a zero byte")
	}
	t := s.newTTY(w.Number, command, w.Label)
	var err error
	if t.owner, err = s.files.prepare(w.Number, s.config.Tick); err != nil {
		return nil, err
	}
	t.hold = hold && command != "" && !isShell(command)
	t.session, err = s.config.Place.Start(ctx, Spec{
		Name: sessionName(s.config.Name, w.Number), Command: command, Hold: t.hold,
		Labels: map[string]string{Label: s.config.Name + "/" + strconv.Itoa(w.Number), TickLabel: strconv.Itoa(s.config.Tick)}, Warn: t.warn,
	})
	if err != nil {
		return nil, fmt.Errorf("open terminal %d: %w", w.Number, err)
	}
	t.view = newView(Cols, Rows, spool{create: s.files.outputOf(t.number)})
	return t, nil
}

// newTTY is a terminal without a session.
func (s *Set) newTTY(number int, command, label string) *tty {
	command = cmp.Or(command, "bash")
	program, _, _ := strings.Cut(command, " ")
	now := time.Now()
	return &tty{
		number: number, command: command, label: label, tick: s.config.Tick,
		created: now, active: now, changed: s.happened,
		owed:    true, // what the command does first is to be seen
		program: filepath.Base(program), state: StateUnknown,
	}
}

// CloseArgs are those of close.
type CloseArgs struct {
	Number int `json:"tty"`
}

// Closed is the answer of close.
type Closed struct {
	Number  int    `json:"tty"`
	Command string `json:"command"`
	Archive string `json:"archive,omitempty"` // below the data repository
	// Last is what the agent had not seen of the terminal.
	Last  Report   `json:"last"`
	Notes []string `json:"notes,omitempty"` // what could not be done
}

// Text is the answer as the agent reads it.
func (c Closed) Text() string {
	text := fmt.Sprintf("Closed terminal %d (%s).", c.Number, c.Command)
	if c.Archive != "" {
		text = fmt.Sprintf("Closed terminal %d (%s); archived in %s.", c.Number, c.Command, c.Archive)
	}
	for _, note := range c.Notes {
		text += "\n(" + note + ")"
	}
	if last := c.Last; last.Lines.Total > 0 || len(last.Rows) > 0 {
		last.Exit, last.Archive = nil, ""
		text += "\nWhat you had not seen of it:\n" + last.Text()
	}
	return text
}

// Close kills a terminal's program and archives its files.
func (s *Set) Close(ctx context.Context, a CloseArgs) (Closed, error) {
	if err := s.requireLogin(); err != nil {
		return Closed{}, err
	}
	t, err := s.find(a.Number)
	if err != nil {
		return Closed{}, err
	}
	return s.close(ctx, t)
}

// close ends a terminal, alive or not. What cannot be archived is noted; the
// terminal is closed all the same.
func (s *Set) close(ctx context.Context, t *tty) (Closed, error) {
	if !s.claim(t) {
		return Closed{}, fault.Errorf(fault.NotFound, "terminal %d is being closed already", t.number)
	}
	if _, err := t.session.Kill(ctx, killGrace); err != nil && fault.KindOf(err) != fault.NotFound {
		if t.now().live {
			s.put(t) // it may still be used, or closed later
			return Closed{}, fmt.Errorf("close terminal %d: %w", t.number, err)
		}
	}
	if err := t.drained(ctx); err != nil {
		s.put(t)
		return Closed{}, fmt.Errorf("close terminal %d: %w", t.number, err)
	}
	return s.archive(ctx, t), nil
}

// drained waits until all that the session recorded was applied.
func (t *tty) drained(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	select {
	case <-t.done:
		return nil
	case <-limited.Done():
		t.stop() // its end is not going to come
		<-t.done
		return ctx.Err()
	}
}

// archive moves a terminal's files to where they stay, and forgets it.
func (s *Set) archive(ctx context.Context, t *tty) Closed {
	c := Closed{Number: t.number, Command: t.command}
	note := func(err error) {
		if err != nil {
			c.Notes = append(c.Notes, err.Error())
			s.config.Warn(err)
		}
	}
	var err error
	c.Last, err = t.take(false)
	note(err)
	t.writing.Lock()
	note(s.flush(t))
	t.writing.Unlock()
	recorded := s.files.record(t)
	note(recorded)
	c.Archive, err = s.files.archive(t.number, t.tick)
	note(err)
	if recorded == nil && err == nil {
		note(s.config.Place.Remove(ctx, t.session.Dir.ID))
	}
	c.Last.Lines.Whole = s.files.moved(c.Last.Lines.Whole, t.number, c.Archive)
	s.release(t.number)
	s.saveRegistry()
	r := t.record()
	r.Closed, r.Archive, r.Note = time.Now(), c.Archive, strings.Join(c.Notes, "; ")
	if recorded == nil && c.Archive != "" {
		r.Recording = c.Archive + "/" + recordingFile
	}
	s.config.Record(t.tick, r)
	s.happened()
	return c
}

// record is what is kept of a terminal, as long as it is open.
func (t *tty) record() history.Terminal {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := history.Terminal{Number: t.number, Command: t.command, Label: t.label, Session: t.session.Dir.ID, Opened: t.created}
	if t.end != nil {
		r.Status = t.wordLocked()
	}
	return r
}

// closeDead closes the terminals whose end is told by reports, and puts into
// these where the files are. What fails becomes a note: the output that a report
// has is told only once.
func (s *Set) closeDead(ctx context.Context, reports []Report) {
	for i := range reports {
		r := &reports[i]
		if r.Exit == nil {
			continue
		}
		t, err := s.find(r.Number)
		if err != nil {
			continue // closed by another call
		}
		c, err := s.close(context.WithoutCancel(ctx), t)
		if err != nil {
			r.Notes = append(r.Notes, err.Error())
			s.config.Warn(err)
			continue
		}
		r.Archive = c.Archive
		r.Lines.Whole = s.files.moved(r.Lines.Whole, r.Number, c.Archive)
		r.Screen = s.files.moved(r.Screen, r.Number, c.Archive)
		r.Notes = append(r.Notes, c.Notes...)
	}
}

// A Place runs the sessions of terminals: on this machine, or in a container.
type Place interface {
	// Start begins a session.
	Start(ctx context.Context, spec Spec) (*session.Session, error)
	// Find returns a session that was started before, by its id. One that is
	// not there is fault.NotFound.
	Find(ctx context.Context, id string, warn func(error)) (*session.Session, error)
	// Remove removes the files of a session that is over.
	Remove(ctx context.Context, id string) error
}

// Spec is a session to be started.
type Spec struct {
	Name    string
	Command string // for a shell, or "": a shell itself
	// Hold keeps the terminal when the command ends: a shell follows it.
	Hold   bool
	Labels map[string]string
	Warn   func(error) // told what the session's log lacks
}

// Label marks a session as the terminal of a kernel's agent.
const Label = "den.kernel-terminal"

// TickLabel has the number of the tick in which the terminal was opened.
const TickLabel = "den.kernel-tick"

// Native runs terminals on this machine.
type Native struct {
	Home    home.Home
	Options session.Options
	Dir     string   // where programs start, absolute
	Env     []string // their whole environment, without a terminal's
	Shell   string   // or "": bash, or sh where there is none
}

// Start begins a session in the Home.
func (n Native) Start(ctx context.Context, spec Spec) (*session.Session, error) {
	o := n.Options
	o.Warn = spec.Warn
	if strings.TrimSpace(spec.Command) == "bash" && !n.hasBash() {
		spec.Command = "" // the shell that there is
	}
	env := append(session.WithoutTerminal(n.Env), session.TerminalEnv(n.Home, session.DefaultTerm, n.Dir, o.Version)...)
	s, _, err := session.Create(ctx, n.Home, home.Spec{
		Name: spec.Name, Command: Argv(n.shell(), spec), Cwd: n.Dir, Env: env, Term: session.DefaultTerm,
		Cols: Cols, Rows: Rows, Labels: spec.Labels,
		RecordInput: home.RecordAuto, LogLimit: session.DefaultLogLimit,
	}, o)
	return s, err
}

func (n Native) shell() string {
	switch {
	case n.Shell != "":
		return n.Shell
	case n.hasBash():
		return "bash"
	}
	return "sh"
}

// hasBash reports whether a terminal would find bash.
func (n Native) hasBash() bool {
	_, err := pty.LookPath(pty.Command{Argv: []string{"bash"}, Env: n.Env})
	return err == nil
}

// Find looks in the Home.
func (n Native) Find(_ context.Context, id string, warn func(error)) (*session.Session, error) {
	o := n.Options
	o.Warn = warn
	return session.Open(n.Home, id, o)
}

// Remove removes the session's directory. One that is not over stays.
func (n Native) Remove(_ context.Context, id string) error {
	_, err := n.Home.Collect(time.Now(), home.GCOptions{Only: func(other string) bool { return other == id }})
	return err
}

// shells are programs that are started as they are: a shell that runs another
// would be two.
var shells = []string{"bash", "sh", "zsh", "fish", "dash", "ksh"}

func isShell(command string) bool { return slices.Contains(shells, filepath.Base(command)) }

// held runs a command, says so if it failed, and becomes a shell. Job control
// gives the command the terminal's foreground, as a shell at its prompt does.
const held = `set -m
eval "$1"
s=$?
[ "$s" = 0 ] || printf '[exited with status %d]\n' "$s"
exec "$0"`

// Argv returns the command line of a session: that of the shell alone, or of
// the shell with the command, which it becomes if it can.
func Argv(shell string, spec Spec) []string {
	command := strings.TrimSpace(spec.Command)
	switch {
	case command == "":
		return []string{shell}
	case isShell(command):
		return []string{command}
	case spec.Hold:
		return []string{shell, "-c", held, shell, command}
	}
	return []string{shell, "-c", command}
}

// sessionName is the name of a terminal's session. Two terminals of one number
// cannot be open at the same time, so their names may be the same.
func sessionName(instance string, number int) string {
	return instance + "-tty_" + strconv.Itoa(number)
}
