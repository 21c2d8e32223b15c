package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"den/internal/agent/toolhook"
	"den/internal/base/brief"
	"den/internal/base/build"
	"den/internal/base/environment"
	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/keeper"

	"github.com/spf13/cobra"
)

func (a *app) approvalsCmd() *cobra.Command {
	cmd := a.longFileFlag(&cobra.Command{
		Use:     "approvals",
		Short:   "List what agents ask; approve or deny it, or answer it",
		Example: "  den approvals\n  den approvals approve k3f\n  den approvals deny k3f --why 'use the staging server'\n  den approvals answer k3f 'the second one'",
		Args:    unknownVerb,
		RunE: asking(a, keeper.MethodApprovals, func([]string) any { return keeper.Agent{} },
			func(w io.Writer, all keeper.Approvals) { printApprovals(w, all, time.Now()) }),
	})
	cmd.AddCommand(a.decideCmd("approve", "Allow what an agent asks for"), a.decideCmd("deny", "Refuse what an agent asks for"), a.answerQuestionCmd())
	return cmd
}

func (a *app) decideCmd(option, short string) *cobra.Command {
	d := keeper.Decision{Option: option}
	cmd := a.longFileFlag(&cobra.Command{
		Use: option + " ID", Short: short, Example: "  den approvals " + option + " k3f", Args: args(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d.ID = args[0]
			return a.decide(cmd.Context(), d)
		},
	})
	cmd.Flags().StringVar(&d.Agent, "agent", "", agentThatAsks)
	cmd.Flags().BoolVar(&d.Always, "always", false, "decide requests like this one the same way from now on")
	cmd.Flags().StringVar(&d.Why, "why", "", "the reason, for the agent and the audit log")
	return cmd
}

const agentThatAsks = "the agent that asks, if two requests have the same id"

func (a *app) answerQuestionCmd() *cobra.Command {
	d := keeper.Decision{Option: "answer"}
	cmd := a.longFileFlag(&cobra.Command{
		Use: "answer ID TEXT|-", Short: "Answer a question that an agent asks", Example: "  den approvals answer k3f 'use the staging server'", Args: args(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := a.textOrStdin(cmd.Context(), args[1:])
			if err != nil {
				return err
			}
			d.ID, d.Text = args[0], strings.TrimRight(text, "\n")
			return a.decide(cmd.Context(), d)
		},
	})
	cmd.Flags().StringVar(&d.Agent, "agent", "", agentThatAsks)
	return cmd
}

// decide tells the keeper what this user decides.
func (a *app) decide(ctx context.Context, d keeper.Decision) error {
	d.By = environment.User()
	var decided keeper.Decided
	err := a.keep(ctx, keeper.MethodDecide, d, &decided)
	return a.result(err, approvalDecision{ID: d.ID, Decision: d.Option, Always: decided.Always, Note: decided.Note}, func(w io.Writer) {
		always := ""
		if decided.Always {
			always = ", and the like of it from now on"
		}
		fmt.Fprintf(w, "%s for %s: %s%s\n", decided.State, decided.Agent, decided.Request.What(), always)
		if decided.Note != "" {
			fmt.Fprintln(w, decided.Note)
		}
	})
}

// approvalDecision is what was decided.
type approvalDecision struct {
	ID       string `json:"id"`
	Decision string `json:"decision"`
	Always   bool   `json:"always,omitempty"`
	Note     string `json:"note,omitempty"` // why the like is asked for again
}

func printApprovals(w io.Writer, all keeper.Approvals, now time.Time) {
	for _, name := range all.Unreachable {
		fmt.Fprintf(w, "the harness of '%s' does not answer\n", name)
	}
	if len(all.Approvals) == 0 {
		fmt.Fprintln(w, "nothing waits for a decision")
		return
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "ID\tAGENT\tEXPIRES IN\tWANTS TO\tBECAUSE")
	for _, one := range all.Approvals {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\n", one.ID, one.Agent, brief.Age(one.Expires.Sub(now)), one.Request.What(), one.Asked)
	}
	tw.Flush()
}

const permissionDefaults = `What no rule decides, the default does: reading in the agent's directory, and commands that are
known to only read there, are allowed; changes of files there are with approval = "edits"; its
own permissions are denied; everything else is asked for, or allowed with approval = "bypass",
except files that decide what runs (docs/permissions.md).`

func (a *app) permissionsCmd() *cobra.Command {
	return parentCmd(&cobra.Command{
		Use:     "permissions",
		Short:   "Say which rule decides what an agent may do, and what other rules would have decided",
		Long:    "Say which rule decides what an agent may do, and what other rules would have decided.\n\n" + permissionDefaults,
		Example: "  den permissions explain coder 'git push'\n  den permissions replay --rules looser.toml --since 30d",
	}, a.permissionsExplainCmd(), a.permissionsReplayCmd())
}

func (a *app) permissionsExplainCmd() *cobra.Command {
	ask := keeper.PermissionQuestion{}
	var read, edit []string
	cmd := a.onAgent(&cobra.Command{
		Use:   "explain AGENT [COMMAND]",
		Short: "Say whether an agent may do something, and which rule decides",
		Long: `Say what the policy of an agent decides for a line of shell, or for the files or the address
that the flags name: allow, ask or deny, which rule or default decides it, and why, for each
part of it. Nothing is run, and nobody is asked. The rules are those of the workspace's file
as it is now, with those that 'den approvals approve --always' added. Where the agent's program
decides, and not den, the first line says so.

` + permissionDefaults,
		Example: "  den permissions explain coder 'git push'\n  den permissions explain coder --edit den.toml\n  den permissions explain coder --fetch https://example.org",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || len(args) == 1 && strings.Contains(args[0], " ") {
				return fault.Hintf(fault.Errorf(fault.Usage, "say which agent: its name comes first"), "den permissions explain AGENT 'git push'; 'den ps' lists the agents")
			}
			if len(args) > 2 {
				return fault.Hintf(fault.Errorf(fault.Usage, "what '%s' would do is more than one word: put a command in quotes", args[0]),
					"den permissions explain %s 'git push'; for files and addresses --read PATH, --edit PATH, --fetch https://example.org", args[0])
			}
			ask.Agent = args[0]
			given := 0
			set := func(kind string) {
				given++
				ask.Request.Kind = kind
			}
			if len(args) > 1 {
				set("execute")
				ask.Request.Command = args[1]
			}
			if len(read) > 0 {
				set("read")
				ask.Request.Paths = read
			}
			if len(edit) > 0 {
				set("edit")
				ask.Request.Paths = edit
			}
			if ask.Request.URL != "" {
				set("fetch")
			}
			if given > 1 || given == 0 && ask.Request.Tool == "" {
				return fault.Hintf(fault.Errorf(fault.Usage, "say one thing that '%s' would do: a command, --read, --edit, --fetch, or --tool alone", args[0]), "den permissions explain %s 'git push'", args[0])
			}
			return a.askPolicy(cmd.Context(), "explain", ask)
		},
	})
	cmd.Flags().StringVar(&ask.Request.Tool, "tool", "", "the tool's `NAME` as the agent calls it, for rules that name one; alone for a tool of another kind")
	cmd.Flags().StringArrayVar(&read, "read", nil, "it reads this `PATH`")
	cmd.Flags().StringArrayVar(&edit, "edit", nil, "it changes this `PATH`")
	cmd.Flags().StringVar(&ask.Request.URL, "fetch", "", "it reaches this `URL`")
	cmd.Flags().StringVar(&ask.Request.Dir, "dir", "", "in this `DIR` (default: the agent's)")
	return cmd
}

func (a *app) permissionsReplayCmd() *cobra.Command {
	var since days
	ask := keeper.PermissionReplay{}
	cmd := a.onAgent(&cobra.Command{
		Use:   "replay [AGENT...]",
		Short: "Decide the requests of the audit logs again, by other rules",
		Long: `Decide what agents asked for in the past once more, by the rules of the workspace's file as it
is now or of another file, and say what would be different: how many requests would go from
ask to allow, from allow to deny and so on, with examples, and what people had decided. So
rules can be loosened with evidence. Nothing is changed, and nobody is asked.

FILE has rules as the workspace's file has them, TOML or YAML:
  permissions = [{ outcome = "allow", command = "go test *" }]
They take the place of the file's rules; those that people added with --always stay.`,
		Example: "  den permissions replay\n  den permissions replay coder --rules looser.toml --since 30d",
		RunE: func(cmd *cobra.Command, args []string) error {
			ask.Agents, ask.Since = args, time.Duration(since)
			return a.askPolicy(cmd.Context(), "replay", ask)
		},
	})
	cmd.Flags().StringVar(&ask.Rules, "rules", "", "the `FILE` with other rules")
	cmd.Flags().Var(&since, "since", "only requests at most this old: days, hours, minutes or seconds, as in 30d, 12h, 90m (default: all that are kept)")
	return cmd
}

// askPolicy has the keeper's binary answer, which links what reads shells; den
// itself starts faster without.
func (a *app) askPolicy(ctx context.Context, verb string, question any) error {
	p, err := a.stateDir()
	if err != nil {
		return err
	}
	words, err := json.Marshal(question)
	if err != nil {
		return fmt.Errorf("ask the policy: %w", err)
	}
	var said keeper.PermissionAnswer
	err = a.runKeeperVerb(ctx, p, []string{"permissions", verb, string(words)}, &said)
	return a.result(err, said.Object, func(w io.Writer) { io.WriteString(w, said.Text) })
}

// maxHookInput bounds what a program tells its hook: a file that is written comes
// whole.
const maxHookInput = 8 << 20

// permissionHook is the hook that coding agents run before they use a tool: it
// asks the keeper, and prints what the program takes for an answer. Where the
// keeper cannot be asked, the program asks its user.
func (a *app) permissionHook(words []string) int {
	call, ok := toolhook.ParseCall(words)
	if !ok {
		return a.report(fault.Errorf(fault.Usage, "'den %s' is for den itself", toolhook.Verb))
	}
	ctx, cancel := context.WithTimeout(context.Background(), call.Patience())
	defer cancel()
	judged, err := judge(ctx, call, a.stdin)
	if err != nil {
		fmt.Fprintln(a.stderr, "den:", err)
		judged = keeper.Judged{Outcome: toolhook.Ask, Why: "den's keeper could not be asked: " + err.Error()}
	}
	if _, err := a.stdout.Write(call.Answer(judged.Outcome, judged.Why)); err != nil {
		return a.report(fault.Errorf(fault.KindOf(err), "answer %s: %w", call.Vendor, err))
	}
	return 0
}

func judge(ctx context.Context, call toolhook.Call, stdin io.Reader) (keeper.Judged, error) {
	var judged keeper.Judged
	input, err := io.ReadAll(io.LimitReader(stdin, maxHookInput+1))
	switch {
	case err != nil:
		return judged, fault.Errorf(fault.KindOf(err), "read what %s tells: %w", call.Vendor, err)
	case len(input) > maxHookInput:
		return judged, fault.Errorf(fault.Usage, "%s tells more than %d bytes", call.Vendor, maxHookInput)
	}
	c, err := rpc.Dial(ctx, rpc.Unix(call.Socket), rpc.Target{Version: keeper.Version, Den: build.Version, Name: "the keeper", Hint: "'den down' and 'den up' with one den"})
	if err != nil {
		return judged, err
	}
	defer c.Close() // Best effort: it was answered, or not.
	err = c.Call(ctx, keeper.MethodJudge, keeper.ToolUse{Agent: call.Agent, Vendor: call.Vendor, Moment: call.Moment, Input: input}, &judged)
	return judged, err
}
