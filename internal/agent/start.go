package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"strings"
	"time"

	"den/internal/agent/conversation"
	"den/internal/base/fault"
	"den/internal/base/ident"
	"den/internal/place/provider"
)

// A step's function returns what it has to say, and how it went; with an
// error, that is Failed.
type stepFunc func(ctx context.Context) (string, Outcome, error)

// Start brings the agent up: files first, then the session, then whatever
// the agent asks before it can work, then the user's commands and the nudge.
// Every step has its own time limit. A step that fails ends the session, and
// its last screen goes with the error. A start that was cut off by the keeper's
// end is gone on with, or begun anew. The slot is given back while the session's
// place is made ready; nil where starts are not counted.
func (m *Managed) Start(ctx context.Context, slot Slot) error {
	defer m.screen.SetStarting(false)
	m.screen.SetStarting(true)
	first, err := m.firstStep(ctx)
	if err != nil {
		return err
	}
	var done []Step
	begun := first == StepPreStart // else it goes on with one that was cut off
	created := !begun
	defer m.forgetSecrets()
	defer m.setStartStep("")
	for _, s := range m.steps(slot) {
		if begun = begun || s.name == first; !begun {
			continue // it was done before the start was cut off
		}
		if s.name == StepPrepare && m.preparer() == nil {
			continue
		}
		m.screen.SetStarting(s.name != StepNudge)
		step, err := m.step(ctx, s.name, s.run)
		done = append(done, step)
		m.record(done)
		if err != nil {
			return m.failed(ctx, done, created, err)
		}
		created = created || s.name == StepCreate || s.name == StepPrepare && m.away() != nil
	}
	if err := m.keepMeta(ctx, MetaFingerprint, m.Fingerprint().String()); err != nil {
		return m.failed(ctx, done, created, err)
	}
	m.screen.Started()
	return nil
}

// A startStep is one step of a start.
type startStep struct {
	name string
	run  stepFunc
}

// steps are those of a start, in order. A place that is not this machine must be
// there before files can be staged in it.
func (m *Managed) steps(slot Slot) []startStep {
	files := []startStep{{StepPreStart, m.preStart}, {StepOverlay, m.overlay}, {StepCopyFiles, m.copyFiles}}
	if m.confine != nil {
		files = append([]startStep{{StepSandbox, m.sandbox}}, files...)
	}
	if m.makeDir != nil {
		files = append([]startStep{{StepWorktree, m.worktree}}, files...)
	}
	prepare := startStep{StepPrepare, m.prepareWithout(slot)}
	if m.away() != nil {
		files = append([]startStep{prepare}, files...)
	} else {
		files = append(files, prepare)
	}
	create := []startStep{{StepCreate, m.create}}
	if m.isConfined() {
		create = m.createConfined()
	}
	return append(append(files, create...),
		startStep{StepDialogs, m.screen.FirstDialogs},
		startStep{StepReady, m.screen.AwaitReady},
		startStep{StepDialogs2, m.screen.LastDialogs},
		startStep{StepAlive, m.alive},
		startStep{StepSetup, m.setup},
		startStep{StepScript, m.script},
		startStep{StepNudge, m.firstNudge},
	)
}

func (m *Managed) step(ctx context.Context, name string, run stepFunc) (Step, error) {
	m.setStartStep(name)
	began := m.clock()
	limited, cancel := context.WithTimeout(ctx, m.limit(name))
	defer cancel()
	var output string
	var outcome Outcome
	err := m.noteStep(limited, name)
	if err == nil {
		output, outcome, err = run(limited)
	}
	output = m.hidden(output)
	if err != nil {
		outcome = Failed
		if limited.Err() != nil && ctx.Err() == nil {
			err = fault.Hintf(fault.Errorf(fault.Timeout, "it took longer than %v: %w", m.limit(name), err), "startup_timeout sets how long a step may take")
		}
	}
	return Step{Name: name, Outcome: outcome, Duration: m.clock().Sub(began), Output: output}, err
}

func (m *Managed) record(steps []Step) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last = append([]Step(nil), steps...)
}

// failed keeps the last screen and then ends what was begun. The caller's
// context may be over: cleaning up has its own time.
func (m *Managed) failed(ctx context.Context, steps []Step, created bool, err error) error {
	e := &StartError{Agent: m.name, Steps: steps, Err: err}
	if !created {
		return e
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
	defer cancel()
	if screen, perr := m.provider.Peek(ctx, m.session, 40); perr == nil {
		e.Screen = m.hidden(screen) // without one, the error says what it can
	}
	if m.confine != nil {
		for _, line := range m.confine.Explain(e.LastText()) {
			e.Err = fmt.Errorf("%w; the sandbox: %s", e.Err, line)
		}
	}
	if exit, xerr := m.Exit(ctx); xerr == nil && exit != nil {
		e.exit = &exit.Code // nil: it runs, or nobody knows
	}
	if serr := m.provider.Stop(ctx, m.session); serr != nil {
		e.Err = fmt.Errorf("%w (and its session could not be ended: %v)", e.Err, serr)
	}
	return e
}

func (m *Managed) create(ctx context.Context) (string, Outcome, error) {
	c, err := m.providerConfig(ctx)
	if err != nil {
		return "", Failed, err
	}
	if m.handIn != nil { // before the source, which may put the command into another
		argv, env, err := m.handIn(c.Argv)
		if err != nil {
			return "", Failed, err
		}
		c.Argv = argv
		maps.Copy(c.Env, env)
	}
	note := m.prepareSource(&c)
	if m.isConfined() {
		c.Argv = m.confined(c.Argv, c.Env)
	}
	c.Meta = map[string]string{MetaLife: ident.New(m.clock()), MetaStarting: m.Fingerprint().String()} // see resume.go
	err = m.provider.Start(ctx, m.session, c)
	if err == nil && m.confine != nil {
		err = m.confine.Started()
	}
	return note, Done, err
}

// prepareSource adds to a start what the source of the agent's state needs,
// and says why it could not.
func (m *Managed) prepareSource(c *provider.Config) string {
	if m.launch == nil {
		return ""
	}
	argv, env, err := m.launch(c.Argv)
	if err != nil {
		return "its state comes from its screen: " + err.Error()
	}
	c.Argv = argv
	maps.Copy(c.Env, env)
	return ""
}

// providerConfig is what the session starts with.
func (m *Managed) providerConfig(ctx context.Context) (provider.Config, error) {
	env, err := m.environ(ctx)
	if err != nil {
		return provider.Config{}, err
	}
	return provider.Config{
		Argv:    m.config.argv(Beacon(m.workspace, m.name, m.clock(), m.config.Prime)),
		WorkDir: m.config.WorkDir, Env: env, Options: m.config.ProviderOptions,
	}, nil
}

// life tells one start of the agent's session from another, "" where that is
// not known.
func (m *Managed) life(ctx context.Context) string {
	id, err := m.provider.GetMeta(ctx, m.session, MetaLife)
	if err != nil {
		return ""
	}
	return id
}

// worktree makes the agent's own place in a repository.
func (m *Managed) worktree(ctx context.Context) (string, Outcome, error) {
	note, err := m.makeDir(ctx)
	return note, Done, err
}

func (m *Managed) preStart(ctx context.Context) (string, Outcome, error) {
	if len(m.config.Hints.PreStart) == 0 {
		return "", Skipped, nil
	}
	// It may be what makes the work directory.
	dir := m.config.WorkDir
	if _, err := os.Stat(dir); err != nil || m.away() != nil {
		dir = ""
	}
	return m.commands(ctx, "pre_start", m.config.Hints.PreStart, dir)
}

func (m *Managed) setup(ctx context.Context) (string, Outcome, error) {
	if len(m.config.Hints.SessionSetup) == 0 {
		return "", Skipped, nil
	}
	return m.commands(ctx, "session_setup", m.config.Hints.SessionSetup, m.config.WorkDir)
}

// commands runs command lines one after the other, with the agent's fields
// filled in.
func (m *Managed) commands(ctx context.Context, what string, lines []string, dir string) (string, Outcome, error) {
	var all strings.Builder
	env, err := m.commandEnv(ctx)
	if err != nil {
		return "", Failed, err
	}
	for _, line := range lines {
		line, err := expand(what, line, varsOf(m.workspace, m.name, m.address(), m.config.WorkDir, m.config.Index))
		if err != nil {
			return all.String(), Failed, err
		}
		output, err := m.runCommand(ctx, m.confined([]string{"sh", "-c", line}, env), dir, env)
		all.WriteString(output)
		if err != nil {
			return all.String(), Failed, err
		}
	}
	return all.String(), Done, nil
}

func (m *Managed) script(ctx context.Context) (string, Outcome, error) {
	path := m.config.Hints.SessionSetupScript
	if path == "" {
		return "", Skipped, nil
	}
	env, err := m.commandEnv(ctx)
	if err != nil {
		return "", Failed, err
	}
	if m.away() != nil {
		output, err := m.runScriptAway(ctx, path, env)
		return output, Done, err
	}
	argv := []string{path}
	if _, err := exec.LookPath(path); errors.Is(err, os.ErrPermission) {
		argv = []string{"sh", path} // not executable: it is a script all the same
	}
	output, err := runCommand(ctx, m.confined(argv, env), m.config.WorkDir, env)
	return output, Done, err
}

func (m *Managed) commandEnv(ctx context.Context) (map[string]string, error) {
	env, err := m.environ(ctx)
	if err == nil {
		env["DEN_AGENT_SESSION"] = m.address()
	}
	return env, err
}

func (m *Managed) overlay(ctx context.Context) (string, Outcome, error) {
	if m.config.Hints.OverlayDir == "" {
		return "", Skipped, nil
	}
	if m.away() != nil {
		output, err := m.stageAway(ctx, m.config.Hints.OverlayDir, ".", provider.StageOptions{KeepExisting: true})
		return output, Done, err
	}
	output, err := overlayDir(ctx, m.config.Hints.OverlayDir, m.config.WorkDir)
	return output, Done, err
}

func (m *Managed) copyFiles(ctx context.Context) (string, Outcome, error) {
	if len(m.config.Hints.CopyFiles) == 0 {
		return "", Skipped, nil
	}
	var all []string
	for _, c := range m.config.Hints.CopyFiles {
		if !localPath(c.Dst) {
			return strings.Join(all, "\n"), Failed, fault.Errorf(fault.Denied, "copy %s: '%s' is not in the work directory", c.Src, c.Dst)
		}
		output, err := m.copyEntry(ctx, c.Src, c.Dst)
		if err != nil {
			return strings.Join(all, "\n"), Failed, err
		}
		all = append(all, c.Dst+": "+output)
	}
	return strings.Join(all, "\n"), Done, nil
}

// firstNudge gives the agent its first words. They are kept before they are
// typed: where it cannot take them in time, they come when it can.
func (m *Managed) firstNudge(ctx context.Context) (string, Outcome, error) {
	if m.config.Nudge == "" {
		return "", Skipped, nil
	}
	id := ""
	if life := m.life(ctx); life != "" {
		id = "start-" + life // a start that goes on says it once
	}
	n, err := m.nudges.AddFirst(id, m.config.Nudge)
	if err != nil {
		return "", Failed, err
	}
	alive, stop := m.whileRunning(ctx)
	n, err = m.Deliver(alive, n.ID)
	if dead := stop(); dead != nil {
		return n.Reason, Failed, dead // a message does not wait for one that ended in its start
	}
	if n.Status == conversation.Queued && (err == nil || errors.Is(err, context.DeadlineExceeded)) {
		return n.Reason, Queued, nil
	}
	return strings.TrimSpace(string(n.Status) + " " + n.Reason), Done, err
}
