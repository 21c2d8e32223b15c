package cell_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"den/internal/process/pty"
	"den/internal/screen/vt"
	"den/internal/session/cell"
	"den/internal/testkit/need"
)

const (
	token   = "Token-of_the7tests"
	patient = 2 * time.Minute // for what takes milliseconds on a machine at rest
)

// start is what a shell is started with in a test.
type start struct {
	argv  []string
	files map[string]string // in the home directory
	env   []string          // besides HOME, XDG_RUNTIME_DIR, PATH, TERM and LANG
	plain bool              // without den's marks
	by    []string          // a command that executes the shell, or nil
	cols  int               // 80 unless told
}

// shellSession is a shell on a real terminal.
type shellSession struct {
	t     *testing.T
	home  string
	shell cell.Integration
	tty   *pty.PTY
	pid   int

	mu    sync.Mutex // guards the fields below
	woken *sync.Cond // by output, the end and the clock
	term  *vt.Terminal
	raw   []byte
	marks []vt.Mark // those with our token
	alien []vt.Mark // all others
	ended error     // why nothing more comes, or nil
}

func programPath(t *testing.T, program string) string {
	t.Helper()
	return need.Program(t, program)
}

func open(t *testing.T, c start) *shellSession {
	t.Helper()
	home := t.TempDir()
	for name, text := range c.files {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// Else fish begins to read all man pages.
	if err := os.MkdirAll(filepath.Join(home, ".local/share/fish/generated_completions"), 0o755); err != nil {
		t.Fatal(err)
	}
	// XDG_RUNTIME_DIR: else a fish wakes whenever any other fish changes a
	// universal variable, and drops a Ctrl-C that comes then.
	env := append([]string{"HOME=" + home, "XDG_RUNTIME_DIR=" + home, "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "LANG=C.UTF-8"}, c.env...)
	i := cell.Integration{Argv: c.argv, Env: env}
	if !c.plain {
		var err error
		if i, err = cell.Integrate(c.argv, env, filepath.Join(t.TempDir(), "it's $HOME"), token); err != nil {
			t.Fatal(err)
		}
	}
	cols := c.cols
	if cols == 0 {
		cols = 80
	}
	s := &shellSession{t: t, home: home, shell: i, term: vt.New(vt.Config{Cols: cols, Rows: 24, Scrollback: 1000})}
	s.woken = sync.NewCond(&s.mu)
	tty, err := pty.Open(pty.Size{Cols: cols, Rows: 24})
	if err != nil {
		t.Fatal(err)
	}
	s.tty = tty
	if s.pid, err = tty.Start(pty.Command{Argv: append(c.by, i.Argv...), Env: i.Env, Dir: home}); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		s.read()
	}()
	t.Cleanup(func() {
		syscall.Kill(-s.pid, syscall.SIGKILL) // Best effort.
		tty.Close()
		<-read
		var status syscall.WaitStatus
		syscall.Wait4(s.pid, &status, 0, nil) // Best effort.
		if t.Failed() {
			t.Logf("%s, exit code %d, signal %d; every byte:\n%q\nthe screen:\n%s", c.argv, status.ExitStatus(), status.Signal(), s.raw, s.term.AppendText(nil))
		}
	})
	return s
}

func (s *shellSession) read() {
	buf := make([]byte, 64<<10)
	for {
		n, err := s.tty.Take(buf)
		s.mu.Lock()
		s.raw = append(s.raw, buf[:n]...)
		s.term.Write(buf[:n])
		for _, m := range s.term.TakeMarks() {
			if _, own := cell.OwnMark(m, token); own {
				s.marks = append(s.marks, m)
			} else {
				s.alien = append(s.alien, m)
			}
		}
		reply := s.term.TakeReplies()
		s.ended = err
		s.woken.Broadcast()
		s.mu.Unlock()
		if n > 0 {
			s.tty.Handled()
		}
		if err != nil {
			return
		}
		if len(reply) > 0 {
			s.tty.Write(reply) // Best effort.
		}
	}
}

// await waits until ok, which is called with the lock held.
func (s *shellSession) await(what string, ok func() bool) {
	s.t.Helper()
	late := false
	clock := time.AfterFunc(patient, func() {
		s.mu.Lock()
		late = true
		s.mu.Unlock()
		s.woken.Broadcast()
	})
	defer clock.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for !ok() {
		if late || s.ended != nil {
			s.t.Fatalf("waited in vain for %s; marks: %s; the end: %v", what, show(s.marks), s.ended)
		}
		s.woken.Wait()
	}
}

func (s *shellSession) send(text string) {
	s.t.Helper()
	if _, err := s.tty.Write([]byte(text)); err != nil {
		s.t.Fatal(err)
	}
}

// position is where the marks end now.
func (s *shellSession) position() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.marks)
}

// prompt waits for the B mark of a prompt after the mark number from. From the
// second prompt on, a D comes first.
func (s *shellSession) prompt(from int, first bool) {
	s.t.Helper()
	s.await("a prompt", func() bool {
		back := first
		for _, m := range s.marks[from:] {
			if m.Kind == 'D' {
				back = true
			} else if m.Kind == 'B' && back {
				return true
			}
		}
		return false
	})
}

// ready opens a shell and waits for its first prompt.
func ready(t *testing.T, c start) *shellSession {
	t.Helper()
	s := open(t, c)
	if s.shell.Shell == "" {
		t.Fatalf("%q: not taken for a shell", c.argv)
	}
	s.prompt(0, true)
	return s
}

// A result is what the marks say about one input.
type result struct {
	kinds  string // the marks up to and with the prompt's
	status int    // of the last D
	output string // between a C and the last D before the next
}

// run types a line and waits for the next prompt.
func (s *shellSession) run(line string) result {
	s.t.Helper()
	return s.keys(line + "\r")
}

func (s *shellSession) keys(keys string) result {
	s.t.Helper()
	from := s.position()
	s.send(keys)
	s.prompt(from, false)
	return s.result(from)
}

// result reads the marks from number from up to the next prompt. A prompt that
// is only drawn anew comes before any D, and does not count.
func (s *shellSession) result(from int) (r result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var c *vt.Mark
	back := false
	for i, m := range s.marks[from:] {
		if m.Kind == 'B' && !back {
			continue
		}
		r.kinds += string(m.Kind)
		switch m.Kind {
		case 'C':
			if c == nil {
				c = &s.marks[from+i]
			}
		case 'D':
			back = true
			r.status, _ = cell.OwnMark(m, token)
			if c != nil {
				r.output += s.text(*c, m)
				c = nil
			}
		case 'B':
			return r
		}
	}
	return r
}

// text is what stands between two marks. The caller holds the lock.
func (s *shellSession) text(from, to vt.Mark) string {
	var out strings.Builder
	for line := from.Line; line <= to.Line; line++ {
		row := s.term.Row(int(line - s.term.ScreenLine()))
		start, end := 0, row.Len()
		if line == from.Line {
			start = from.Col
		}
		if line == to.Line {
			end = to.Col
		}
		var cells []byte
		for col := start; col < end; col++ {
			if before := len(cells); row.Width(col) > 0 {
				if cells = row.AppendCell(cells, col); len(cells) == before {
					cells = append(cells, ' ')
				}
			}
		}
		text := string(cells)
		if line < to.Line {
			text = strings.TrimRight(text, " ")
			if !row.Wrapped() {
				text += "\n"
			}
		}
		out.WriteString(text)
	}
	return out.String()
}

func (s *shellSession) screen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b []byte
	for i := -s.term.ScrollbackLen(); i < 0; i++ {
		b = append(s.term.Row(i).AppendText(b), '\n')
	}
	return string(s.term.AppendText(b))
}

// quiet waits until the shell, or what it runs, waits for its user: the one
// way that is the same with marks and without.
func (s *shellSession) quiet() {
	s.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	var last pty.Fingerprint
	var read, same int
	for end := time.Now().Add(patient); same < 3; <-tick.C {
		if time.Now().After(end) {
			s.t.Fatalf("not ready: %+v", s.tty.Probe())
		}
		r := s.tty.Probe()
		s.mu.Lock()
		n := len(s.raw)
		s.mu.Unlock()
		// fish also waits for news of its universal variables: unknown. Then
		// nothing is said of what it has not read.
		rests := r.State == pty.Ready || r.State == pty.Unknown && strings.HasPrefix(r.Command, "fish") && s.tty.Drained()
		if rests && r.Fingerprint == last && n == read {
			same++
		} else {
			same = 0
		}
		last, read = r.Fingerprint, n
	}
}

// exit waits for the end of the shell and returns its status.
func (s *shellSession) exit() int {
	s.t.Helper()
	var status syscall.WaitStatus
	done := make(chan error, 1)
	go func() {
		_, err := syscall.Wait4(s.pid, &status, 0, nil)
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil && !errors.Is(err, syscall.ECHILD) {
			s.t.Fatal(err)
		}
	case <-time.After(patient):
		s.t.Fatal("the shell did not end")
	}
	return status.ExitStatus()
}

func show(marks []vt.Mark) string {
	var out strings.Builder
	for _, m := range marks {
		status, _ := cell.OwnMark(m, token)
		fmt.Fprintf(&out, "%c", m.Kind)
		if m.Kind == 'D' {
			fmt.Fprintf(&out, "%d", status)
		}
		fmt.Fprintf(&out, "@%d,%d ", m.Line, m.Col)
	}
	return out.String()
}
