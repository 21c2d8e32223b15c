package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"sync"
	"time"

	"den/internal/base/fault"
	"den/internal/place/podhost"

	"github.com/hashicorp/yamux"
)

// HarnessSocket is where an agent in a pod finds its harness; see Relay.
var HarnessSocket = podhost.Place{Dir: denDir}.HarnessSocket()

// Relay has the session's pod listen at HarnessSocket, and serves here who connects
// there, until the context ends. When the stream breaks, or the session gets another
// pod, it begins anew. It tells why it does not work, once for each reason.
func (p *Provider) Relay(ctx context.Context, name string, serve func(net.Conn), trouble func(error)) {
	told := ""
	for pause := firstRetry; ; pause = min(2*pause, lastRetry) {
		begun := time.Now()
		err := p.relay(ctx, name, serve)
		if time.Since(begun) > lastRetry {
			pause, told = firstRetry, "" // it has worked meanwhile
		}
		if ctx.Err() != nil {
			return
		}
		if text := err.Error(); text != told {
			told = text
			trouble(fmt.Errorf("the agent does not reach its harness from its pod: %w", err))
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

func (p *Provider) relay(ctx context.Context, name string, serve func(net.Conn)) error {
	pod, err := p.pod(ctx, name)
	if err != nil {
		return err
	}
	if pod == nil || stateOf(pod).stage != running {
		return fault.Errorf(fault.NotRunning, "session '%s' does not run", name)
	}
	return p.linkTo(pod).relay(ctx, HarnessSocket, serve)
}

// relay has the pod listen at a socket until the context ends, or the stream.
func (l *link) relay(ctx context.Context, path string, serve func(net.Conn)) error {
	l.mu.Lock()
	l.serve = serve
	l.mu.Unlock()
	conn, err := l.open(ctx, podhost.Header{To: podhost.ToSocket, Path: path})
	if err != nil {
		return err
	}
	defer conn.Close() // Best effort: it ends the listening.
	defer context.AfterFunc(ctx, func() { conn.SetReadDeadline(time.Now()) })()
	answers := json.NewDecoder(conn)
	for { // the first says that it listens; then nothing comes but the end
		var told podhost.Progress
		if err := answers.Decode(&told); err != nil {
			return fault.Errorf(fault.Unreachable, "the stream into pod %s broke: %w", l.pod, err)
		}
		if told.Error != nil {
			return told.Error.Err()
		}
	}
}

// accept serves who comes from the pod, until the stream ends. Nobody should come
// where nothing was asked for.
func (l *link) accept(mux *yamux.Session) {
	var open sync.WaitGroup
	defer open.Wait()
	for {
		conn, err := mux.AcceptStream()
		if err != nil {
			return
		}
		l.mu.Lock()
		serve := l.serve
		l.mu.Unlock()
		open.Go(func() {
			defer conn.Close() // Best effort: all was said.
			if serve != nil {
				serve(conn)
			}
		})
	}
}
