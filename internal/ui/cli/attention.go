package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"time"

	"den/internal/base/brief"
	"den/internal/base/fault"
	"den/internal/keeper"
	"den/internal/session"

	"github.com/spf13/cobra"
)

func (a *app) attentionCmd() *cobra.Command {
	var command string
	var follow bool
	cmd := a.colorFlag(a.longFileFlag(&cobra.Command{
		Use:   "attention",
		Short: "List everything that needs you, and the command that decides it",
		Long: `List everything that needs a person, in all Homes and in all workspaces that have a keeper,
longest waiting first: requests of agents for permission, questions on screens and of cells, agents that
were given up (quarantined, or their circuit open), budgets that are used up, a workspace file that
is not in force, and turns, cells and programs that are over or failed while nobody has looked.
Each line has how long it waits, what is asked, and the command that decides it; 'den seen NAME'
says that you have looked. With --file only that workspace is listed.

With --follow changes are printed as they come: "+" waits, "~" has changed, "-" is over. With -j each
is an object: "event" is waiting, changed or over, "item" is what waits, and "ended" how a request
for permission ended. With --exec a command is run by the shell for each change, one at a time: the
object is on its stdin, and DEN_ATTENTION_EVENT, _KIND, _STATE, _AGENT, _SESSION and _WHAT have its
parts.`,
		Example: "  den attention\n  den attention -f\n  den attention -f --exec 'notify-send \"$DEN_ATTENTION_AGENT\" \"$DEN_ATTENTION_WHAT\"'\n  den attention -j | jq -r '.waiting[].actions[0].command'",
		Args:    args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if command != "" && !follow {
				return fault.Errorf(fault.Usage, "--exec needs --follow")
			}
			if follow {
				return a.followAttention(cmd.Context(), a.teller(cmd.Context(), command))
			}
			all, err := a.whatWaits(cmd.Context())
			return a.result(err, all, func(io.Writer) { printAttention(a.sheet(), all, time.Now()) })
		},
	}))
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "print changes as they come")
	cmd.Flags().StringVar(&command, "exec", "", "run `CMD` by the shell for each change")
	return cmd
}

// whatWaits asks the workspace that was named, or all.
func (a *app) whatWaits(ctx context.Context) (all keeper.Attention, err error) {
	if a.file == "" {
		return a.everywhere(ctx)
	}
	err = a.keep(ctx, keeper.MethodAttention, keeper.AttentionFrom{File: a.file}, &all)
	return all, err
}

func printAttention(to sheet, all keeper.Attention, now time.Time) {
	for _, name := range all.Unreachable {
		to.line(span{fmt.Sprintf("'%s' does not answer", name), bad})
	}
	if len(all.Waiting) == 0 {
		to.line(span{text: "nothing waits for you"})
		return
	}
	rows := [][]span{header("FOR", "WHO", "KIND", "WHAT", "DECIDE")}
	for _, w := range all.Waiting {
		rows = append(rows, []span{
			{text: waitingAge(w, now)}, {whoOf(w), strong}, {w.Kind, kindStyle(w.Kind)}, {text: brief.Runes(w.What, maxWhat)}, {text: decideText(w)},
		})
	}
	to.table(rows)
}

// waitingAge says how long something waits, and where it ends by itself when.
func waitingAge(w keeper.Waiting, now time.Time) string {
	age := "-"
	if !w.Since.IsZero() {
		age = brief.Age(now.Sub(w.Since))
	}
	if !w.Expires.IsZero() {
		age += ", " + brief.Age(w.Expires.Sub(now)) + " left"
	}
	return age
}

// whoOf names the agent that waits, else the session.
func whoOf(w keeper.Waiting) string { return cmp.Or(w.Agent, w.Session, "-") }

func kindStyle(kind string) style {
	switch kind {
	case keeper.WaitingQuarantine, keeper.WaitingCircuit, keeper.WaitingFailure, keeper.WaitingEscalation, keeper.WaitingConfig, keeper.WaitingFailed:
		return bad
	}
	return warning
}

// maxWhat bounds what is shown of a question, so that its command is seen; -j
// has it whole.
const maxWhat = 100

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

func (a *app) followAttention(ctx context.Context, tell func(attentionChange) error) error {
	if a.file == "" {
		return a.followEverywhere(ctx, tell)
	}
	p, err := a.stateDir()
	if err != nil {
		return err
	}
	news := attentionNews{tell: tell}
	return onKeeper(ctx, p, func(c *keeper.Client) error {
		return c.Stream(ctx, keeper.MethodAttention, keeper.AttentionFrom{Follow: true, File: a.file}, func(raw json.RawMessage) error {
			var now keeper.Attention
			if err := json.Unmarshal(raw, &now); err != nil {
				return fault.Errorf(fault.Protocol, "read what waits: %w", err)
			}
			return news.take(now)
		})
	})
}

// attentionNews tells of changes of what waits.
type attentionNews struct {
	tell  func(attentionChange) error
	known []keeper.Waiting
}

func (n *attentionNews) take(now keeper.Attention) error {
	changes, known := attentionChanges(n.known, now)
	n.known = known
	for _, change := range changes {
		if err := n.tell(change); err != nil {
			return err
		}
	}
	return nil
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
		case slices.Contains(now.Unreachable, w.Agent) || w.Workspace != "" && slices.Contains(now.Unreachable, w.Workspace):
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

// execLimit bounds the command that is run for a change: the next one waits for
// it.
const execLimit = time.Minute

// teller returns what is done with each change: it is printed, and the command
// is run, if there is one.
func (a *app) teller(ctx context.Context, command string) func(attentionChange) error {
	return func(c attentionChange) error {
		if err := a.printChange(c); err != nil || command == "" {
			return err
		}
		if err := a.execChange(ctx, command, c); err != nil {
			fmt.Fprintf(a.stderr, "den: run %q: %v\n", command, err) // the next change is told all the same
		}
		return nil
	}
}

func (a *app) execChange(ctx context.Context, command string, c attentionChange) error {
	raw, err := json.Marshal(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, execLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(raw), a.stderr, a.stderr // stdout has the changes
	cmd.WaitDelay = time.Second
	cmd.Env = slices.Clone(a.environ)
	for k, v := range map[string]string{
		"EVENT": c.Event, "KIND": c.Item.Kind, "STATE": string(c.Item.State), "AGENT": c.Item.Agent, "SESSION": c.Item.Session, "WHAT": c.Item.What,
	} {
		cmd.Env = append(cmd.Env, "DEN_ATTENTION_"+k+"="+strings.ReplaceAll(v, "\x00", ""))
	}
	return cmd.Run()
}

func (a *app) printChange(c attentionChange) error {
	if a.json {
		return a.printJSON(c)
	}
	mark := map[string]string{"waiting": "+", "changed": "~", "over": "-"}[c.Event]
	line := []span{{mark + " ", faint}, {whoOf(c.Item), strong}, {" " + c.Item.Kind + " ", kindStyle(c.Item.Kind)}, {text: brief.Runes(c.Item.What, maxWhat)}}
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

func (a *app) seenCmd() *cobra.Command {
	return a.longFileFlag(&cobra.Command{
		Use:   "seen NAME...",
		Short: "Mark sessions or agents as seen",
		Long: `Mark sessions or agents as seen: what is done or failed then no longer needs you. What
asks something, and an agent in quarantine, still does. Attaching, 'den snapshot', 'den agent
peek', a dashboard, and waiting for an end mark them as seen, too.
NAME is a session of the Home, or else an agent of the workspace.`,
		Example: "  den seen work\n  den seen coder tester",
		Args:    args(1, -1),
		RunE: func(cmd *cobra.Command, names []string) error {
			for _, name := range names {
				if err := a.see(cmd.Context(), name); err != nil {
					return err
				}
			}
			return a.answer(map[string]any{"seen": names}, func(w io.Writer) { fmt.Fprintln(w, "seen:", strings.Join(names, " ")) })
		},
		ValidArgsFunction: a.completeSession,
	})
}

// see notes that somebody has looked at a session, or else at an agent.
func (a *app) see(ctx context.Context, name string) error {
	s, err := a.target(name)
	if err == nil {
		return s.Dir.Look(time.Now())
	}
	if fault.KindOf(err) != fault.NotFound {
		return err
	}
	switch kerr := a.keep(ctx, keeper.MethodSeen, keeper.Agent{Name: name}, nil); fault.KindOf(kerr) {
	case "":
		return nil
	case fault.NotFound, fault.NotRunning:
		return err // neither: the Home is what was asked first
	default:
		return kerr
	}
}

// looked notes that somebody has looked at a session. Best effort: it may be of
// a Home that only can be read.
func (a *app) looked(s *session.Session) {
	if s.Dir.Path != "" {
		_ = s.Dir.Look(time.Now())
	}
}
