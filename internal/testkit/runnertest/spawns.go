package runnertest

import (
	"context"
	"io"
	"strings"
	"sync"

	"den/internal/agent/runner"
)

// spawns remembers the processes that were started.
type spawns struct {
	runner.Spawner

	mu    sync.Mutex // guards the fields below
	all   []runner.Process
	part  string
	after func() // or nil: called once, when a line with part was written
}

func (s *spawns) Spawn(ctx context.Context, c runner.Command) (runner.Process, error) {
	p, err := s.Spawner.Spawn(ctx, c)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, p)
	return &watchedProcess{Process: p, spawns: s}, nil
}

func (s *spawns) last() runner.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[len(s.all)-1]
}

// afterWrite calls a function when the driver has written a line.
func (s *spawns) afterWrite(part string, call func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.part, s.after = part, call
}

func (s *spawns) wrote(line string) {
	s.mu.Lock()
	call := s.after
	if call != nil && strings.Contains(line, s.part) {
		s.after = nil
	} else {
		call = nil
	}
	s.mu.Unlock()
	if call != nil {
		call()
	}
}

type watchedProcess struct {
	runner.Process
	spawns *spawns
}

func (p *watchedProcess) Stdin() io.WriteCloser {
	return &watchedInput{WriteCloser: p.Process.Stdin(), spawns: p.spawns}
}

type watchedInput struct {
	io.WriteCloser
	spawns *spawns
}

func (i *watchedInput) Write(line []byte) (int, error) {
	n, err := i.WriteCloser.Write(line)
	i.spawns.wrote(string(line))
	return n, err
}
