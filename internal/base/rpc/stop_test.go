package rpc_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"den/internal/base/rpc"
)

// When the listener is closed, those who wait get their answers, those who
// have just come may ask, the others leave at once.
func TestStopLetsClientsFinish(t *testing.T) {
	r := start(t, rpc.Limits{Grace: time.Hour})
	_, answer := r.begin("hold")
	idle, fresh := r.dial(), r.dial()
	r.mustEcho(idle)
	r.listener.Close()
	r.waitForClients(2)
	if err := idle.Call(t.Context(), "echo", 1, nil); !rpc.IsBroken(err) {
		t.Errorf("an idle client: %v", err)
	}
	r.mustEcho(fresh)
	close(r.release)
	if err := <-answer; err != nil {
		t.Errorf("a client that waits: %v", err)
	}
	<-r.served
	if _, err := rpc.Dial(t.Context(), rpc.Unix(r.path), target); err == nil {
		t.Error("it still listens")
	}
}

// What has arrived before the stop is answered, however much it is.
func TestStopAnswersWhatHasArrived(t *testing.T) {
	r := start(t, rpc.Limits{Grace: time.Hour, Queue: 1})
	conn, in := r.raw()
	io.WriteString(conn, `{"v":1}`+"\n"+`{"method":"hold"}`+"\n"+strings.Repeat(`{"method":"echo","params":1}`+"\n", 10))
	<-r.waiting
	r.listener.Close()
	close(r.release)
	all, err := io.ReadAll(in)
	if want := `{"result":"held"}` + "\n" + strings.Repeat(`{"result":1}`+"\n", 10); err != nil || string(all) != want {
		t.Errorf("%q, %v", all, err)
	}
	<-r.served
}

func TestStopCutsOffAfterGrace(t *testing.T) {
	r := start(t, rpc.Limits{Grace: time.Millisecond})
	fresh := r.dial()
	_, answer := r.begin("wait")
	r.listener.Close()
	<-r.left
	if err := <-answer; !rpc.IsBroken(err) {
		t.Errorf("%v", err)
	}
	<-r.served
	if err := fresh.Call(t.Context(), "echo", 1, nil); !rpc.IsBroken(err) {
		t.Errorf("%v", err)
	}
}

// The context ends what is asked, and the clients are told.
func TestContextEndsRequests(t *testing.T) {
	r := start(t, rpc.Limits{Grace: time.Hour})
	_, answer := r.begin("wait")
	r.stop()
	<-r.left
	if err := <-answer; err == nil || rpc.IsBroken(err) || err.Error() != context.Canceled.Error() {
		t.Errorf("%v", err)
	}
}

// A deadline stops the server and keeps the listener: clients that come
// meanwhile are answered when it serves again.
func TestServeAgain(t *testing.T) {
	r := start(t, rpc.Limits{})
	r.mustEcho(r.dial())
	if err := r.listener.SetDeadline(time.Now()); err != nil {
		t.Fatal(err)
	}
	<-r.served
	dialed := make(chan error, 1)
	go func() {
		c, err := rpc.Dial(context.Background(), rpc.Unix(r.path), target)
		if err == nil {
			err = c.Call(context.Background(), "echo", 1, nil)
		}
		dialed <- err
	}()
	if err := r.listener.SetDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	r.serve()
	if err := <-dialed; err != nil {
		t.Error(err)
	}
}
