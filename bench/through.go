package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/creack/pty"
)

// through measures how fast the output of `cat` gets through a session, its
// log written, against tmux and against a loop that only reads.
func through(b *bench) (err error) {
	size := pick(b, 50_000_000, 10_000_000)
	file, err := b.textFile(size)
	if err != nil {
		return err
	}
	p := &pipes{b: b, file: file}
	defer func() { err = errors.Join(err, p.close()) }()
	if err := p.open(); err != nil {
		return err
	}
	const of = "cat 50 MB"
	line := func(who string) *series { return b.out.series(of, who, "MB/s", true) }
	bare, den, tmux := line("bare read loop"), line("den, den wait on a marker"), line("tmux, wait-for")
	denReply, tmuxReply := line("den, until it answers"), line("tmux, until it answers")
	n := 0 // runs so far: their markers differ
	speed := func(run func(n int) error) func() (float64, error) {
		return func() (float64, error) {
			n++
			b.calm.await() // before each: the one before was no rest
			begun := time.Now()
			err := run(n)
			return float64(size) / 1e6 / time.Since(begun).Seconds(), err
		}
	}
	lanes := []lane{{bare, speed(p.bare)}, {den, speed(p.denMarker)}, {denReply, speed(p.denReply)}}
	if p.tmux != nil {
		lanes = append(lanes, lane{tmux, speed(p.tmuxMarker)}, lane{tmuxReply, speed(p.tmuxReply)})
	}
	if err := b.warmRace(b.rounds(11, 3), lanes...); err != nil {
		return err
	}
	compare(den, bare, tmux)
	compare(denReply, tmuxReply)
	share := den.median() / bare.median()
	b.out.note("bytes of the file per second of wall time, from the caller's command to the caller's answer; the terminal adds a CR to each line")
	b.out.note("'until it answers': the program in the terminal asks for the cursor's position behind the file, so nobody looks at the screen meanwhile")
	b.out.aim("at least 60 % of the bare loop", share >= 0.6, "%.0f %%", 100*share)
	if p.tmux != nil {
		b.out.aim("twice tmux", tmux.Ratio >= 2, "%.1f x (%.1f x until it answers)", tmux.Ratio, tmuxReply.Ratio)
	}
	return nil
}

// pipes are the terminals under test. In each runs the same loop, which cats
// the file when a line comes.
type pipes struct {
	b    *bench
	file string

	home   *denHome
	tmux   *tmuxServer
	master *os.File // of the bare loop
	cmd    *exec.Cmd
	buf    []byte
	done   *os.File // a FIFO
	lines  *bufio.Reader
}

// The loops. The first prints a marker behind the file. The second asks the
// terminal where its cursor is, which it can tell only when it has taken in
// all before the question, and says so through a FIFO.
const (
	markerLoop = `while read -r n; do cat "$1"; echo "passed-$n-"; $2; done`
	replyLoop  = `while read -r n; do cat "$1"; printf '\033[6n'; IFS= read -rs -d R _; echo >"$2"; done`
)

func (p *pipes) open() (err error) {
	fifo := filepath.Join(p.b.tmp, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		return err
	}
	// Open for both, so that it neither waits for a writer nor ever ends.
	if p.done, err = os.OpenFile(fifo, os.O_RDWR, 0); err != nil {
		return err
	}
	p.lines = bufio.NewReader(p.done)
	p.buf = make([]byte, 64<<10)
	p.cmd = exec.Command("sh", "-c", markerLoop, "sh", p.file, ":")
	if p.master, err = pty.StartWithSize(p.cmd, &pty.Winsize{Cols: cols, Rows: rows}); err != nil {
		return err
	}
	if p.home, err = p.b.newHome(); err != nil {
		return err
	}
	size := []string{"--cols", fmt.Sprint(cols), "--rows", fmt.Sprint(rows)}
	if err := p.home.do(append(append([]string{"new"}, size...), "marker", "--", "sh", "-c", markerLoop, "sh", p.file, ":")...); err != nil {
		return err
	}
	if err := p.home.do(append(append([]string{"new"}, size...), "reply", "--", "bash", "-c", replyLoop, "bash", p.file, fifo)...); err != nil {
		return err
	}
	if p.tmux, err = p.b.newTmux(); err != nil || p.tmux == nil {
		return err
	}
	size = []string{"-x", fmt.Sprint(cols), "-y", fmt.Sprint(rows)}
	if err := p.tmux.do(append(append([]string{"new-session", "-d", "-s", "marker"}, size...), "sh", "-c", markerLoop, "sh", p.file, p.tmux.bin+" wait-for -S passed")...); err != nil {
		return err
	}
	return p.tmux.do(append(append([]string{"new-session", "-d", "-s", "reply"}, size...), "bash", "-c", replyLoop, "bash", p.file, fifo)...)
}

func (p *pipes) close() error {
	var err error
	if p.master != nil {
		err = p.master.Close()
		kill(p.cmd)
	}
	if p.home != nil {
		err = errors.Join(err, p.home.close())
	}
	if p.done != nil {
		err = errors.Join(err, p.done.Close())
	}
	return errors.Join(err, p.tmux.close())
}

// bare reads into one buffer until the marker comes.
func (p *pipes) bare(n int) error {
	if _, err := fmt.Fprintf(p.master, "%d\n", n); err != nil {
		return err
	}
	marker := fmt.Appendf(nil, "passed-%d-", n)
	tail := make([]byte, 0, 256) // the marker may come in two reads
	for {
		k, err := p.master.Read(p.buf)
		if err != nil {
			return err
		}
		got := p.buf[:k]
		if k > 128 {
			got = got[k-128:]
		}
		tail = append(tail[max(0, len(tail)-128):], got...)
		if bytes.Contains(tail, marker) {
			return nil
		}
	}
}

func (p *pipes) denMarker(n int) error {
	if err := p.home.do("type", "marker", fmt.Sprint(n), "--enter"); err != nil {
		return err
	}
	return p.home.do("wait", "marker", "--text", fmt.Sprintf("passed-%d-", n), "-t", "5m")
}

func (p *pipes) tmuxMarker(n int) error {
	if err := p.tmux.do("send-keys", "-t", "marker", fmt.Sprint(n), "Enter"); err != nil {
		return err
	}
	return p.tmux.do("wait-for", "passed")
}

func (p *pipes) denReply(n int) error {
	if err := p.home.do("type", "reply", fmt.Sprint(n), "--enter"); err != nil {
		return err
	}
	return p.answered()
}

func (p *pipes) tmuxReply(n int) error {
	if err := p.tmux.do("send-keys", "-t", "reply", fmt.Sprint(n), "Enter"); err != nil {
		return err
	}
	return p.answered()
}

func (p *pipes) answered() error {
	p.done.SetReadDeadline(time.Now().Add(5 * time.Minute)) // Best effort: a FIFO can always be polled.
	_, err := p.lines.ReadString('\n')
	if errors.Is(err, io.EOF) {
		return errors.New("the FIFO ended")
	}
	return err
}
