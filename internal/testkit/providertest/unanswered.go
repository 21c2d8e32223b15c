package providertest

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
)

// LoseAnswer puts a socket of the test in front of a session's own: it passes
// on the hellos and one request, and in place of the answer calls kill and ends
// the connection.
func LoseAnswer(t *testing.T, socket string, kill func()) {
	t.Helper()
	behind := socket + ".r"
	if err := os.Rename(socket, behind); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	t.Cleanup(func() {
		l.Close() // Best effort: it only ends the goroutine.
		<-over
		os.Remove(behind) // Best effort: the session is gone.
	})
	go func() {
		defer close(over)
		if err := loseAnswer(l, behind, kill); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Errorf("between a session and its caller: %v", err)
		}
	}()
}

func loseAnswer(l net.Listener, behind string, kill func()) error {
	caller, err := l.Accept()
	if err != nil {
		return err
	}
	session, err := net.Dial("unix", behind)
	if err != nil {
		caller.Close() // Best effort: nothing was passed on.
		return err
	}
	var passing sync.WaitGroup
	passing.Go(func() { io.Copy(session, caller) }) // Best effort: it ends with the connections.
	defer func() {
		session.Close() // Best effort: it was killed.
		caller.Close()  // Best effort: this is how the answer is lost.
		passing.Wait()
	}()
	hello := make([]byte, 4096)
	n, err := session.Read(hello)
	if err != nil {
		return err
	}
	if _, err := caller.Write(hello[:n]); err != nil {
		return err
	}
	if _, err := session.Read(hello); err != nil { // the answer
		return err
	}
	kill()
	return nil
}
