package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"

	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/keeper"

	"github.com/spf13/cobra"
)

func (a *app) worktreeCmd() *cobra.Command {
	return parentCmd(&cobra.Command{
		Use:     "worktree",
		Short:   "List the git worktrees of agents, and remove those whose work is merged or pushed",
		Example: "  den worktree list\n  den worktree prune --dry-run",
	}, a.worktreeListCmd(), a.worktreePruneCmd())
}

func (a *app) worktreeListCmd() *cobra.Command {
	return a.fileFlag(&cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the worktrees, what is in them, and whether they may be removed",
		Long:    "List the git worktrees of the workspace's agents, including agents that are no longer in its file. Each line has the\nbranch, the commits ahead of its base and behind it, the uncommitted files, and where the work is or why a prune keeps it.",
		Example: "  den worktree list\n  den worktree ls -j",
		Args:    args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var all keeper.Worktrees
			err := a.askTrees(cmd.Context(), keeper.MethodWorktrees, nil, []string{"list"}, &all)
			return a.result(err, all, func(io.Writer) { a.printTrees(all) })
		},
	})
}

func (a *app) worktreePruneCmd() *cobra.Command {
	var req keeper.Prune
	cmd := a.fileFlag(&cobra.Command{
		Use:   "prune [NAME...]",
		Short: "Remove worktrees whose work is merged in their base or pushed",
		Long: `Remove the worktrees of agents that do not run and whose commits are all in their base or on a
remote, with nothing uncommitted, untracked, stashed or otherwise found only there. All others
stay, and the answer says why. With --ignored, files that git ignores are given up. Commits that
were undone in a tree (reset, amended, rebased) stay as references below refs/den/undone. A branch
that is merged goes, too; one that was only pushed stays, and the agent's next start goes on with it.
den removes no other worktree; 'git worktree remove --force PATH' does.`,
		Example: "  den worktree prune --dry-run\n  den worktree prune worker-3",
		RunE: func(cmd *cobra.Command, names []string) error {
			req.Agents = names
			words := appendIf(req.Ignored, appendIf(req.DryRun, []string{"prune"}, "--dry-run"), "--ignored")
			var done keeper.Worktrees
			err := a.askTrees(cmd.Context(), keeper.MethodPrune, req, append(words, names...), &done)
			return a.result(err, done, func(w io.Writer) { printPruned(w, done) })
		},
		ValidArgsFunction: a.completeAgent,
	})
	cmd.Flags().BoolVar(&req.DryRun, "dry-run", false, "remove nothing, only say what would be")
	cmd.Flags().BoolVar(&req.Ignored, "ignored", false, "give up the files that git ignores")
	return cmd
}

// askTrees asks the workspace's keeper or, where none runs, a process that
// keeps one from starting meanwhile.
func (a *app) askTrees(ctx context.Context, method string, params any, words []string, result *keeper.Worktrees) error {
	p, err := a.stateDir()
	if err != nil {
		return err
	}
	for {
		err := keepAt(ctx, p, method, params, result)
		if kind := fault.KindOf(err); kind != fault.NotRunning && kind != fault.Unreachable {
			return err
		}
		if err := a.runKeeperVerb(ctx, p, append([]string{"worktree"}, words...), result); fault.KindOf(err) != fault.Busy {
			return err
		}
		if err := pauseForKeeper(ctx, p); err != nil {
			return err
		}
	}
}

// runKeeperVerb has dend answer without a keeper.
func (a *app) runKeeperVerb(ctx context.Context, p keeper.StateDir, words []string, result any) error {
	argv, err := a.keeperArgv(p)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, argv[0], append(argv[1:], words...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Env = &out, a.stderr, a.environ
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("run %s: %w", argv[0], err)
	}
	said := struct {
		Result any        `json:"result"`
		Error  *rpc.Error `json:"error"`
	}{Result: result}
	if err := json.Unmarshal(out.Bytes(), &said); err != nil {
		return fault.Errorf(fault.Protocol, "read the answer of %s: %w", argv[0], err)
	}
	if said.Error != nil {
		return said.Error.Err()
	}
	return nil
}

func (a *app) printTrees(all keeper.Worktrees) {
	to := a.sheet()
	rows := [][]span{header("AGENT", "BRANCH", "BASE", "AHEAD", "BEHIND", "CHANGED", "UNTRACKED", "WORK", "PATH")}
	for _, t := range all.Worktrees {
		rows = append(rows, []span{
			{t.Agent, strong}, {text: t.Branch}, {text: t.Base}, {text: fmt.Sprint(t.Ahead)}, {text: fmt.Sprint(t.Behind)},
			{text: fmt.Sprint(t.Changed)}, {text: fmt.Sprint(t.Untracked)}, workSpan(t), {text: t.Path},
		})
	}
	to.table(rows)
	if all.Problem != "" {
		to.line(span{all.Problem, bad})
	}
}

// workSpan says where a worktree's work is, or why it is kept.
func workSpan(t keeper.Worktree) span {
	if t.Keep != "" {
		return span{t.Keep, warning}
	}
	return span{t.Safe, good}
}

func printPruned(w io.Writer, done keeper.Worktrees) {
	for _, t := range done.Worktrees {
		switch {
		case t.Keep != "":
			fmt.Fprintf(w, "kept %s: %s\n", t.Agent, t.Keep)
		case done.DryRun:
			fmt.Fprintf(w, "would remove %s: %s%s\n", t.Agent, t.Safe, ignoredToo(t))
		case t.Removed:
			fmt.Fprintf(w, "removed %s: %s%s\n", t.Agent, t.Safe, ignoredToo(t))
			for _, ref := range t.Undone {
				fmt.Fprintf(w, "  undone in it, and kept: %s\n", ref)
			}
		}
	}
	if len(done.Worktrees) == 0 {
		fmt.Fprintln(w, "no worktrees")
	}
	if done.Problem != "" {
		fmt.Fprintln(w, done.Problem)
	}
}

// ignoredToo tells of files that go with the tree though git did not look at
// them.
func ignoredToo(t keeper.Worktree) string {
	if t.Ignored == 0 {
		return ""
	}
	return fmt.Sprintf(" (with what git ignores: %d)", t.Ignored)
}
