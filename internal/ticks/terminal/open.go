package terminal

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"den/internal/base/fault"
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
	s.config.Record(t.record())
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
	if command == "" {
		command = "bash"
	}
	program, _, _ := strings.Cut(command, " ")
	now := time.Now()
	return &tty{
		number: number, command: command, label: label, tick: s.config.Tick,
		created: now, active: now, changed: s.happened,
		owed:    true, // what the command does first is to be seen
		program: filepath.Base(program), state: StateUnknown,
	}
}
