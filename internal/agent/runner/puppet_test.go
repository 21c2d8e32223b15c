package runner_test

import (
	"context"
	"fmt"
	"sync"

	"den/internal/agent/runner"
)

// puppet is a driver whose agent does what a test says.
type puppet struct {
	// open is asked before each session is opened, which is the nth; or nil.
	open func(n int, resume string) error
	// turn is what the agent does with a prompt.
	turn func(s *puppetSession, prompt string, each func(runner.Event)) (runner.Result, error)
	// as makes the session what a test needs besides; or nil.
	as func(*puppetSession) runner.Session

	mu     sync.Mutex // guards opened
	opened int
}

func (*puppet) Name() string { return "puppet" }

func (p *puppet) Open(_ context.Context, o runner.Options) (runner.Session, error) {
	p.mu.Lock()
	p.opened++
	n := p.opened
	p.mu.Unlock()
	if p.open != nil {
		if err := p.open(n, o.Resume); err != nil {
			return nil, err
		}
	}
	s := &puppetSession{puppet: p, id: o.Resume, interrupted: make(chan struct{}, 1), done: make(chan struct{})}
	if s.id == "" {
		s.id = fmt.Sprint("session ", n)
	}
	if p.as != nil {
		return p.as(s), nil
	}
	return s, nil
}

// opens counts the sessions that were opened or tried.
func (p *puppet) opens() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.opened
}

type puppetSession struct {
	puppet      *puppet
	id          string
	interrupted chan struct{} // room for the one that a test needs
	done        chan struct{} // closed by end
	ending      sync.Once
}

func (s *puppetSession) ID() string            { return s.id }
func (s *puppetSession) Done() <-chan struct{} { return s.done }

func (s *puppetSession) Close() runner.Exit {
	s.end()
	return runner.Exit{}
}

// end is the end of the agent's process.
func (s *puppetSession) end() { s.ending.Do(func() { close(s.done) }) }

func (s *puppetSession) Interrupt(context.Context) error {
	select {
	case s.interrupted <- struct{}{}:
	default: // it was interrupted before
	}
	return nil
}

func (s *puppetSession) Turn(_ context.Context, prompt string, each func(runner.Event)) (runner.Result, error) {
	return s.puppet.turn(s, prompt, each)
}

// gone is the failure of an agent whose process ended within a turn.
func (s *puppetSession) gone() error {
	s.end()
	return &runner.Failure{Class: runner.Gone, Message: "killed"}
}
