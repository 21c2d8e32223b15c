package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"den/internal/base/brief"
	"den/internal/base/build"
	"den/internal/base/fault"
	"den/internal/keeper"
	"den/internal/place/sandbox"
	"den/internal/place/workspace"
	"den/internal/session/attention"

	"github.com/spf13/cobra"
)

func (a *app) initCmd() *cobra.Command {
	var example string
	cmd := &cobra.Command{
		Use:     "init [DIR]",
		Short:   "Write a den.toml with example agents",
		Example: "  den init && den up && den ps\n  den init --example team",
		Args:    args(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := writeExample(cmp.Or(first(args), "."), example)
			return a.result(err, map[string]any{"path": path}, func(w io.Writer) {
				fmt.Fprintf(w, "wrote %s; 'den up' starts its agents", path)
				if example == "team" {
					fmt.Fprint(w, ", 'den ps' says how to join their chat")
				}
				fmt.Fprintln(w)
			})
		},
	}
	cmd.Flags().StringVar(&example, "example", "shells", "what to write: `shells`, or team for agents that talk in a channel")
	return cmd
}

func writeExample(dir, example string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fault.Errorf(fault.Usage, "init %s: %w", dir, err)
	}
	if err := os.MkdirAll(abs, 0o755); err != nil {
		return "", fault.Errorf(fault.KindOf(err), "init: %w", err)
	}
	for _, name := range []string{"den.toml", "den.yaml", "den.yml"} {
		if _, err := os.Stat(filepath.Join(abs, name)); err == nil {
			return "", fault.Hintf(fault.Errorf(fault.Busy, "%s is there already", filepath.Join(abs, name)), "'den up' starts its agents")
		}
	}
	_, notInstalled := exec.LookPath("claude")
	text, err := workspace.Example(example, filepath.Base(abs), notInstalled == nil)
	if err != nil {
		return "", err
	}
	path := filepath.Join(abs, "den.toml")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return "", fault.Errorf(fault.KindOf(err), "init: %w", err)
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", fault.Errorf(fault.KindOf(err), "init: %w", err)
	}
	return path, nil
}

// stateDir finds the workspace: the file that was named, or the nearest upwards.
func (a *app) stateDir() (keeper.StateDir, error) {
	file := cmp.Or(a.file, a.getenv("DEN_WORKSPACE"))
	if file == "" {
		var err error
		if file, err = workspace.Find("."); err != nil {
			return keeper.StateDir{}, err
		}
	}
	return keeper.At(file)
}

// identify returns how a workspace is registered with this user.
func (a *app) identify(p keeper.StateDir) (keeper.Registration, error) {
	root, err := a.home()
	if err != nil {
		return keeper.Registration{}, err
	}
	return p.Identify(keeper.Caller{Home: root, Getenv: a.getenv})
}

// keep makes one call to the workspace's keeper.
func (a *app) keep(ctx context.Context, method string, params, result any) error {
	p, err := a.stateDir()
	if err != nil {
		return err
	}
	return keepAt(ctx, p, method, params, result)
}

// keepAt makes one call to the keeper of a workspace.
func keepAt(ctx context.Context, p keeper.StateDir, method string, params, result any) error {
	return onKeeper(ctx, p, func(c *keeper.Client) error { return c.Call(ctx, method, params, result) })
}

// onKeeper connects to the keeper of a workspace.
func onKeeper(ctx context.Context, p keeper.StateDir, do func(c *keeper.Client) error) error {
	c, err := p.Dial(ctx, build.Version)
	if err != nil {
		return err
	}
	defer c.Close() // Best effort: it was answered, or not.
	return do(c)
}

// asking is a verb that makes one call to the workspace's keeper and prints the
// answer.
func asking[T any](a *app, method string, params func(words []string) any, text func(w io.Writer, answer T)) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, words []string) error {
		var answer T
		err := a.keep(cmd.Context(), method, params(words), &answer)
		return a.result(err, answer, func(w io.Writer) { text(w, answer) })
	}
}

// statusOf asks the keeper for an agent, by its name or the last part of it. It
// is nil where no keeper runs, and where the keeper has no such agent.
func statusOf(ctx context.Context, p keeper.StateDir, name string) (found *keeper.AgentStatus, kept bool, err error) {
	c, err := p.Dial(ctx, build.Version)
	if err != nil {
		return nil, false, nil
	}
	defer c.Close() // Best effort: it was answered.
	var ps keeper.Ps
	if err := c.Call(ctx, keeper.MethodPs, keeper.Agent{}, &ps); err != nil {
		return nil, true, err
	}
	for i, s := range ps.Agents {
		if s.Name == name || strings.HasSuffix(s.Name, "/"+name) {
			return &ps.Agents[i], true, nil
		}
	}
	return nil, true, nil
}

// fileFlag names the workspace for every verb that needs one.
func (a *app) fileFlag(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVarP(&a.file, "file", "f", "", fileUsage)
	return cmd
}

// longFileFlag leaves -f to the verb.
func (a *app) longFileFlag(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&a.file, "file", "", fileUsage)
	return cmd
}

// onAgent makes cmd a verb for agents of the workspace.
func (a *app) onAgent(cmd *cobra.Command) *cobra.Command {
	cmd.ValidArgsFunction = a.completeAgent
	return a.longFileFlag(cmd)
}

// first is the first word, or "".
func first(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

const fileUsage = "the workspace's `FILE` (default $DEN_WORKSPACE, else the nearest den.toml or den.yaml upwards)"

func (a *app) psCmd() *cobra.Command {
	return a.colorFlag(a.fileFlag(&cobra.Command{
		Use:     "ps",
		Short:   "Show the wanted and actual state of each agent, and why they differ",
		Example: "  den ps\n  den ps -j",
		Args:    args(0, 0),
		RunE:    asking(a, keeper.MethodPs, func([]string) any { return nil }, func(_ io.Writer, ps keeper.Ps) { printPs(a.sheet(), ps, time.Now()) }),
	}))
}

func printPs(to sheet, ps keeper.Ps, now time.Time) {
	if ps.Problem != "" {
		to.line(span{"the newest configuration is not in force: " + ps.Problem, bad})
	}
	if ps.Ending {
		to.line(span{"the workspace goes down", warning})
	}
	trees := slices.ContainsFunc(ps.Agents, func(s keeper.AgentStatus) bool { return s.Worktree != nil })
	approvals := slices.ContainsFunc(ps.Agents, func(s keeper.AgentStatus) bool { return s.Approval != "" && s.Approval != workspace.ApprovalAsk })
	rows := [][]span{withColumn(approvals, withColumn(trees, header("AGENT", "WANTED", "ACTUAL", "FOR", "RESTARTS", "STATE", "ATTENTION", "SESSION", "WHY"), span{"WORKTREE", faint}), span{"APPROVAL", faint})}
	for _, s := range ps.Agents {
		session := cmp.Or(s.DenSession, s.Session) // what 'den attach' and all others take
		rows = append(rows, withColumn(approvals, withColumn(trees, []span{
			{s.Name, strong}, {text: s.Wanted}, {s.Actual, actualStyle(s.Actual)}, {text: brief.Age(now.Sub(s.Since))},
			{text: fmt.Sprint(s.Restarts)}, {cmp.Or(s.State, "-"), stateStyle(s.State)}, attentionSpan(s.Attention), {text: session}, {text: whyText(s)},
		}, treeSpan(s.Worktree)), approvalSpan(s.Approval)))
	}
	to.table(rows)
	for _, s := range ps.Agents {
		for _, line := range s.Denied {
			to.line(span{s.Name + ", by its sandbox: " + line, warning})
		}
	}
	if ps.Server != nil {
		to.line(span{text: chatText(*ps.Server)})
	}
}

// chatText says how a person joins the channels.
func chatText(s keeper.ChatServer) string {
	switch {
	case s.Socket == "":
		return "chat: " + s.Address
	case s.Nick == "":
		return fmt.Sprintf("chat: irssi -c %s", s.Socket)
	}
	return fmt.Sprintf("chat: irssi -c %s -n %s", s.Socket, s.Nick)
}

// withColumn puts a column before the last one, where it is shown: that of
// worktrees where some agent has one, that of approvals where some agent does not
// ask about everything.
func withColumn(shown bool, row []span, cell span) []span {
	if !shown {
		return row
	}
	return slices.Insert(row, len(row)-1, cell)
}

func approvalSpan(approval string) span {
	switch approval {
	case "":
		return span{"-", faint}
	case workspace.ApprovalBypass, workspace.ApprovalUnknown:
		return span{approval, warning}
	}
	return span{text: approval}
}

func treeSpan(t *keeper.Tree) span {
	if t == nil {
		return span{"-", faint}
	}
	return span{text: t.String()}
}

// whyText says why an agent is as it is, in one line.
func whyText(s keeper.AgentStatus) string {
	why := s.Why
	if s.Step != "" {
		why += ", at step " + s.Step
	}
	if s.StateWhy != "" {
		why = s.StateWhy
	}
	if s.Question != nil {
		why = "asks: " + s.Question.Text
	}
	if s.Budget != nil && s.Budget.Level != "ok" {
		why += "; budget " + s.Budget.Level + ": " + s.Budget.Text
	}
	if s.Nudges > 0 {
		why += fmt.Sprintf(" (nudges that wait: %d)", s.Nudges)
	}
	return strings.ReplaceAll(why, "\n", " ")
}

// The styles of what an agent is, of what it does, and of whether a person is
// needed; others are faint.
func actualStyle(actual string) style {
	switch actual {
	case "running":
		return good
	case "starting", "stopping":
		return warning
	case "quarantined":
		return bad
	case "unknown":
		return odd
	}
	return faint
}

func stateStyle(state string) style {
	switch state {
	case "ready":
		return good
	case "busy", "starting":
		return working
	case "asking":
		return warning
	case "failed":
		return bad
	}
	return faint
}

func attentionStyle(s attention.State) style {
	switch s {
	case attention.Ready:
		return good
	case attention.Busy:
		return working
	case attention.Asking, attention.Done:
		return warning
	case attention.Failed:
		return bad
	}
	return faint
}

// attentionSpan is the column that says whether a person is needed.
func attentionSpan(a attention.Attention) span {
	return span{cmp.Or(string(a.State), "-"), attentionStyle(a.State)}
}

func (a *app) downCmd() *cobra.Command {
	limit := duration(time.Minute)
	cmd := a.fileFlag(&cobra.Command{
		Use:     "down",
		Short:   "End all agents of the workspace and its keeper",
		Long:    "Interrupt the workspace's agents, wait for them to end, kill those that are left, and stop the keeper.\nAgents that a killed keeper left running are ended too. Once begun, it completes even if this command is interrupted.",
		Example: "  den down",
		Args:    args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := a.runDown(cmd.Context(), limit)
			return a.result(err, map[string]any{"status": "down"}, func(w io.Writer) { fmt.Fprintln(w, "down") })
		},
	})
	cmd.Flags().VarP(&limit, "timeout", "t", "how long to wait for the agents to end")
	return cmd
}

// runDown stops the agents, with or without a running keeper. limit is for the
// agents to end: a keeper that is slow to answer has more time, so that it is
// known whether it goes down.
func (a *app) runDown(ctx context.Context, limit duration) error {
	if name := a.getenv(keeper.LeaseMark); name != "" {
		return fault.Hintf(fault.Errorf(fault.Unsupported, "the cluster would start the keeper, and it its agents, again"),
			"'suspended = true' in the file ends all agents; 'kubectl scale deployment %s --replicas=0' ends the keeper, and leaves them", name)
	}
	p, err := a.stateDir()
	if err != nil {
		return err
	}
	if _, err := a.home(); err != nil {
		return err
	}
	for {
		asked := a.askDown(ctx, p, limit)
		if fault.KindOf(asked) != fault.NotRunning {
			return asked
		}
		if _, err := a.identify(p); fault.KindOf(err) == fault.NotFound {
			if a.getenv(sandbox.InsideEnv) != "" {
				return asked // it may be up, and is not seen
			}
			return nil // it never was up
		}
		// Busy: a keeper came, or one is still on its way out.
		ctx, cancel := context.WithTimeout(ctx, patience(limit))
		defer cancel()
		if err := a.endWithoutKeeper(ctx, p); fault.KindOf(err) != fault.Busy {
			return err
		}
		if err := pauseForKeeper(ctx, p); err != nil {
			return err
		}
	}
}

// askDown asks a keeper to go down, and waits for its agents and for itself to
// end.
func (a *app) askDown(ctx context.Context, p keeper.StateDir, limit duration) error {
	c, err := reachKeeper(ctx, p, reachLimit)
	if err != nil {
		return err
	}
	defer c.Close() // Best effort: it was answered, or nobody waits any more.
	down := task{
		method: keeper.MethodDown, reach: reachLimit, unknown: "whether it goes down", limit: time.Duration(limit),
		late: fault.Hintf(fault.Errorf(fault.Timeout, "not all agents have ended within %s", limit.String()), "the keeper goes on ending them; 'den ps' tells which it waits for"),
	}
	if err := down.ask(ctx, p, c, nil); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, reachLimit)
	defer cancel()
	return c.AwaitEnd(ctx)
}

// workspace reads a workspace's file as it is now.
func (a *app) workspace() (keeper.StateDir, *workspace.Workspace, error) {
	p, err := a.stateDir()
	if err != nil {
		return p, nil, err
	}
	ws, err := workspace.Load(p.Config)
	return p, ws, err
}

func (a *app) reloadCmd() *cobra.Command {
	var yes bool
	cmd := a.fileFlag(&cobra.Command{
		Use:     "reload",
		Short:   "Make the keeper reload the workspace's file now",
		Long:    "The keeper reloads the file by itself when it changes. A file with errors changes nothing: the old configuration stays in force, and 'den ps' says why.\nA file that would end more than half of the agents at once is held until --yes confirms it.",
		Example: "  den reload\n  den reload --yes",
		Args:    args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.keep(cmd.Context(), keeper.MethodReload, keeper.Agent{Yes: yes}, nil); err != nil {
				return err
			}
			_, ws, err := a.workspace()
			if err != nil {
				return err
			}
			a.tellApprovals(ws)
			return a.answer(map[string]any{"status": "reloaded"}, func(w io.Writer) { fmt.Fprintln(w, "reloaded") })
		},
	})
	cmd.Flags().BoolVar(&yes, "yes", false, "confirm a file that ends more than half of the agents")
	return cmd
}
