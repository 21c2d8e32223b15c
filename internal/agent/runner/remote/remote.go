// Package remote spawns agents' processes where a session provider runs
// commands, such as the agent's container.
package remote

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"strings"

	"den/internal/agent/runner"
	"den/internal/agent/runner/remote/holder"
	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/process/tree"
)

// Spawner starts processes through Exec. Each is held by a den of its own
// there, which ends it when this process ends, however that happens.
type Spawner struct {
	// Exec runs a command where the agent lives, as provider.Execer does.
	Exec func(ctx context.Context, e provider.ExecSpec) (code int, err error)
	// Den is the path of den there. Its directory comes first in the PATH of
	// what is spawned.
	Den string
	// Mark is the same for all processes of one agent, over restarts of den,
	// and differs between agents.
	Mark string
	Env  map[string]string // the agent's own variables
}

// Clean kills what an earlier Spawner with the same mark left behind, and
// returns the number.
func (s Spawner) Clean(ctx context.Context) (int, error) {
	var out, errs bytes.Buffer
	code, err := s.Exec(ctx, provider.ExecSpec{Argv: []string{s.Den, holder.Verb, holder.ModeClean, s.Mark}, Stdout: &out, Stderr: &errs})
	if err != nil {
		return 0, err
	}
	if code != 0 {
		return 0, fault.Errorf(fault.Internal, "end what was left: exit code %d: %s", code, strings.TrimSpace(errs.String()))
	}
	var cleaned holder.Cleaned
	if err := json.Unmarshal(out.Bytes(), &cleaned); err != nil {
		return 0, fault.Errorf(fault.Protocol, "end what was left: %w", err)
	}
	return cleaned.Killed, nil
}

// Spawn starts a command. Its variables, which may be secret, are on no command
// line and in no record of the engine.
func (s Spawner) Spawn(ctx context.Context, c runner.Command) (runner.Process, error) {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return nil, fault.Errorf(fault.Usage, "start an agent: no command is given")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p, err := newProcess()
	if err != nil {
		return nil, fault.Errorf(fault.Internal, "start %s: %w", c.Argv[0], err)
	}
	go p.run(s) // ends with the process; Wait waits for it
	if err := p.start(ctx, s.command(c)); err != nil {
		return nil, p.startError(c.Argv[0], err, p.abandon())
	}
	return p, nil
}

func (s Spawner) command(c runner.Command) holder.Command {
	env := maps.Clone(s.Env)
	if env == nil {
		env = map[string]string{}
	}
	maps.Copy(env, c.Env)
	delete(env, "PATH") // this machine's; there is another where the command runs
	env[tree.RunnerMark] = s.Mark
	env[tree.RunnerProcessMark] = rand.Text()
	return holder.Command{V: holder.Version, Argv: c.Argv, Dir: c.Dir, Env: env, Path: path.Dir(s.Den)}
}

// start sends the command and waits until it runs.
func (p *process) start(ctx context.Context, c holder.Command) error {
	content, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("encode the command: %w", err)
	}
	if err := p.send(holder.FrameCommand, content); err != nil {
		return errNoAnswer // it ended before it read the command: how it ended says why
	}
	type answer struct {
		line []byte
		err  error
	}
	read := make(chan answer, 1) // room for the one
	go func() {                  // ends with the line, or with the process's output
		line, err := p.stdout.ReadBytes('\n')
		read <- answer{line, err}
	}()
	defer p.takeErrors()()
	select {
	case a := <-read:
		return started(a.line, a.err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// started reads the holder's first line.
func started(line []byte, err error) error {
	var s holder.Started
	if err == nil {
		err = json.Unmarshal(line, &s)
	}
	switch {
	case errors.Is(err, io.EOF):
		return errNoAnswer
	case err != nil || s.V != holder.Version:
		return fault.Errorf(fault.Protocol, "read den's answer %.100q: %v", line, err)
	case s.Error != "":
		kind := s.Kind
		if !fault.Known(kind) {
			kind = fault.Internal
		}
		return fault.Errorf(kind, "%s", s.Error)
	}
	return nil
}

// errNoAnswer is that the output ended before it began.
var errNoAnswer = errors.New("den did not answer there")

// startError says why a process that was given up did not start.
func (p *process) startError(program string, err error, told string) error {
	if errors.Is(err, errNoAnswer) {
		exit := p.Wait()
		err = fault.Errorf(fault.Unreachable, "start %s: %w: exit code %d %s", program, errNoAnswer, exit.Code, strings.TrimSpace(exit.Reason+" "+told))
	}
	if fault.KindOf(err) == fault.NotFound {
		return fault.Hintf(err, "install it where the agent lives, or set the agent's command")
	}
	return err
}

// newProcess makes the pipes of a process. They are the system's, so that an
// end of output does not wait for its reader.
func newProcess() (*process, error) {
	var files []*os.File
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			for _, f := range files {
				f.Close() // Best effort: nobody has it.
			}
			return nil, err
		}
		files = append(files, r, w)
	}
	p := &process{theirs: [3]*os.File{files[0], files[3], files[5]}, frames: files[1], out: files[2], errs: files[4], stderr: files[4], ended: make(chan struct{})}
	p.stdout = bufio.NewReader(p.out)
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p, nil
}
