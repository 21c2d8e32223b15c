package remote

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"den/internal/agent/runner"
	"den/internal/agent/runner/remote/holder"
	"den/internal/base/fault"
	"den/internal/place/provider"
)

const (
	// frameLimit is how long a signal may take to be sent. The holder always
	// reads; only an engine that hangs does not.
	frameLimit = 5 * time.Second
	// killLimit is how long a killed process may take to end before its Exec is
	// given up.
	killLimit = 15 * time.Second
)

// process is a command that a holder holds.
type process struct {
	ctx    context.Context // of its Exec
	cancel context.CancelFunc

	theirs [3]*os.File   // Exec's ends: stdin, stdout, stderr
	frames *os.File      // to the holder
	out    *os.File      // from the command, behind the holder's first line
	stdout *bufio.Reader // of out
	errs   *os.File      // the command's errors
	stderr io.Reader     // of errs, with what was read of them before the start was over

	sending    sync.Mutex // one frame at a time; guards inputEnded
	inputEnded bool

	mu    sync.Mutex // guards over
	over  bool
	ended chan struct{} // closed when exit is set
	exit  runner.Exit
}

// run runs the holder to its end.
func (p *process) run(s Spawner) {
	defer p.cancel()
	code, err := s.Exec(p.ctx, provider.ExecSpec{
		Argv: []string{s.Den, holder.Verb}, Stdin: p.theirs[0], Stdout: p.theirs[1], Stderr: p.theirs[2],
	})
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
	switch {
	case err != nil:
		p.exit = runner.Exit{Code: -1, Reason: err.Error()}
	case code > 128 && code < 128+65:
		p.exit = runner.Exit{Code: code, Reason: syscall.Signal(code - 128).String()}
	default:
		p.exit = runner.Exit{Code: code}
	}
	p.frames.Close() // Best effort: nobody reads it any more.
	for _, f := range p.theirs {
		f.Close() // Best effort: all that was written to it can be read.
	}
	close(p.ended)
}

// send sends a frame.
func (p *process) send(kind byte, content []byte) error {
	p.sending.Lock()
	defer p.sending.Unlock()
	if kind == holder.FrameInput && p.inputEnded {
		return os.ErrClosed
	}
	p.inputEnded = p.inputEnded || kind == holder.FrameEnd
	return holder.WriteFrame(p.frames, kind, content)
}

func (p *process) Stdin() io.WriteCloser { return stdin{p} }
func (p *process) Stdout() io.Reader     { return p.stdout }
func (p *process) Stderr() io.Reader     { return p.stderr }

// Signal reaches the command's process group.
func (p *process) Signal(s os.Signal) error {
	sig, ok := s.(syscall.Signal)
	if !ok || sig <= 0 || sig > 127 {
		return fault.Errorf(fault.Usage, "signal %v: not one of this system", s)
	}
	p.mu.Lock()
	over := p.over
	p.mu.Unlock()
	if over {
		return os.ErrProcessDone
	}
	if sig == syscall.SIGKILL {
		late := time.AfterFunc(killLimit, p.giveUp)
		context.AfterFunc(p.ctx, func() { late.Stop() }) // p.ctx ends with the process
	}
	sent := make(chan error, 1)                                           // room for the one
	go func() { sent <- p.send(holder.FrameSignal, []byte{byte(sig)}) }() // ends when it is sent, or with the process
	timer := time.NewTimer(frameLimit)
	defer timer.Stop()
	select {
	case err := <-sent:
		if err != nil {
			return os.ErrProcessDone // nobody reads: it has ended meanwhile
		}
		return nil
	case <-timer.C:
		if sig == syscall.SIGKILL {
			p.giveUp()
		}
		return fault.Errorf(fault.Timeout, "send %v: the place of the process does not take it", sig)
	}
}

func (p *process) Wait() runner.Exit {
	<-p.ended
	return p.exit
}

// giveUp ends the Exec of a process that does not end, whatever it has printed.
func (p *process) giveUp() {
	p.cancel()
	p.out.Close()  // Best effort: who has not read it by now has lost it.
	p.errs.Close() // Best effort, as above.
}

// maxEarly bounds the errors that are kept until a process has started. What is
// beyond waits for its reader, and the start with it.
const maxEarly = 16 << 20

// takeErrors reads the command's errors until the function that it returns is
// called: an engine carries both outputs over one connection, on which the
// holder's answer may come behind more errors than a pipe holds.
func (p *process) takeErrors() (stop func()) {
	read := make(chan []byte, 1) // room for the one
	go func() {                  // ends with stop, or with the process
		all, _ := io.ReadAll(io.LimitReader(p.errs, maxEarly)) // whoever reads on has the error again
		read <- all
	}()
	return func() {
		p.errs.SetReadDeadline(time.Now()) // Best effort: it may be closed, and was read then.
		early := <-read
		p.errs.SetReadDeadline(time.Time{}) // Best effort, as above.
		p.stderr = io.MultiReader(bytes.NewReader(early), p.errs)
	}
}

// abandon ends a process that did not start as it should, and returns what it
// said of it. Without its input the holder ends it, and else the end of Exec.
func (p *process) abandon() (told string) {
	p.frames.Close() // Best effort: it may be closed.
	// What is still written must not hold up the end; nor may it fail, because
	// Exec would then kill the holder before that has ended the command. It ends
	// with the process.
	go io.Copy(io.Discard, p.out)
	read := make(chan string, 1) // room for the one
	go func() {                  // ends with the process
		begin, _ := io.ReadAll(io.LimitReader(p.stderr, 4096)) // Best effort: what there is helps.
		io.Copy(io.Discard, p.stderr)
		read <- string(begin)
	}()
	late := time.AfterFunc(killLimit, p.giveUp)
	defer late.Stop()
	p.Wait()
	told = <-read
	p.errs.Close() // Best effort: it was read to its end.
	p.out.Close()  // Best effort, as above.
	return told
}

// stdin is the command's input.
type stdin struct{ p *process }

// maxPart bounds the input in one frame.
const maxPart = 64 << 10

func (s stdin) Write(b []byte) (written int, err error) {
	for len(b) > 0 {
		n := min(len(b), maxPart)
		if err := s.p.send(holder.FrameInput, b[:n]); err != nil {
			return written, err
		}
		written += n
		b = b[n:]
	}
	return written, nil
}

// Close ends the command's input.
func (s stdin) Close() error { return s.p.send(holder.FrameEnd, nil) }

var _ runner.Process = (*process)(nil)
