package cli

import (
	"context"
	"fmt"
	"io"
	"os/user"
	"strings"
	"text/tabwriter"
	"time"

	"den/internal/keeper"

	"github.com/spf13/cobra"
)

func (a *app) approvalsCmd() *cobra.Command {
	var file string
	cmd := longFileFlag(&cobra.Command{
		Use:     "approvals",
		Short:   "List what agents ask; approve or deny it, or answer it",
		Example: "  den approvals\n  den approvals approve k3f\n  den approvals deny k3f --why 'use the staging server'\n  den approvals answer k3f 'the second one'",
		GroupID: groupAgent,
		Args:    unknownVerb,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var all keeper.Approvals
			if err := a.keep(cmd.Context(), file, keeper.MethodApprovals, keeper.Agent{}, &all); err != nil {
				return err
			}
			return a.answer(all, func(w io.Writer) { printApprovals(w, all, time.Now()) })
		},
	}, &file)
	cmd.AddCommand(a.decideCmd("approve", "Allow what an agent asks for"), a.decideCmd("deny", "Refuse what an agent asks for"), a.answerQuestionCmd())
	return cmd
}

func (a *app) decideCmd(option, short string) *cobra.Command {
	var file string
	d := keeper.Decision{Option: option}
	cmd := longFileFlag(&cobra.Command{
		Use: option + " ID", Short: short, Example: "  den approvals " + option + " k3f", Args: args(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d.ID = args[0]
			return a.decide(cmd.Context(), file, d)
		},
	}, &file)
	cmd.Flags().StringVar(&d.Agent, "agent", "", agentThatAsks)
	cmd.Flags().BoolVar(&d.Always, "always", false, "decide requests like this one the same way from now on")
	cmd.Flags().StringVar(&d.Why, "why", "", "the reason, for the agent and the audit log")
	return cmd
}

const agentThatAsks = "the agent that asks, if two requests have the same id"

func (a *app) answerQuestionCmd() *cobra.Command {
	var file string
	d := keeper.Decision{Option: "answer"}
	cmd := longFileFlag(&cobra.Command{
		Use: "answer ID TEXT|-", Short: "Answer a question that an agent asks", Example: "  den approvals answer k3f 'use the staging server'", Args: args(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := a.textOrStdin(cmd.Context(), args[1:])
			if err != nil {
				return err
			}
			d.ID, d.Text = args[0], strings.TrimRight(text, "\n")
			return a.decide(cmd.Context(), file, d)
		},
	}, &file)
	cmd.Flags().StringVar(&d.Agent, "agent", "", agentThatAsks)
	return cmd
}

// decide tells the keeper what this user decides.
func (a *app) decide(ctx context.Context, file string, d keeper.Decision) error {
	d.By = userName()
	var decided keeper.Decided
	if err := a.keep(ctx, file, keeper.MethodDecide, d, &decided); err != nil {
		return err
	}
	return a.answer(approvalDecision{ID: d.ID, Decision: d.Option, Always: decided.Always, Note: decided.Note}, func(w io.Writer) {
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

// userName is who decides, for the audit log.
func userName() string {
	u, err := user.Current()
	if err != nil {
		return "a user of this machine"
	}
	return u.Username
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
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\n", one.ID, one.Agent, formatAge(one.Expires.Sub(now)), one.Request.What(), one.Asked)
	}
	tw.Flush()
}
