package podhost

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"time"

	"den/internal/base/fault"
	"den/internal/process/pty"
	"den/internal/process/supervise"

	"github.com/hashicorp/yamux"
)

// drainLimit is how long what a command started may keep its outputs open after
// its end.
const drainLimit = 2 * time.Second

// serveExec runs one command beside the session for the connection's other end.
func (place Place) serveExec(conn *yamux.Stream, in io.Reader) {
	out := &frames{to: conn}
	v, err := place.startExec(in, out)
	v.serve(conn, in, out, err)
}

func (place Place) startExec(in io.Reader, out *frames) (*verb, error) {
	kind, raw, err := readFrame(in)
	if err != nil {
		return nil, fmt.Errorf("read the command: %w", err)
	}
	var c Command
	if kind != frameStart || json.Unmarshal(raw, &c) != nil {
		return nil, fault.Errorf(fault.Protocol, "the command is not understood")
	}
	mark := ExecMark + "=" + c.Mark
	cmd := exec.Command(place.Binary(), Verb, ModeExec, place.Dir, string(raw))
	cmd.Env = append(os.Environ(), mark) // it can be found from its first moment
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out.as(frameOut), out.as(frameErr), drainLimit
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	end := func() { _, _ = supervise.Sweep(context.Background(), mark) } // Best effort: it may have ended.
	v := &verb{input: stdin, ended: make(chan struct{}), resize: func(pty.Size) error { return nil }, hangUp: end, kill: end}
	v.wait = func() int {
		_ = cmd.Wait() // how it ended is in its state
		close(v.ended)
		return status(cmd.ProcessState)
	}
	return v, nil
}

// RunOver runs a command over a connection to ToExec, and returns its status. in
// is nil, or is read to its end unless the command ends first: then a Read may
// still be under way. The stream's end ends the command, and so does that of the
// connection, unless input waits for the command: MethodEndExec always ends it.
func RunOver(conn net.Conn, c Command, in io.Reader, out, errs io.Writer) (code int, err error) {
	to := &frames{to: conn}
	if err := to.writeJSON(frameStart, c); err != nil {
		return 0, cutOff(err)
	}
	go func() { // ends with the input, or with the connection
		if in != nil {
			_, _ = io.Copy(to.as(frameIn), in) // Best effort: a command need not read its input.
		}
		_ = to.write(frameEOF, nil) // Best effort, as above.
	}()
	for {
		kind, data, err := readFrame(conn)
		if err != nil {
			return 0, cutOff(err)
		}
		switch kind {
		case frameOut:
			_, err = out.Write(data)
		case frameErr:
			_, err = errs.Write(data)
		case frameEnd:
			return ended(data)
		}
		if err != nil {
			return 0, err
		}
	}
}

func cutOff(err error) error {
	return fault.Errorf(fault.Unreachable, "the stream to a command broke: %w", err)
}
