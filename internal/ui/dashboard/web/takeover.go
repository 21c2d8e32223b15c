package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	"den/internal/base/fault"
	"den/internal/keeper"
	"den/internal/screen/keys"
	"den/internal/session"
	"den/internal/session/wire"

	"github.com/coder/websocket"
)

const (
	takePath     = "/take/"
	takeProtocol = "den.take"
	maxTyped     = 64 << 10 // bytes of one message
	maxChords    = 64       // of one message
)

// typed is what a page passes on of a person's keyboard. One field is set.
type typed struct {
	Text  string   `json:"text"`
	Keys  []string `json:"keys"` // chords
	Paste string   `json:"paste"`
}

// input is it for a host, or false for what it would not take.
func (t typed) input() (wire.Input, bool) {
	switch {
	case t.Text != "":
		return wire.Input{Text: &t.Text}, true
	case t.Paste != "":
		return wire.Input{Paste: &t.Paste}, true
	}
	for _, chord := range t.Keys {
		if c, err := keys.Parse(chord); err != nil || c.Times() > 1 {
			return wire.Input{}, false
		}
	}
	return wire.Input{Keys: t.Keys}, len(t.Keys) > 0 && len(t.Keys) <= maxChords
}

// takenState is what a page hears of a terminal that it has taken over.
type takenState struct {
	Typing bool   `json:"typing,omitempty"` // what is typed arrives from now on
	Over   string `json:"over,omitempty"`   // why it does no more
}

// takeOver lets a person type into a session from a page, as an attached
// terminal does. A browser tells a page nothing of a WebSocket that was not
// opened, so what is refused here is told on it.
func (a *actions) takeOver(w http.ResponseWriter, r *http.Request) {
	if no := a.check(r); no != nil {
		writeRefusal(w, no.status, fault.Errorf(fault.Denied, "%s", no.message))
		return
	}
	if r.Header.Get("Upgrade") == "" {
		http.Error(w, "den: this is the address of a WebSocket", http.StatusUpgradeRequired)
		return
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{takeProtocol}})
	if err != nil {
		return // the answer says why
	}
	defer conn.CloseNow() // Best effort: it is over.
	conn.SetReadLimit(maxTyped)
	ctx := r.Context()
	why := "it was left"
	if err := a.take(ctx, conn, r.PathValue("id")); err != nil {
		why = err.Error()
	}
	say(ctx, conn, takenState{Over: why})
	conn.Close(websocket.StatusNormalClosure, "") // Best effort: it ends either way.
}

// take has a person type until the session is over or they leave.
func (a *actions) take(ctx context.Context, conn *websocket.Conn, id string) error {
	select {
	case <-a.taken:
		defer func() { a.taken <- struct{}{} }()
	default:
		return fault.Errorf(fault.Busy, "%d terminals are taken over already: leave one", maxTaken)
	}
	entry := AuditEntry{Action: keeper.ActTakeOver, Session: id}
	opened, err := a.audit.around(entry, func() (any, error) {
		processes, err := callersOf(ctx)
		if err != nil {
			return nil, err
		}
		return a.attach(ctx, id, processes)
	})
	if err != nil {
		return err
	}
	inputs, err := passOn(ctx, conn, opened.(*session.Attachment))
	entry.Event, entry.Inputs = auditLeft, inputs
	if err != nil {
		entry.Why = err.Error()
	}
	if werr := a.audit.write(entry); err == nil {
		err = werr
	}
	return err
}

// attach makes an attachment that leaves the size of the session as it is.
func (a *actions) attach(ctx context.Context, id string, processes []int) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, actionLimit)
	defer cancel()
	s, err := a.vouched(ctx, id, keeper.ActTakeOver, processes)
	if err != nil {
		return nil, err
	}
	status, err := s.HostStatus(ctx)
	if err != nil {
		return nil, err
	}
	return s.Attach(wire.Attach{Cols: status.Cols, Rows: status.Rows}), nil
}

// passOn passes on what is typed, until the program ends or the page goes. The
// screen comes to the page as that of any session does.
func passOn(ctx context.Context, conn *websocket.Conn, to *session.Attachment) (inputs int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var count atomic.Int64
	var left atomic.Bool
	done := make(chan struct{})
	go func() { // ends with the connection, which is waited for below
		defer close(done)
		defer cancel()
		listenTyped(ctx, conn, func(in wire.Input) {
			count.Add(1)
			to.Type(in)
		})
		left.Store(ctx.Err() == nil)
	}()
	told := false
	exit, err := to.Run(ctx, func(wire.Frame) {
		if !told {
			told = true
			say(ctx, conn, takenState{Typing: true})
		}
	})
	switch {
	case left.Load():
		err = nil
	case err == nil && exit != nil:
		err = fault.Errorf(fault.NotRunning, "the program has ended%s", howEnded(exit))
	}
	if err != nil {
		say(ctx, conn, takenState{Over: err.Error()})
	}
	cancel() // the reader ends by it
	<-done
	return int(count.Load()), err
}

func howEnded(e *wire.Exit) string {
	if e.Signal != "" {
		return " by " + e.Signal
	}
	return fmt.Sprintf(" with status %d", e.Code)
}

// listenTyped calls each with what the page passes on, until it leaves.
func listenTyped(ctx context.Context, conn *websocket.Conn, each func(wire.Input)) {
	for {
		_, raw, err := conn.Read(ctx)
		if err != nil {
			return
		}
		var t typed
		decoder := json.NewDecoder(strings.NewReader(string(raw)))
		decoder.DisallowUnknownFields()
		if decoder.Decode(&t) != nil {
			return // no page of den's
		}
		if in, ok := t.input(); ok {
			each(in)
		}
	}
}

// say tells the page. Best effort: one that has gone needs nothing.
func say(ctx context.Context, conn *websocket.Conn, s takenState) {
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	conn.Write(ctx, websocket.MessageText, encode(s))
}
