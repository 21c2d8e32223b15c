// Package script drives any program as an agent: it starts one process for each
// turn, writes the prompt to its standard input and reads the answer from its
// standard output.
package script

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"syscall"

	"den/internal/agent/runner"
	"den/internal/base/fault"
)

// maxAnswer bounds what is kept of an answer.
const maxAnswer = 1 << 20

// Driver runs a command for each turn. An exit code that is not 0 is a failed
// turn. The command finds the session's id in DEN_MIND_SESSION.
type Driver struct{}

// Name is "script".
func (Driver) Name() string { return "script" }

// Open checks the command. No process runs between turns.
func (Driver) Open(_ context.Context, o runner.Options) (runner.Session, error) {
	if len(o.Command) == 0 {
		return nil, fault.Hintf(fault.Errorf(fault.Usage, "a scripted agent needs a command"), "set start_command")
	}
	id := o.Resume
	if id == "" {
		id = strings.ToLower(rand.Text())
	}
	return &session{options: o, id: id, done: make(chan struct{})}, nil
}

type session struct {
	options runner.Options
	id      string
	done    chan struct{}

	mu          sync.Mutex // guards the fields below
	process     runner.Process
	interrupted bool
	closed      bool
}

func (s *session) ID() string            { return s.id }
func (s *session) Done() <-chan struct{} { return s.done }

// Turn runs the command.
func (s *session) Turn(ctx context.Context, prompt string, each func(runner.Event)) (runner.Result, error) {
	p, err := s.start(ctx)
	if err != nil {
		return runner.Result{}, err
	}
	stop := context.AfterFunc(ctx, func() { p.Signal(syscall.SIGKILL) }) // Best effort: it may have ended.
	defer stop()
	each(runner.Event{Kind: runner.Accepted})
	go func() { // ends when the program has read it, or has ended
		io.WriteString(p.Stdin(), prompt+"\n") // Best effort: a program need not read.
		p.Stdin().Close()
	}()
	var told bytes.Buffer
	read := make(chan struct{})
	go func() { // ends with the process
		defer close(read)
		io.Copy(&told, io.LimitReader(p.Stderr(), 64<<10))
		io.Copy(io.Discard, p.Stderr())
	}()
	answer, err := readAnswer(p.Stdout())
	exit := p.Wait()
	<-read
	return s.end(ctx, answer, exit, strings.TrimSpace(told.String()), err, each)
}

func (s *session) start(ctx context.Context) (runner.Process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, &runner.Failure{Class: runner.Gone, Message: "the session is closed"}
	}
	env := map[string]string{"DEN_MIND_SESSION": s.id}
	for k, v := range s.options.Env {
		env[k] = v
	}
	p, err := s.options.Spawn.Spawn(ctx, runner.Command{Argv: s.options.Command, Dir: s.options.Dir, Env: env})
	if err != nil {
		return nil, &runner.Failure{Class: runner.Bug, Message: err.Error()}
	}
	s.process, s.interrupted = p, false
	return p, nil
}

func readAnswer(r io.Reader) (string, error) {
	answer, err := io.ReadAll(io.LimitReader(r, maxAnswer))
	if err == nil {
		_, err = io.Copy(io.Discard, r)
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(answer), "\uFFFD")), err
}

func (s *session) end(ctx context.Context, answer string, exit runner.Exit, told string, err error, each func(runner.Event)) (runner.Result, error) {
	s.mu.Lock()
	interrupted := s.interrupted
	s.process = nil
	s.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return runner.Result{}, ctx.Err()
	case interrupted:
		return runner.Result{Text: answer, Cancelled: true}, nil
	case err != nil && !errors.Is(err, io.EOF):
		return runner.Result{}, &runner.Failure{Class: runner.Bug, Message: err.Error()}
	case exit.Code > 128:
		return runner.Result{}, &runner.Failure{Class: runner.Gone, Message: fmt.Sprintf("exit code %d %s", exit.Code, told)}
	case exit.Code != 0:
		return runner.Result{}, &runner.Failure{Class: runner.Bug, Message: strings.TrimSpace(fmt.Sprintf("exit code %d %s", exit.Code, told))}
	}
	if answer != "" {
		each(runner.Event{Kind: runner.Spoke, Message: runner.Say("", answer)})
	}
	return runner.Result{Text: answer}, nil
}

// Interrupt ends the command of the turn.
func (s *session) Interrupt(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interrupted = true
	if s.process != nil {
		s.process.Signal(syscall.SIGTERM) // Best effort: it may have ended, which is what was asked for.
	}
	return nil
}

// Close ends the command, if one runs.
func (s *session) Close() runner.Exit {
	s.mu.Lock()
	p, closed := s.process, s.closed
	s.closed = true
	s.mu.Unlock()
	if p != nil {
		p.Signal(syscall.SIGKILL) // Best effort: it may have ended.
		p.Wait()
	}
	if !closed {
		close(s.done)
	}
	return runner.Exit{}
}
