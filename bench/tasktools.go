package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// taskTool is what an agent does tasks with.
type taskTool struct {
	name   string
	script func(*task) func(*agent)
	// begin makes the tool ready for a task, and returns what ends its use. The
	// agent does not pay for either.
	begin func(*agent) (end func() error, err error)
}

type taskSuite struct {
	bench  *bench
	env    []string
	home   *denHome
	tmux   *tmuxServer // or nil
	tasks  []*task
	tools  []taskTool
	scores map[taskRun]*score
}

func (b *bench) newTaskSuite() (*taskSuite, error) {
	s := &taskSuite{bench: b, scores: map[taskRun]*score{}}
	if err := s.setEnv(); err != nil {
		return nil, err
	}
	var err error
	if s.home, err = b.newHome(); err != nil {
		return nil, err
	}
	s.home.env = append(s.home.env, s.env...)
	if s.tmux, err = b.newTmux(s.env...); err != nil {
		return nil, err
	}
	s.tools = []taskTool{
		{"den", func(t *task) func(*agent) { return t.cli }, s.beginCLI},
		{whoDen, func(t *task) func(*agent) { return t.mcp }, s.beginMCP},
	}
	if s.tmux != nil {
		s.tools = append(s.tools, taskTool{"tmux", func(t *task) func(*agent) { return t.tmux }, s.beginTmux})
	}
	if os.Getenv(commanderVariable) == "" {
		b.noCommander()
		return s, nil
	}
	s.tools = append(s.tools, taskTool{whoCommander, func(t *task) func(*agent) { return t.commander }, s.beginCommander})
	return s, nil
}

// setEnv makes an environment in which all tools find the same programs: login
// shells, which some of them start, take the system's path.
func (s *taskSuite) setEnv() error {
	home := filepath.Join(s.bench.tmp, "agent")
	if err := errors.Join(os.Mkdir(home, 0o700), writeTaskFiles("bin", home)); err != nil {
		return err
	}
	const system = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	path := strings.Join([]string{home, filepath.Dir(s.bench.den), system, os.Getenv("PATH")}, ":")
	s.env = []string{
		"PATH=" + path, "HOME=" + home, "SHELL=/bin/bash", "LC_ALL=C.UTF-8", "TERM=xterm-256color",
		"GIT_EDITOR=vim", "no_proxy=127.0.0.1",
	}
	return nil
}

func (s *taskSuite) close() error { return errors.Join(s.home.close(), s.tmux.close()) }

func (s *taskSuite) beginCLI(a *agent) (func() error, error) {
	a.env = s.home.env
	return s.home.end, nil
}

func (s *taskSuite) beginMCP(a *agent) (end func() error, err error) {
	if a.mcp, err = startMCP(s.home.env, a.dir, s.home.bin, "mcp"); err != nil {
		return nil, err
	}
	return a.mcp.close, nil
}

func (s *taskSuite) beginTmux(a *agent) (func() error, error) {
	a.env = s.tmux.env
	return func() error {
		s.tmux.do("kill-session", "-t", "t") // Best effort: it may have ended with its program.
		return nil
	}, nil
}

func (s *taskSuite) beginCommander(a *agent) (end func() error, err error) {
	if a.mcp, err = startMCP(cleanEnv(s.env...), a.dir, os.Getenv(commanderVariable), "--no-onboarding"); err != nil {
		return nil, err
	}
	return a.mcp.close, nil
}
