package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"sync"
	"time"

	"den/internal/base/fault"
)

// client is one connection of a server.
type client struct {
	server   *Server
	raw      *net.UnixConn
	frames   *frames
	requests chan Request // read and not yet answered; at the bound the client is not read from
	den      string       // its build; set by its hello

	// The fields below are guarded by server.mu.
	reserved  bool      // only urgent requests are answered
	asked     bool      // it has had an answer
	answering bool      // a request is being answered
	received  bool      // a request was read and is about to be queued
	stopped   bool      // nothing more is read from it
	idleSince time.Time // of use when it is idle
	charges   []int64   // of the requests after number paid, oldest first
	paid      int       // the charges of this many requests were given back
}

// serve answers one client until it leaves.
func (s *Server) serve(ctx context.Context, raw *net.UnixConn) {
	defer raw.Close() // Best effort: all was said.
	c := &client{server: s, raw: raw, frames: newFrames(raw, MaxRequest), requests: make(chan Request, s.Limits.Queue)}
	c.frames.budget, c.frames.writeLimit = s.budget, s.Limits.Write
	defer s.leave(c)
	if err := c.welcome(); err != nil {
		// Best effort: there is nobody else to tell.
		_ = c.frames.write(Hello{V: s.Version, Den: s.Den, Error: FromError(err)})
		return
	}
	c.converse(ctx)
}

// welcome checks who is there, gives them a place and exchanges versions.
func (c *client) welcome() error {
	s := c.server
	if err := CheckClient(c.raw); err != nil {
		return err
	}
	if err := s.enter(c); err != nil {
		return err
	}
	if err := c.frames.write(Hello{V: s.Version, Den: s.Den, ID: s.ID}); err != nil {
		return err
	}
	if err := c.raw.SetReadDeadline(time.Now().Add(s.Limits.Hello)); err != nil {
		return err
	}
	var theirs Hello
	charge, err := c.frames.read(&theirs)
	s.budget.give(charge)
	if err != nil {
		return err
	}
	if theirs.V != s.Version {
		return fault.Errorf(fault.Protocol, "client speaks protocol %d, this %s speaks %d", theirs.V, s.Kind, s.Version)
	}
	c.den, c.frames.lineLimit = theirs.Den, s.Limits.Line
	return c.raw.SetReadDeadline(time.Time{})
}

// converse answers requests until the client leaves. A second goroutine reads
// them, so that the client's leaving is noticed while one is answered.
func (c *client) converse(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer c.giveBack(math.MaxInt)
	var reader sync.WaitGroup
	defer reader.Wait()
	defer c.raw.Close() // Best effort: it ends the reader's read.
	defer cancel()      // it ends the reader's wait for room in the queue
	reader.Go(func() {
		defer close(c.requests)
		if left := c.read(ctx); left {
			cancel()
		}
	})
	for req := range c.requests {
		if err := c.answer(ctx, req); err != nil {
			return
		}
	}
}

// read queues the client's requests, and reports whether it left.
func (c *client) read(ctx context.Context) (left bool) {
	for number := 1; ; number++ {
		req := Request{number: number}
		charge, err := c.frames.read(&req)
		c.note(charge)
		// Those that have left the queue were answered, but for the newest.
		c.giveBack(number - len(c.requests) - 2)
		if err != nil {
			switch fault.KindOf(err) {
			case fault.Protocol, fault.Busy:
				_ = c.frames.write(answer{Error: FromError(err)}) // Best effort: the client is cut off.
			}
			return !errors.Is(err, io.EOF) || !c.isStopped()
		}
		select {
		case c.requests <- req:
			c.queued()
		case <-ctx.Done():
			return true
		}
	}
}

// answer handles one request. An error ends the connection.
func (c *client) answer(ctx context.Context, req Request) error {
	s := c.server
	if !c.begin() && (s.Urgent == nil || !s.Urgent(req.Method)) {
		full := s.full()
		s.leave(c) // before it is told, so that it finds its place free when it comes back
		return errors.Join(full, c.frames.write(answer{Error: FromError(full)}))
	}
	defer c.end()
	call := &Call{Request: req, Den: c.den, More: c.requests, frames: c.frames, conn: c.raw}
	result, err := s.Handler(ctx, call)
	c.giveBack(req.number) // before the client can send the next
	if err != nil {
		return c.frames.write(answer{Error: FromError(err)})
	}
	err = c.frames.write(answer{Result: result})
	if encode := (*encodeError)(nil); errors.As(err, &encode) {
		err = c.frames.write(answer{Error: FromError(fmt.Errorf("answer %s: %w", req.Method, err))})
	}
	if call.hungUp {
		return errors.Join(errHungUp, err)
	}
	return err
}

// errHungUp ends a connection behind an answer.
var errHungUp = errors.New("the connection ends behind the answer")

// begin reports whether the client's place is one for any request.
func (c *client) begin() bool {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.answering = true
	return !c.reserved
}

func (c *client) end() {
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	c.answering, c.asked, c.idleSince = false, true, time.Now()
	if s.draining {
		c.stopReading()
	}
}

// idle reports whether the client waits for nothing. The caller holds server.mu.
func (c *client) idle() bool {
	return !c.answering && !c.received && len(c.requests) == 0
}

// stopReading makes the reader end after what has arrived already. The caller
// holds server.mu.
func (c *client) stopReading() {
	c.stopped = true
	c.raw.CloseRead() // Best effort: the grace period ends at the latest.
}

func (c *client) isStopped() bool {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	return c.stopped
}

// note keeps what a request was charged until it has been answered.
func (c *client) note(charge int64) {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.charges = append(c.charges, charge)
	c.received = true
}

// queued notes that a request can be answered. It may have been by now, and the
// server begun to drain, which left the client alone because of it.
func (c *client) queued() {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.received = false
	if c.server.draining && c.asked && c.idle() {
		c.stopReading()
	}
}

// giveBack gives back the charges of all requests up to a number. A handler
// takes requests from Call.More without telling, so some are given back later
// than they could.
func (c *client) giveBack(number int) {
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	for ; c.paid < number && len(c.charges) > 0; c.paid++ {
		s.budget.give(c.charges[0])
		c.charges = c.charges[1:]
	}
}
