package podhost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/base/wake"
	"den/internal/process/pty"

	"github.com/hashicorp/yamux"
)

// verbGrace is how long a verb whose caller left may take to end. Behind its end,
// its last output may take lastOutput.
const (
	verbGrace  = 5 * time.Second
	lastOutput = time.Second
)

// serveVerb runs one command line of den for the connection's other end.
func serveVerb(conn *yamux.Stream, in io.Reader) {
	out := &frames{to: conn}
	v, err := startVerb(in, out)
	v.serve(conn, in, out, err)
}

// serve passes on what both ends say until the verb has ended, and tells how. It
// tells the error of one that could not be started.
func (v *verb) serve(conn *yamux.Stream, in io.Reader, out *frames, err error) {
	end := VerbEnd{}
	if err != nil {
		end.Code, end.Error = fault.ExitCode(err), rpc.FromError(err)
	} else {
		var caller sync.WaitGroup
		caller.Go(func() {
			v.obey(in)
			v.leave()
		})
		caller.Go(func() { // also while the verb takes no input, and nothing is read
			select {
			case <-conn.Session().CloseChan():
				v.leave()
			case <-v.ended:
			}
		})
		end.Code = v.wait()
		_ = conn.SetReadDeadline(time.Now()) // Best effort: it always works.
		caller.Wait()
	}
	_ = out.writeJSON(frameEnd, end) // Best effort: a caller that left does not care.
}

// verb is a command line, or a command of the pod, that runs.
type verb struct {
	input  io.WriteCloser
	resize func(pty.Size) error
	hangUp func()     // asks it to end
	kill   func()     // ends it
	wait   func() int // until it has ended and its output was passed on; returns its code
	ended  chan struct{}
	left   sync.Once
}

func startVerb(in io.Reader, out *frames) (*verb, error) {
	kind, raw, err := readFrame(in)
	if err != nil {
		return nil, fmt.Errorf("read the command line: %w", err)
	}
	var s VerbStart
	if kind != frameStart || json.Unmarshal(raw, &s) != nil {
		return nil, fault.Errorf(fault.Protocol, "the command line is not understood")
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this binary: %w", err)
	}
	argv, env := []string{self}, os.Environ()
	for _, arg := range s.Args {
		argv = append(argv, string(arg))
	}
	for _, kv := range s.Env {
		env = append(env, string(kv))
	}
	if s.Terminal != nil {
		return onTerminal(argv, env, *s.Terminal, out)
	}
	return onPipes(argv, env, out)
}

// onPipes starts a verb whose streams are apart.
func onPipes(argv, env []string, out *frames) (*verb, error) {
	told, tell, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(env, InputMark+"="+strconv.Itoa(inputFD))
	cmd.ExtraFiles = []*os.File{tell}
	cmd.Stdout, cmd.Stderr = out.as(frameOut), out.as(frameErr)
	cmd.WaitDelay = lastOutput
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	_ = tell.Close() // Best effort: it is the verb's.
	if err != nil {
		return nil, errors.Join(err, told.Close())
	}
	v := &verb{
		input: in, ended: make(chan struct{}),
		resize: func(pty.Size) error { return nil },
		hangUp: func() { _ = cmd.Process.Signal(syscall.SIGINT) }, // Best effort: it may have ended.
		kill:   func() { _ = cmd.Process.Kill() },                 // Best effort, as above.
	}
	var wanting sync.WaitGroup
	wanting.Go(func() {
		if n, _ := told.Read(make([]byte, 1)); n > 0 {
			_ = out.write(frameWant, nil) // Best effort: a caller that left does not care.
		}
	})
	v.wait = func() int {
		err := cmd.Wait()
		close(v.ended)
		_ = told.Close() // Best effort: what the verb started may hold the other end.
		wanting.Wait()
		if state := cmd.ProcessState; state != nil {
			return status(state)
		}
		return fault.ExitCode(err)
	}
	return v, nil
}

// onTerminal starts a verb on a terminal of its own.
func onTerminal(argv, env []string, size pty.Size, out *frames) (*verb, error) {
	t, err := pty.Open(size)
	if err != nil {
		return nil, err
	}
	pid, err := t.Start(pty.Command{Argv: argv, Env: env})
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	v := &verb{
		input: terminalInput{t}, resize: t.Resize, ended: make(chan struct{}),
		hangUp: func() { _ = process.Signal(syscall.SIGHUP) }, // Best effort: it may have ended.
		kill:   func() { _ = process.Kill() },                 // Best effort, as above.
	}
	var output sync.WaitGroup
	output.Go(func() { passOn(t, out.as(frameOut)) })
	v.wait = func() int {
		state, err := process.Wait()
		close(v.ended)
		_ = t.SetReadDeadline(time.Now().Add(lastOutput)) // Best effort: what it started may hold the terminal.
		output.Wait()
		_ = t.Close() // Best effort: nobody uses it.
		if err != nil {
			return fault.ExitCode(err)
		}
		return status(state)
	}
	return v, nil
}

// passOn passes a terminal's output on until it hangs up. What cannot be passed
// on is dropped, so that the program ends as it is asked to.
func passOn(t *pty.PTY, to io.Writer) {
	buf := make([]byte, chunk)
	for {
		n, err := t.Take(buf)
		if err != nil {
			return
		}
		_, _ = to.Write(buf[:n])
		t.Handled()
	}
}

// terminalInput is the input of a terminal's program. It has no end of its own.
type terminalInput struct{ *pty.PTY }

func (terminalInput) Close() error { return nil }

// status is a process's exit code, as shells tell it.
func status(s *os.ProcessState) int {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ExitCode()
}

// obey does what the other end says, until it says no more or the verb has ended:
// the input may have no end.
func (v *verb) obey(in io.Reader) {
	for !v.hasEnded() {
		kind, data, err := readFrame(in)
		if err != nil {
			return
		}
		switch kind {
		case frameIn:
			_, err = v.input.Write(data)
		case frameEOF:
			err = v.input.Close()
		case frameSize:
			var size pty.Size
			if json.Unmarshal(data, &size) == nil {
				_ = v.resize(size) // Best effort: it may have ended.
			}
		}
		if err != nil && kind == frameIn {
			_ = v.input.Close() // it reads no more; but it may still say something
		}
	}
}

func (v *verb) hasEnded() bool { return wake.IsClosed(v.ended) }

// leave ends a verb whose caller is gone.
func (v *verb) leave() {
	v.left.Do(func() {
		if v.hasEnded() {
			return
		}
		v.hangUp()
		select {
		case <-v.ended:
		case <-time.After(verbGrace):
			v.kill()
		}
	})
}

// VerbStreams are those of the caller of a verb.
type VerbStreams struct {
	// In is called when the verb reads its input. The channel is closed at the
	// input's end.
	In       func() <-chan []byte
	Out, Err io.Writer
	Size     <-chan pty.Size // of the terminal, when it changes
}

// RunVerb runs a command line of den at the other end of the connection, and
// returns its exit code. When the context ends it is asked to end. An error means
// that it could not be run, or that the connection broke: then nobody knows how
// far it came (see Broken).
func RunVerb(ctx context.Context, conn net.Conn, v VerbStart, s VerbStreams) (int, error) {
	to := &frames{to: conn}
	if err := to.writeJSON(frameStart, v); err != nil {
		_ = conn.Close() // Best effort: it is broken.
		return 0, broke(err)
	}
	sending, stop := context.WithCancel(ctx)
	want := wake.New() // the second has nothing new to say
	if v.Terminal != nil {
		want <- struct{}{}
	}
	var sender sync.WaitGroup
	sender.Go(func() { s.send(sending, to, want) })
	defer func() {
		stop()
		_ = conn.Close() // Best effort: all was said; it ends a send that nobody takes.
		sender.Wait()
	}()
	defer context.AfterFunc(ctx, func() {
		_ = conn.Close()                                                 // asks it to end; what it says still comes
		_ = conn.SetReadDeadline(time.Now().Add(verbGrace + lastOutput)) // Best effort, as above.
	})()
	for {
		kind, data, err := readFrame(conn)
		if err != nil {
			return 0, broke(err)
		}
		switch kind {
		case frameWant:
			want.Set()
		case frameOut:
			_, err = s.Out.Write(data)
		case frameErr:
			_, err = s.Err.Write(data)
		case frameEnd:
			return ended(data)
		}
		if err != nil {
			return 0, fmt.Errorf("write output: %w", err)
		}
	}
}

func ended(data []byte) (int, error) {
	var end VerbEnd
	if err := json.Unmarshal(data, &end); err != nil {
		return 0, fault.Errorf(fault.Protocol, "the verb's end is not understood: %w", err)
	}
	if end.Error != nil {
		return end.Code, end.Error.Err()
	}
	return end.Code, nil
}

// send passes input on. What cannot be sent is noticed where output is read.
func (s VerbStreams) send(ctx context.Context, to *frames, want <-chan struct{}) {
	var in <-chan []byte
	for {
		select {
		case <-want:
			in, want = s.In(), nil
		case data, ok := <-in:
			if !ok {
				in = nil
				_ = to.write(frameEOF, nil)
				continue
			}
			_ = to.write(frameIn, data)
		case size := <-s.Size:
			_ = to.writeJSON(frameSize, size)
		case <-ctx.Done():
			return
		}
	}
}

// Broken reports whether the connection of a verb ended before the verb did.
func Broken(err error) bool { return errors.As(err, &broken{}) }

// broken is a connection that ended before the verb did.
type broken struct{ error }

func (b broken) Unwrap() error { return b.error }

func broke(err error) error {
	return fault.Hintf(fault.Errorf(fault.Unreachable, "the stream to the keeper's pod broke: %w", broken{err}), "how far it came is not known; look before you do it again")
}
