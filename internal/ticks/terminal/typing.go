package terminal

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"den/internal/base/fault"
	"den/internal/place/provider/procname"
	"den/internal/session/wire"
)

// TypeArgs are those of type.
type TypeArgs struct {
	Number int `json:"tty"`
	// Expect names the program that the agent believes to be in the foreground.
	Expect string `json:"expect"`
	// Text is literal, or the name of one key. Enter is pressed behind literal
	// text.
	Text string `json:"text,omitempty"`
	// Keys is a sequence of text and keys in angle brackets, instead of Text:
	// "<Esc>:wq<Enter>".
	Keys string `json:"keys,omitempty"`
	// Enter, or nil, says whether Enter is pressed behind it.
	Enter *bool `json:"enter,omitempty"`
	// Anyway types even if there is output that the agent has not seen: a
	// program that prints all the time could not be stopped otherwise.
	Anyway bool `json:"anyway,omitempty"`
}

// Typed is the answer of type.
type Typed struct {
	Number int    `json:"tty"`
	Seq    uint64 `json:"seq"`  // of the keystrokes in the session's log
	Seen   uint64 `json:"seen"` // the event up to which the agent had seen the terminal's output
	// Others are terminals with something that the agent has not seen.
	Others []int `json:"others,omitempty"`
}

// Text is the answer as the agent reads it.
func (t Typed) Text() string {
	if len(t.Others) == 0 {
		return "Keystrokes sent."
	}
	return fmt.Sprintf("Keystrokes sent. Something new in %s: wait() shows it.", terminals(t.Others))
}

// Type sends keystrokes to a terminal, if the agent has seen all of its output
// and the program in the foreground is the expected one.
func (s *Set) Type(ctx context.Context, a TypeArgs) (Typed, error) {
	if err := s.requireLogin(); err != nil {
		return Typed{}, err
	}
	keys, err := a.strokes()
	if err != nil {
		return Typed{}, err
	}
	expect := strings.TrimSpace(a.Expect)
	if expect == "" {
		return Typed{}, fault.Hintf(fault.Errorf(fault.Usage, "expect is missing"), "name the program that you believe to be in the foreground, such as bash")
	}
	t, err := s.find(a.Number)
	if err != nil {
		return Typed{}, err
	}
	t.typing.Lock()
	defer t.typing.Unlock()
	if !a.Anyway {
		if err := t.allSeen(); err != nil {
			return Typed{}, err
		}
	}
	r := Typed{Number: t.number}
	if r.Seq, r.Seen, err = t.send(ctx, expect, keys, a.Anyway); err != nil {
		return Typed{}, err
	}
	for _, other := range s.open() {
		other.setShown(false) // what is waited for now are these keystrokes
		if other != t && other.now().fresh {
			r.Others = append(r.Others, other.number)
		}
	}
	return r, nil
}

// strokes reads what is to be typed.
func (a TypeArgs) strokes() (strokes, error) {
	switch {
	case a.Text != "" && a.Keys != "":
		return strokes{}, fault.Hintf(fault.Errorf(fault.Usage, "both text and keys are given"), "give one of them; keys may have text in it")
	case a.Keys != "":
		return parseKeys(a.Keys, a.Enter != nil && *a.Enter)
	case a.Text != "":
		return parseText(a.Text, a.Enter)
	}
	return strokes{}, fault.Hintf(fault.Errorf(fault.Usage, "text is missing"), "text \"Enter\" presses Enter alone")
}

// allSeen is an error if there is something that the agent has not seen.
func (t *tty) allSeen() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.end != nil:
		return fault.Hintf(fault.Errorf(fault.NotRunning, "terminal %d: %s", t.number, t.end.exit), "call wait() to see its last output; open() makes a new terminal")
	case t.output > t.seen:
		return unseen(t.number)
	case t.owed:
		return fault.Hintf(fault.Errorf(fault.Busy, "you have not seen what your last keystrokes did in terminal %d, or how it began", t.number), "call wait() first")
	}
	return nil
}

func unseen(number int) error {
	return fault.Hintf(fault.Errorf(fault.Busy, "terminal %d has output that you have not seen", number),
		"call wait() first; to stop a program that prints all the time, type with anyway=true")
}

// send checks that the expected program is in the foreground, and sends
// keystrokes to it. The host checks again, in the step that sends.
func (t *tty) send(ctx context.Context, expect string, keys strokes, anyway bool) (seq, seen uint64, err error) {
	in := wire.InputIf{Inputs: keys.inputs}
	if in.Program, err = t.foreground(ctx, expect); err != nil {
		return 0, 0, err
	}
	now := t.now()
	seen = now.seen
	if !anyway {
		in.After = &seen
	}
	t.typed(keys)
	r, err := t.session.InputIf(ctx, in)
	if err != nil || r.Refused != "" {
		t.unsent(keys, now.owed)
	}
	switch {
	case fault.KindOf(err) == fault.NotRunning:
		return 0, seen, fault.Hintf(fmt.Errorf("terminal %d: %w", t.number, err), "call wait() to see its last output")
	case err != nil:
		return 0, seen, fmt.Errorf("type into terminal %d: %w", t.number, err)
	case r.Refused == wire.RefusedOutput:
		return 0, seen, unseen(t.number)
	case r.Refused != "":
		return 0, seen, t.mismatch(ctx, expect)
	}
	t.sent(r.Seq)
	return r.Seq, seen, nil
}

// foreground returns the process in the foreground that is the expected one, or
// nil where the system does not tell which there are and the terminal was opened
// with the expected command.
func (t *tty) foreground(ctx context.Context, expect string) (*wire.Program, error) {
	f, err := t.session.Foreground(ctx)
	switch fault.KindOf(err) {
	case "":
		t.learn(f)
	case fault.Unsupported:
	case fault.NotRunning:
		return nil, fault.Hintf(fmt.Errorf("terminal %d: %w", t.number, err), "call wait() to see its last output")
	default:
		return nil, fmt.Errorf("ask what runs in terminal %d: %w", t.number, err)
	}
	p, own := expected(expect, t.command, t.hold, f)
	if p == nil && !own {
		return nil, mismatch(t.number, expect, f)
	}
	return p, nil
}

// mismatch says what is in the foreground now.
func (t *tty) mismatch(ctx context.Context, expect string) error {
	f, err := t.session.Foreground(ctx)
	if err != nil {
		f = wire.Foreground{}
	}
	return mismatch(t.number, expect, f)
}

func mismatch(number int, expect string, f wire.Foreground) error {
	is := cmp.Or(currentProgram(f), "something that is not known")
	err := fault.Errorf(fault.Busy, "terminal %d: you expected '%s', but '%s' is running; nothing was sent", number, expect, is)
	return fault.Hintf(err, "call wait() to see what it shows, and expect what is running")
}

func namesOf(p wire.Program) []string { return procname.Names(p.Name, p.Argv) }

// commandLine is a process's command line, with its program's name alone.
func commandLine(p wire.Program) string {
	if len(p.Argv) == 0 {
		return p.Name
	}
	argv := slices.Clone(p.Argv)
	argv[0] = filepath.Base(argv[0])
	return strings.Join(argv, " ")
}

// isWrapper reports whether a process is a shell without a script of its own
// that runs another process of the group.
func isWrapper(p wire.Program, all []wire.Program) bool {
	names := namesOf(p)
	return len(names) > 0 && isShell(names[0]) && slices.ContainsFunc(all, func(other wire.Program) bool { return other.Parent == p.PID })
}

// addressed are the processes of the foreground that keystrokes are for: the
// one that waits for the terminal or, where nobody knows, those that work.
func addressed(f wire.Foreground) []wire.Program {
	for _, p := range f.Programs {
		if p.PID == f.Reader {
			return []wire.Program{p}
		}
	}
	return slices.DeleteFunc(slices.Clone(f.Programs), func(p wire.Program) bool { return isWrapper(p, f.Programs) })
}

// currentProgram is the name of what runs in the foreground, or "".
func currentProgram(f wire.Foreground) string {
	all := addressed(f)
	for _, p := range all {
		if p.PID == f.Group {
			all = []wire.Program{p}
		}
	}
	if len(all) == 0 {
		return ""
	}
	if names := namesOf(all[0]); len(names) > 0 {
		return names[0]
	}
	return ""
}

// expected returns the process of the foreground that goes by a name, or nil.
// own reports that the terminal's own command does: its program is in the
// foreground, and no process goes by the name.
func expected(name, command string, hold bool, f wire.Foreground) (p *wire.Program, own bool) {
	for _, p := range addressed(f) {
		if slices.ContainsFunc(append(namesOf(p), commandLine(p)), func(is string) bool { return strings.EqualFold(is, name) }) {
			return &p, false
		}
	}
	if hold || !isCommand(name, command) {
		return nil, false
	}
	for _, p := range f.Programs {
		if p.PID == f.PID {
			return &p, true
		}
	}
	return nil, len(f.Programs) == 0 // nobody knows what runs there
}

// isCommand reports whether a name is that of the command that a terminal was
// opened with: all of it, or its program.
func isCommand(name, command string) bool {
	command = cmp.Or(command, "bash")
	program, _, _ := strings.Cut(command, " ")
	return strings.EqualFold(name, command) || strings.EqualFold(name, filepath.Base(program))
}
