package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"den/internal/session"
	"den/internal/session/cell"
	denhome "den/internal/session/home"
	"den/internal/session/wire"

	"github.com/creack/pty"
)

// roundTrip is a program, a line for it, and what comes back.
type roundTrip struct {
	name   string
	argv   []string
	prompt string
	code   string
	output string
	marks  bool // it tells of the end itself
}

var roundTrips = []roundTrip{
	{"bash, 'true'", []string{"bash", "--norc"}, "bare$ ", "true", "", true},
	{"bash, 'echo hello'", []string{"bash", "--norc"}, "bare$ ", "echo hello", "hello", true},
	{"python3, 'print(1)'", []string{"python3", "-q"}, ">>> ", "print(1)", "1", false},
}

// warmCells measures what a cell costs above a bare terminal: a line written
// and read until the prompt is back, against a cell over a connection that is
// open already. Both from this process, in turns.
func (b *bench) warmCells(home *denHome) error {
	for i, r := range roundTrips {
		if _, err := exec.LookPath(r.argv[0]); err != nil {
			b.out.note("%s is missing: no figures for it", r.argv[0])
			continue
		}
		if err := b.warmCell(home, r, fmt.Sprintf("warm%d", i)); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	b.out.note("'warm': from one process, with the terminal and the connection open; a bare terminal has no screen, no log and no exit code")
	return nil
}

func (b *bench) warmCell(home *denHome, r roundTrip, name string) (err error) {
	bare, err := openBare(home.env, r)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bare.close()) }()
	if err := home.do(append([]string{"new", name}, r.argv...)...); err != nil {
		return err
	}
	d, err := denhome.Home{Path: home.dir, Explicit: true}.Find(name)
	if err != nil {
		return err
	}
	c, err := session.Dial(b.ctx, d, "bench")
	if err != nil {
		return err
	}
	defer c.Close()
	floor := b.out.series(r.name+", warm", "bare terminal, until the prompt", "ms", false)
	den := b.out.series(r.name+", warm", "den, a cell over the socket", "ms", false)
	for i := range b.rounds(1000, 100) + 20 {
		if i%50 == 0 {
			b.calm.await()
		}
		plain, err := bare.trip(r)
		if err != nil {
			return err
		}
		begun := time.Now()
		var got cell.Result
		if err := c.Call(b.ctx, wire.MethodRun, wire.Run{Code: r.code, Timeout: 10 * time.Second}, &got); err != nil {
			return err
		}
		took := time.Since(begun)
		if got.Status != cell.Done || got.Output != r.output {
			return fmt.Errorf("%q gave %+v", r.code, got)
		}
		if i >= 20 { // the first ones fill caches
			floor.add(plain.Seconds() * 1000)
			den.add(took.Seconds() * 1000)
		}
	}
	above := den.median() - floor.median()
	if r.marks {
		b.out.aim("a cell in "+r.name+" under 1 ms above the bare terminal", above < 1, "%s ms above", number(above))
	} else {
		b.out.note("a cell in %s is %s ms above the bare terminal: no marks tell of its end, the kernel is asked twice", r.name, number(above))
	}
	return nil
}

// bareTerminal is a program on a terminal that nobody looks after.
type bareTerminal struct {
	cmd *exec.Cmd
	tty *os.File
	buf []byte
}

func openBare(env []string, r roundTrip) (*bareTerminal, error) {
	cmd := exec.Command(r.argv[0], r.argv[1:]...)
	cmd.Env = append(env[:len(env):len(env)], "PS1="+r.prompt, "TERM=xterm-256color")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 120})
	if err != nil {
		return nil, err
	}
	t := &bareTerminal{cmd: cmd, tty: tty, buf: make([]byte, 64<<10)}
	if _, err := t.until(r.prompt); err != nil {
		return nil, errors.Join(err, t.close())
	}
	return t, nil
}

// trip writes the line and returns how long the prompt took to come back.
func (t *bareTerminal) trip(r roundTrip) (time.Duration, error) {
	begun := time.Now()
	if _, err := t.tty.WriteString(r.code + "\r"); err != nil {
		return 0, err
	}
	got, err := t.until(r.prompt)
	took := time.Since(begun)
	if err == nil && !strings.Contains(got, r.output) {
		err = fmt.Errorf("%q gave %q", r.code, got)
	}
	return took, err
}

// until reads until a line of its own begins with the prompt, and nothing
// comes behind that.
func (t *bareTerminal) until(prompt string) (string, error) {
	if err := t.tty.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return "", err
	}
	var all bytes.Buffer
	for {
		n, err := t.tty.Read(t.buf)
		all.Write(t.buf[:n])
		if err != nil {
			return all.String(), fmt.Errorf("the prompt %q does not come back: %w", prompt, err)
		}
		if bytes.HasSuffix(all.Bytes(), []byte(prompt)) {
			return all.String(), nil
		}
	}
}

func (t *bareTerminal) close() error {
	err := t.tty.Close() // hangs up: the program ends
	kill(t.cmd)
	return err
}
