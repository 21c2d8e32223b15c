package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"den/internal/base/brief"
	"den/internal/base/build"
	"den/internal/base/fault"
	"den/internal/base/poll"
	"den/internal/base/rpc"
	"den/internal/keeper"
	"den/internal/place/workspace"
	"den/internal/process/tree"
	"den/internal/session/home"

	"github.com/spf13/cobra"
)

type upOptions struct {
	foreground bool
	wait       bool
	install    bool
	trust      bool
	yes        bool
	timeout    duration
}

// keeperPause is between two looks at a keeper that comes or goes.
const keeperPause = 20 * time.Millisecond

func (a *app) upCmd() *cobra.Command {
	o := upOptions{timeout: duration(time.Minute)}
	cmd := a.fileFlag(&cobra.Command{
		Use:   "up",
		Short: "Start the workspace's keeper and its agents",
		Long: `Start the keeper of a workspace (the nearest den.toml or den.yaml upwards, or -f). It
starts the agents, monitors them and restarts them when they end. The command returns when
the keeper is up or, with --wait, when all agents have come up and run. A keeper that already
runs is kept.
When a workspace that came from elsewhere is started for the first time, den shows what it
would run, and asks. It came from elsewhere if its file is tracked by git or the like, is older
than its place here (as an unpacked one is) or belongs to another user, or if it has a .den of
another machine.
If agents of an earlier keeper run and the file would end more than half of them, it is
refused until --yes confirms it.`,
		Example: "  den up && den ps\n  den up --wait\n  den up --foreground\n  den up --install",
		Args:    args(0, 0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.runUp(cmd.Context(), o) },
	})
	f := cmd.Flags()
	f.BoolVar(&o.foreground, "foreground", false, "run the keeper in the foreground")
	f.BoolVar(&o.wait, "wait", false, "return when all agents run")
	f.BoolVar(&o.install, "install", false, "write a systemd user unit that keeps the workspace up")
	f.BoolVar(&o.trust, "trust", false, "run a workspace that was not made here, such as one that was cloned")
	f.BoolVar(&o.yes, "yes", false, "confirm a file that ends more than half of the agents that run")
	f.VarP(&o.timeout, "timeout", "t", "how long to wait")
	return cmd
}

func (a *app) runUp(ctx context.Context, o upOptions) error {
	// Problems of the file are reported here, not by a keeper that fails to
	// start.
	p, ws, err := a.workspaceToStart(ctx, time.Duration(o.timeout))
	if err != nil {
		return err
	}
	for _, warning := range ws.Warnings {
		fmt.Fprintf(a.stderr, "warning: %s\n", warning)
	}
	a.tellApprovals(ws)
	if err := a.checkTrust(ctx, p, ws, o.trust); err != nil {
		return err
	}
	argv, err := a.keeperArgv(p)
	if err != nil {
		return err
	}
	if o.install {
		return a.install(p, argv)
	}
	argv = appendIf(o.yes, argv, "--yes")
	if o.foreground {
		return a.become(argv)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(o.timeout))
	defer cancel()
	ps, err := a.ensureUp(ctx, p, argv)
	if err == nil && o.wait {
		ps, err = a.awaitAgents(ctx, p, time.Duration(o.timeout))
	}
	if err != nil {
		return err
	}
	return a.answer(ps, func(w io.Writer) {
		agents := "agents"
		if len(ps.Agents) == 1 {
			agents = "agent"
		}
		fmt.Fprintf(w, "the keeper of %s runs, with %d %s\n", ps.Workspace, len(ps.Agents), agents)
	})
}

// tellApprovals names the agents that nobody is asked about, or may not be.
func (a *app) tellApprovals(ws *workspace.Workspace) {
	for _, ag := range ws.Agents {
		if ag.Approval == workspace.ApprovalBypass {
			warning, unkept := "", ""
			if ag.Unguarded() {
				warning, unkept = "warning: ", ", and nothing keeps it from what you can do: sandbox = true or a container does"
			}
			fmt.Fprintf(a.stderr, "%s%s: bypasses permission questions (approval = \"bypass\", %s)%s\n", warning, oneLine(ag.Name, 60), ag.Origin("approval"), unkept)
		} else if shown, why := ag.ShownApproval(); shown == workspace.ApprovalUnknown {
			fmt.Fprintf(a.stderr, "warning: %s: what it asks before it acts is not known to den: %s\n", oneLine(ag.Name, 60), oneLine(why, 200))
		}
	}
}

// workspaceToStart loads the workspace's file. In a cluster's pod the keeper
// puts it there, and may not have yet.
func (a *app) workspaceToStart(ctx context.Context, limit time.Duration) (keeper.StateDir, *workspace.Workspace, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		p, ws, err := a.workspace()
		if fault.KindOf(err) != fault.NotFound || a.getenv(keeper.LeaseMark) == "" {
			return p, ws, err
		}
		if poll.Pause(ctx, keeperPause) != nil {
			return p, ws, err
		}
	}
}

// ensureUp returns once a keeper responds that is not shutting down. One that
// is shutting down is waited for and replaced: 'up' after 'down' starts the
// agents, however long 'down' took.
func (a *app) ensureUp(ctx context.Context, p keeper.StateDir, argv []string) (ps keeper.Ps, err error) {
	for {
		if err := a.ensureKeeper(ctx, p, argv); err != nil {
			return ps, err
		}
		ps = keeper.Ps{} // what is false is not in an answer
		err := keepAt(ctx, p, keeper.MethodPs, nil, &ps)
		switch kind := fault.KindOf(err); {
		case kind == fault.NotRunning || kind == fault.Unreachable: // it ended after it was dialed
		case err != nil || !ps.Ending:
			return ps, err
		}
		if poll.Pause(ctx, keeperPause) != nil {
			return ps, fault.Hintf(fault.Errorf(fault.Timeout, "the keeper of %s is still going down", p.Config), "'den ps' tells which agents it waits for")
		}
	}
}

// ensureKeeper starts a keeper unless one responds. One that holds the lock
// and does not respond is starting or shutting down.
func (a *app) ensureKeeper(ctx context.Context, p keeper.StateDir, argv []string) error {
	for {
		c, err := p.Dial(ctx, build.Version)
		if err == nil {
			return c.Close()
		}
		switch fault.KindOf(err) {
		case fault.NotRunning, fault.Unreachable:
		default:
			return err
		}
		if err := a.startKeeper(ctx, p, argv); fault.KindOf(err) != fault.Busy {
			return err
		}
		if err := pauseForKeeper(ctx, p); err != nil {
			return err
		}
	}
}

// pauseForKeeper waits briefly for a keeper that holds the lock and does not
// respond.
func pauseForKeeper(ctx context.Context, p keeper.StateDir) error {
	if poll.Pause(ctx, keeperPause/2) != nil {
		return fault.Hintf(fault.Errorf(fault.Timeout, "the keeper of %s holds its lock and does not answer", p.Config), "its log is %s", p.Log())
	}
	return nil
}

// endWithoutKeeper stops the agents of a keeper that was killed. It runs dend
// as a keeper that only shuts down.
func (a *app) endWithoutKeeper(ctx context.Context, p keeper.StateDir) error {
	argv, err := a.keeperArgv(p)
	if err != nil {
		return err
	}
	return a.startKeeper(ctx, p, argv, "down")
}

// startKeeper starts dend detached and waits for its reply: that it serves,
// that it has done what verb asks for, or an error. In a cluster's pod it is
// fault.Busy: the cluster starts the keeper.
func (a *app) startKeeper(ctx context.Context, p keeper.StateDir, argv []string, verb ...string) error {
	if a.getenv(keeper.LeaseMark) != "" {
		return fault.Errorf(fault.Busy, "the keeper of %s is the cluster's to start", p.Config)
	}
	if err := p.Make(); err != nil {
		return err
	}
	var answer struct {
		Error *rpc.Error `json:"error"`
	}
	proc, err := tree.Detached{
		Binary: argv[0], Argv: slices.Concat(argv, []string{"--announce"}, verb), Env: keeperEnv(a.environ, p),
		Dir: filepath.Dir(p.Config), Log: p.Log(), Stays: true,
	}.Start(ctx, nil, &answer)
	if err != nil {
		return fault.Hintf(fmt.Errorf("start the keeper: %w", err), "its log is %s", p.Log())
	}
	if answer.Error != nil {
		return errors.Join(answer.Error.Err(), proc.Release())
	}
	if len(verb) > 0 { // it has done all it was started for
		_, err := proc.Wait()
		return err
	}
	return proc.Release()
}

// keeperEnv is the keeper's environment. A keeper that is started inside a
// session is not part of it: it does not bear the session's marks, and is
// marked as hosts are, by an argument of its own, so that it outlives the
// session.
func keeperEnv(environ []string, p keeper.StateDir) []string {
	env := slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		key, _, _ := strings.Cut(kv, "=")
		return key == home.HostMark || key == home.ProgramMark || key == home.SessionMark || key == home.RunnerMark || key == home.RunnerProcessMark || key == "DEN_SESSION"
	})
	return append(env, home.HostMark+"="+p.Config)
}

// lastAnswer bounds the question for what is missing when the time is over.
const lastAnswer = 5 * time.Second

// awaitAgents returns when every agent is where it is wanted. When the time is
// over, the error tells of each that is not.
func (a *app) awaitAgents(ctx context.Context, p keeper.StateDir, limit time.Duration) (ps keeper.Ps, err error) {
	err = keepAt(ctx, p, keeper.MethodPs, keeper.Agent{Wait: true}, &ps)
	if err == nil || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ps, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastAnswer)
	defer cancel()
	ps = keeper.Ps{}
	if now := keepAt(ctx, p, keeper.MethodPs, nil, &ps); now != nil {
		return ps, fault.Errorf(fault.Timeout, "not all agents are up after %v, and the keeper does not tell which: %w", limit, now)
	}
	return ps, notUp(ps.Agents, limit, time.Now())
}

// notUp is an error that tells of every agent that is not where it is wanted,
// nil where each of them is.
func notUp(agents []keeper.AgentStatus, limit time.Duration, now time.Time) error {
	var lines []string
	first := ""
	for _, s := range agents {
		if arrived(s) {
			continue
		}
		first = cmp.Or(first, s.Name)
		lines = append(lines, "  "+progress(s, now))
	}
	if len(lines) == 0 {
		return nil
	}
	return fault.Hintf(fault.Errorf(fault.Timeout, "%d of %d agents are not up after %v; the keeper goes on:\n%s", len(lines), len(agents), limit, strings.Join(lines, "\n")),
		"'den agent peek %s' shows its screen, 'den agent logs %s' what happened; 'den ps' shows all", first, first)
}

// arrived reports whether an agent is where it is wanted.
func arrived(s keeper.AgentStatus) bool {
	if s.Wanted == keeper.Running {
		return s.Actual == keeper.Running || s.Actual == keeper.Finished
	}
	return s.Actual == keeper.Stopped
}

// progress says how far an agent has come, and why no further.
func progress(s keeper.AgentStatus, now time.Time) string {
	text := fmt.Sprintf("%s: %s for %s", s.Name, s.Actual, brief.Age(now.Sub(s.Since)))
	if s.Step != "" {
		text += ", at step " + s.Step
	}
	return text + ": " + s.Why + s.ItsLastLines("    ")
}
