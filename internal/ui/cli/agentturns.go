package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"den/internal/agent/harness/turns"
	"den/internal/base/build"
	"den/internal/base/fault"
	"den/internal/keeper"

	"github.com/spf13/cobra"
)

// turnsEvery is how often those who follow a conversation look for what is new.
const turnsEvery = 500 * time.Millisecond

func (a *app) turnsCmd() *cobra.Command {
	var file string
	var follow bool
	var after uint64
	var most int
	cmd := longFileFlag(&cobra.Command{
		Use:   "turns NAME",
		Short: "Print the conversation with an agent that den drives by protocol",
		Long: `Print what was said and done in the turns of an agent that den drives by protocol: who
asked what, what the agent thought, said and used, what it asked permission for and how
that was decided, and how each turn ended. Known kinds of secrets are hidden.
For an agent on a screen den has the recording instead: see 'den agent peek' and 'den dashboard'.`,
		Example: "  den agent turns coder\n  den agent turns coder -f\n  den agent turns coder --after 120 -j",
		Args:    args(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if most < 1 {
				return fault.Errorf(fault.Usage, "-n %d: at least one", most)
			}
			dir, err := a.mindOf(cmd.Context(), file, args[0])
			if err != nil {
				return err
			}
			return a.printTurns(cmd.Context(), dir, after, most, follow)
		},
		ValidArgsFunction: a.completeAgent,
	}, &file)
	cmd.Flags().IntVarP(&most, "lines", "n", 200, "the newest `N` entries at most")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "follow what is said and done")
	cmd.Flags().Uint64Var(&after, "after", 0, "only entries after this `SEQ`")
	return cmd
}

// mindOf is where the harness of an agent keeps its files. The keeper knows, also
// of an agent that has moved; without one its name tells.
func (a *app) mindOf(ctx context.Context, file, name string) (string, error) {
	p, err := a.stateDir(file)
	if err != nil {
		return "", err
	}
	key := name
	if c, err := p.Dial(ctx, build.Version); err == nil {
		defer c.Close() // Best effort: it was answered.
		var ps keeper.Ps
		if err := c.Call(ctx, keeper.MethodPs, keeper.Agent{}, &ps); err != nil {
			return "", err
		}
		if key, err = mindIn(ps, name); err != nil {
			return "", err
		}
	}
	dir := p.Mind(key)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return "", noTurns(name)
	}
	return dir, nil
}

// mindIn finds an agent by its name or the last part of it.
func mindIn(ps keeper.Ps, name string) (string, error) {
	for _, s := range ps.Agents {
		if s.Name == name || strings.HasSuffix(s.Name, "/"+name) {
			if s.Mind == "" {
				return "", noTurns(s.Name)
			}
			return s.Mind, nil
		}
	}
	return "", fault.Hintf(fault.Errorf(fault.NotFound, "no agent '%s' in the workspace", name), "'den ps' lists them")
}

func noTurns(name string) error {
	return fault.Hintf(fault.Errorf(fault.Unsupported, "den keeps no turns of agent '%s': it is not driven by its protocol", name), "'den agent peek %s' shows its terminal", name)
}

func (a *app) printTurns(ctx context.Context, dir string, after uint64, most int, follow bool) error {
	state := ""
	for {
		now, err := turns.State(dir)
		if err != nil {
			return err
		}
		if now != state || !follow {
			page, err := turns.Read(dir, after, 0, most)
			if err != nil {
				return err
			}
			for _, e := range page.Entries {
				if err := a.printTurn(e); err != nil {
					return err
				}
				after = e.Seq
			}
			state = now
		}
		if !follow {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(turnsEvery):
		}
	}
}

func (a *app) printTurn(e turns.Entry) error {
	if a.json {
		return a.printJSON(e)
	}
	text := turnText(e)
	if e.Cut {
		text += " … (cut)"
	}
	_, err := fmt.Fprintf(a.text, "%s %s\n", e.At.Local().Format(time.TimeOnly), strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n         "))
	return err
}

// turnText is an entry for people.
func turnText(e turns.Entry) string {
	switch e.Kind {
	case turns.Prompt:
		return "> " + originText(e) + ": " + e.Text
	case turns.Said:
		return e.Text
	case turns.Thought:
		return "~ " + e.Text
	case turns.Used:
		return "* " + e.Tool + " " + e.Input
	case turns.Result:
		return "  " + resultText(e) + e.Text
	case turns.Asked:
		return "? asks " + e.Approval + ": " + e.Text
	case turns.Decided:
		return "? " + e.Approval + " " + joinWords(e.State, "by", e.By, "", e.Text)
	case turns.Failed:
		return "! failed: " + e.Text + "; den goes on at " + e.Until.Local().Format(time.TimeOnly)
	case turns.Ended:
		return "· " + turnEndText(e)
	}
	return "! " + e.Text
}

// originText says where a prompt comes from.
func originText(e turns.Entry) string {
	if e.From == nil {
		return "den"
	}
	text := joinWords(string(e.From.Kind), "in", e.From.Where, "by", e.From.Who)
	if e.Attempt > 1 {
		text += fmt.Sprintf(", attempt %d", e.Attempt)
	}
	return text
}

func resultText(e turns.Entry) string {
	switch {
	case e.Denied:
		return "denied: "
	case e.Failed:
		return "failed: "
	}
	return ""
}

func turnEndText(e turns.Entry) string {
	parts := []string{(time.Duration(e.TookMs) * time.Millisecond).Round(100 * time.Millisecond).String()}
	if e.Cancelled {
		parts = append(parts, "cancelled")
	}
	if u := e.Usage; u != nil {
		parts = append(parts, fmt.Sprintf("%d tokens in, %d out", u.InputTokens, u.OutputTokens))
		if u.CostUSD > 0 {
			parts = append(parts, fmt.Sprintf("$%.4f", u.CostUSD))
		}
	}
	if e.Failed {
		parts = append(parts, "failed: "+e.Text)
	}
	return strings.Join(parts, ", ")
}

// joinWords is a text and what there is of others, each behind its word.
func joinWords(text string, pairs ...string) string {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			text = strings.TrimSpace(text + " " + strings.TrimSpace(pairs[i]+" "+pairs[i+1]))
		}
	}
	return text
}
