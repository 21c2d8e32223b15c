package rpc_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/testkit/need"
)

// fake is a server that says one thing to everybody and closes.
func fake(t *testing.T, says string) rpc.Dialer {
	t.Helper()
	return func(context.Context) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go io.Copy(io.Discard, theirs)
		go func() { io.WriteString(theirs, says); theirs.Close() }()
		return ours, nil
	}
}

func TestDialTellsWhyNot(t *testing.T) {
	for says, want := range map[string]struct {
		kind fault.Kind
		text string
	}{
		`{"v":2,"den":"newer"}` + "\n":                                           {fault.Protocol, "the rig (den newer) speaks protocol 2, this den speaks 1"},
		`{"v":1,"den":"x","id":"other"}` + "\n":                                  {fault.Unreachable, "another one answers for the rig"},
		`{"v":1,"den":"x","error":{"kind":"busy","message":"no room"}}` + "\n":   {fault.Busy, "no room"},
		`{"v":1,"den":"x","error":{"kind":"denied","message":"not you"}}` + "\n": {fault.Denied, "not you"},
		"HTTP/1.1 400 Bad Request\r\n":                                           {fault.Protocol, "message is not understood"},
		"":                                                                       {fault.Internal, "the connection broke: EOF"},
	} {
		_, err := rpc.Dial(t.Context(), fake(t, says), target)
		if fault.KindOf(err) != want.kind || !strings.Contains(err.Error(), want.text) || rpc.IsBroken(err) != (says == "") {
			t.Errorf("%q: %v (%s)", says, err, fault.KindOf(err))
		}
		if want.kind == fault.Protocol && strings.HasPrefix(says, "{") && fault.HintOf(err) != target.Hint {
			t.Errorf("hint: %q", fault.HintOf(err))
		}
	}
	if _, err := rpc.Dial(t.Context(), rpc.Unix(filepath.Join(t.TempDir(), "none")), target); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no socket: %v", err)
	}
}

func TestDialEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	dial := func(context.Context) (net.Conn, error) {
		ours, theirs := net.Pipe()
		t.Cleanup(func() { theirs.Close() })
		go func() { theirs.Read(make([]byte, 1000)); cancel() }() // reads our hello and says nothing
		return ours, nil
	}
	if _, err := rpc.Dial(ctx, dial, target); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// The server can be reached through a program, as in a container or a pod.
func TestDialThroughProgram(t *testing.T) {
	need.Program(t, "python3")
	r := start(t, rpc.Limits{})
	c, err := rpc.Dial(t.Context(), throughProgram(r.path), target)
	if err != nil {
		t.Fatal(err)
	}
	r.mustEcho(c)
	var n int
	if err := c.Call(t.Context(), "length", strings.Repeat("x", 1<<20), &n); err != nil || n != 1<<20+2 {
		t.Errorf("%d, %v", n, err)
	}
	c.Close()
	r.waitForClients(0)
}

// bridge copies between its streams and a socket.
const bridge = `
import os, socket, sys, threading
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])
def up():
    while b := os.read(0, 65536): s.sendall(b)
    s.shutdown(socket.SHUT_WR)
threading.Thread(target=up, daemon=True).start()
while b := s.recv(65536):
    while b: b = b[os.write(1, b):]
`

// throughProgram joins one end of a pipe to the streams of a program.
func throughProgram(socket string) rpc.Dialer {
	return func(ctx context.Context) (net.Conn, error) {
		ours, theirs := net.Pipe()
		cmd := exec.CommandContext(ctx, "python3", "-c", bridge, socket)
		stdin, err := cmd.StdinPipe()
		if err != nil {
			return nil, err
		}
		cmd.Stdout = theirs
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		go func() { io.Copy(stdin, theirs); stdin.Close(); cmd.Wait() }()
		return ours, nil
	}
}
