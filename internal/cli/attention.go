package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"den/internal/fault"
	"den/internal/keeper"

	"github.com/spf13/cobra"
)

func (a *app) attentionCmd() *cobra.Command {
	var file string
	var follow bool
	cmd := a.colorFlag(longFileFlag(&cobra.Command{
		Use:   "attention",
		Short: "List everything in the workspace that waits for a person, and the command that decides it",
		Long: `List what waits for a person: requests of agents for permission, questions on the screens of agents,
agents that were given up (quarantined, or their circuit open), budgets that are used up, cells
that ask something in the sessions of agents, and a workspace file that is not in force. Each line
has how long it waits, what is asked, and the command that decides it.

With --follow changes are printed as they come: "+" waits, "~" has changed, "-" is over. With -j each
is an object: "event" is waiting, changed or over, "item" is what waits, and "ended" how a request
for permission ended.`,
		Example: "  den attention\n  den attention --follow\n  den attention -j | jq -r '.waiting[].actions[0].command'",
		GroupID: groupAgent,
		Args:    args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if follow {
				return a.followAttention(cmd.Context(), file)
			}
			var all keeper.Attention
			if err := a.keep(cmd.Context(), file, keeper.MethodAttention, keeper.AttentionFrom{File: file}, &all); err != nil {
				return err
			}
			return a.answer(all, func(io.Writer) { printAttention(a.sheet(), all, time.Now()) })
		},
	}, &file))
	cmd.Flags().BoolVar(&follow, "follow", false, "print changes as they come")
	return cmd
}

func printAttention(to sheet, all keeper.Attention, now time.Time) {
	for _, name := range all.Unreachable {
		to.line(span{fmt.Sprintf("the harness of '%s' does not answer", name), bad})
	}
	if len(all.Waiting) == 0 {
		to.line(span{text: "nothing waits for you"})
		return
	}
	rows := [][]span{header("FOR", "AGENT", "KIND", "WHAT", "DECIDE")}
	for _, w := range all.Waiting {
		rows = append(rows, []span{
			{text: waitingAge(w, now)}, {agentOf(w), strong}, {w.Kind, kindStyle(w.Kind)}, {text: shorten(w.What, maxWhat)}, {text: decideText(w)},
		})
	}
	to.table(rows)
}

// waitingAge says how long something waits, and where it ends by itself when.
func waitingAge(w keeper.Waiting, now time.Time) string {
	age := "-"
	if !w.Since.IsZero() {
		age = formatAge(now.Sub(w.Since))
	}
	if !w.Expires.IsZero() {
		age += ", " + formatAge(w.Expires.Sub(now)) + " left"
	}
	return age
}

func agentOf(w keeper.Waiting) string {
	if w.Agent == "" {
		return "-"
	}
	return w.Agent
}

func kindStyle(kind string) style {
	switch kind {
	case keeper.WaitingQuarantine, keeper.WaitingCircuit, keeper.WaitingFailure, keeper.WaitingEscalation, keeper.WaitingConfig:
		return bad
	}
	return warning
}

// maxWhat bounds what is shown of a question, so that its command is seen; -j
// has it whole.
const maxWhat = 100

func shorten(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}

// decideText is the first command, and what the others do. The first is
// explained where its name says more than the command.
func decideText(w keeper.Waiting) string {
	if len(w.Actions) == 0 {
		return ""
	}
	first := w.Actions[0]
	var notes, others []string
	if strings.Contains(first.Name, " ") {
		notes = append(notes, first.Name)
	}
	for _, action := range w.Actions[1:] {
		others = append(others, action.Name)
	}
	if len(others) > 0 {
		notes = append(notes, "or "+strings.Join(others, ", "))
	}
	if len(notes) == 0 {
		return first.Command
	}
	return first.Command + " (" + strings.Join(notes, "; ") + ")"
}

// attentionChange is a line of 'den attention --follow'.
type attentionChange struct {
	Event string           `json:"event"` // waiting, changed or over
	Item  keeper.Waiting   `json:"item"`
	Ended *keeper.Approval `json:"ended,omitempty"` // how a request for permission ended, where that is known
}

func (a *app) followAttention(ctx context.Context, file string) error {
	p, err := a.stateDir(file)
	if err != nil {
		return err
	}
	c, err := p.Dial(ctx, Version)
	if err != nil {
		return err
	}
	defer c.Close() // Best effort: it was only read.
	var known []keeper.Waiting
	return c.Stream(ctx, keeper.MethodAttention, keeper.AttentionFrom{Follow: true, File: file}, func(raw json.RawMessage) error {
		var now keeper.Attention
		if err := json.Unmarshal(raw, &now); err != nil {
			return fault.Errorf(fault.Protocol, "read what waits: %w", err)
		}
		var changes []attentionChange
		changes, known = attentionChanges(known, now)
		for _, change := range changes {
			if err := a.printChange(change); err != nil {
				return err
			}
		}
		return nil
	})
}

// attentionChanges compares what waited with what waits, and returns what is
// known to wait now. What an agent asks whose harness does not answer is not
// over.
func attentionChanges(before []keeper.Waiting, now keeper.Attention) (changes []attentionChange, known []keeper.Waiting) {
	for _, w := range before {
		at := slices.IndexFunc(now.Waiting, func(x keeper.Waiting) bool { return x.ID == w.ID })
		switch {
		case at >= 0:
			if !reflect.DeepEqual(w, now.Waiting[at]) {
				changes = append(changes, attentionChange{Event: "changed", Item: now.Waiting[at]})
			}
		case slices.Contains(now.Unreachable, w.Agent):
			known = append(known, w)
		default:
			changes = append(changes, attentionChange{Event: "over", Item: w, Ended: endOf(w, now.Recent)})
		}
	}
	for _, w := range now.Waiting {
		if !slices.ContainsFunc(before, func(x keeper.Waiting) bool { return x.ID == w.ID }) {
			changes = append(changes, attentionChange{Event: "waiting", Item: w})
		}
	}
	return changes, append(known, now.Waiting...)
}

// endOf finds how a request for permission ended, or nil.
func endOf(w keeper.Waiting, recent []keeper.Approval) *keeper.Approval {
	if w.Approval == nil {
		return nil
	}
	at := slices.IndexFunc(recent, func(a keeper.Approval) bool { return a.ID == w.Approval.ID && a.Agent == w.Agent })
	if at < 0 {
		return nil
	}
	return &recent[at]
}

func (a *app) printChange(c attentionChange) error {
	if a.json {
		return a.printJSON(c)
	}
	mark := map[string]string{"waiting": "+", "changed": "~", "over": "-"}[c.Event]
	line := []span{{mark + " ", faint}, {agentOf(c.Item), strong}, {" " + c.Item.Kind + " ", kindStyle(c.Item.Kind)}, {text: shorten(c.Item.What, maxWhat)}}
	switch {
	case c.Ended != nil:
		line = append(line, span{text: ": " + endedText(*c.Ended)})
	case c.Event != "over":
		line = append(line, span{"  " + decideText(c.Item), faint})
	}
	a.sheet().line(line...)
	return nil
}

// endedText says how an approval ended.
func endedText(e keeper.Approval) string {
	text := e.State
	if e.By != "" {
		text += " by " + e.By
	}
	if e.Why != "" {
		text += ": " + e.Why
	}
	return text
}
