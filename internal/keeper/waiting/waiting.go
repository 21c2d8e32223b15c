// Package waiting lists what in an agent waits for a person, and the command that
// decides each item.
package waiting

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"den/internal/agent/budget"
	"den/internal/agent/conversation"
	"den/internal/agent/harness/ipc"
	"den/internal/agent/permission"
	"den/internal/agent/runner"
	"den/internal/agent/supervisor"
	"den/internal/keeper"
	"den/internal/session/attention"
	"den/internal/session/cell"
)

// Agent is what is known of an agent that may wait for a person.
type Agent struct {
	Status    keeper.AgentStatus
	State     conversation.State // as it was last seen
	Harnessed bool               // it has a harness
	Harness   *Report            // or nil: it has none, or it did not answer
	Cell      *cell.Record       // that asks something in its session, or nil
}

// Report is what a harness tells.
type Report struct {
	Approvals keeper.Approvals
	Status    ipc.AgentStatus
}

// List returns what waits for a person, the longest first. file is the workspace's
// as the commands name it, or "".
func List(ps keeper.Ps, agents []Agent, file string) []keeper.Waiting {
	c := commands{file: file, ambiguous: ambiguousIDs(agents)}
	all := []keeper.Waiting{}
	if ps.Problem != "" {
		all = append(all, ofConfig(ps, c))
	}
	for _, a := range agents {
		all = append(all, of(a, c)...)
	}
	slices.SortStableFunc(all, longestFirst)
	return all
}

// longestFirst orders what waits; what waits for an unknown time is last.
func longestFirst(a, b keeper.Waiting) int {
	switch {
	case a.Since.IsZero() != b.Since.IsZero():
		if a.Since.IsZero() {
			return 1
		}
		return -1
	case !a.Since.Equal(b.Since):
		return a.Since.Compare(b.Since)
	}
	return strings.Compare(a.ID, b.ID)
}

// of is the rule.
func of(o Agent, c commands) []keeper.Waiting {
	var all []keeper.Waiting
	add := func(w keeper.Waiting, key string) {
		w.ID = w.Kind + ":" + o.Status.Name + key
		w.Agent, w.Session = o.Status.Name, o.Status.DenSession
		w.What, w.State = keeper.OneLine(w.What), keeper.StateOf(w.Kind)
		all = append(all, w)
	}
	if o.Status.Actual == keeper.Quarantined {
		add(ofQuarantine(o.Status, c), "")
	}
	// What an agent with a harness asks is an approval.
	if q := o.Status.Question; q != nil && !o.Harnessed {
		add(ofQuestion(o, c), ":"+q.ID)
	}
	if o.Cell != nil {
		add(ofCell(o, c), ":"+o.Cell.CellID)
	}
	if w, ok := ofNews(o.Status, c); ok {
		add(w, "")
	}
	if o.Harness == nil {
		return all
	}
	for _, a := range o.Harness.Approvals.Approvals {
		add(ofApproval(a, c), ":"+a.ID)
	}
	if o.Harness.Status.CircuitOpen {
		add(ofCircuit(o, c), "")
	}
	switch runner.Class(o.Harness.Status.Failure) {
	case runner.Auth, runner.Billing:
		add(ofFailure(o, c), "")
	}
	if o.Harness.Status.Supervisor == string(supervisor.Paused) {
		add(ofEscalation(o, c), "")
	}
	if o.Harness.Status.BudgetLevel == string(budget.Exceeded) {
		add(ofBudget(o, c), "")
	}
	return all
}

func ofApproval(a keeper.Approval, c commands) keeper.Waiting {
	first := keeper.Action{Name: "approve", Command: c.decide("approve", a)}
	if a.Request.Kind == string(permission.Question) {
		first = keeper.Action{Name: "answer", Command: c.decide("answer", a) + " TEXT"}
	}
	return keeper.Waiting{
		Kind: keeper.WaitingApproval, Since: a.Created, Expires: a.Expires, What: a.Request.What(), Evidence: "its policy asks: " + a.Asked, Approval: &a,
		Actions: []keeper.Action{first, {Name: "deny", Command: c.decide("deny", a)}},
	}
}

func ofQuestion(o Agent, c commands) keeper.Waiting {
	q := o.Status.Question
	w := keeper.Waiting{Kind: keeper.WaitingQuestion, Since: o.State.Since, What: q.Text, Evidence: "told by its " + o.State.SourceName()}
	for i, option := range q.Options {
		w.Actions = append(w.Actions, keeper.Action{Name: fmt.Sprintf("%d: %s", i+1, option.Label), Command: c.line("agent", "answer", o.Status.Name, q.ID, strconv.Itoa(i+1))})
	}
	w.Actions = append(w.Actions, keeper.Action{Name: "attach", Command: c.line("agent", "attach", o.Status.Name)})
	return w
}

func ofQuarantine(s keeper.AgentStatus, c commands) keeper.Waiting {
	return keeper.Waiting{
		Kind: keeper.WaitingQuarantine, Since: s.Since, What: s.Why, Evidence: restarted(s.Restarts),
		Actions: []keeper.Action{{Name: "reset", Command: c.line("agent", "reset", s.Name)}, {Name: "stop", Command: c.line("agent", "stop", s.Name)}},
	}
}

func restarted(times int) string {
	switch times {
	case 0:
		return "the keeper could not start it"
	case 1:
		return "the keeper restarted it once"
	}
	return fmt.Sprintf("the keeper restarted it %d times", times)
}

// toldBy names the source of what is known of an agent.
func toldBy(source string) string {
	switch source {
	case "":
		return "told by the keeper"
	case "kernel": // of what its processes wait for
		return "told by the kernel"
	}
	return "told by its " + source
}

// ofNews is a turn that is over or failed, or an end, at which nobody has
// looked yet.
func ofNews(s keeper.AgentStatus, c commands) (w keeper.Waiting, ok bool) {
	w = keeper.Waiting{
		Since: s.Attention.Since, What: s.Attention.What, Evidence: toldBy(s.Attention.Source),
		Actions: []keeper.Action{{Name: "look", Command: c.line("agent", "peek", s.Name)}, {Name: "seen", Command: c.line("seen", s.Name)}},
	}
	switch {
	case s.Attention.State == attention.Done:
		w.Kind, w.What = keeper.WaitingDone, "its turn is over"
		if s.Actual == keeper.Finished {
			w.What = "it has ended"
		}
	case s.Attention.State == attention.Failed && s.Actual != keeper.Quarantined: // that one waits by its own name
		w.Kind = keeper.WaitingFailed
	default:
		return w, false
	}
	return w, true
}

func ofCircuit(o Agent, c commands) keeper.Waiting {
	s := o.Harness.Status
	what := "its turns failed too often"
	if s.Why != "" {
		what += ": " + s.Why
	}
	return keeper.Waiting{
		Kind: keeper.WaitingCircuit, Since: s.CircuitSince, What: what, Evidence: "its harness has opened the circuit",
		Actions: []keeper.Action{{Name: "resume", Command: c.bare("harness", "resume", path.Base(o.Status.Name))}},
	}
}

// ofFailure is of what den tries again only from time to time.
func ofFailure(o Agent, c commands) keeper.Waiting {
	s := o.Harness.Status
	return keeper.Waiting{
		Kind: keeper.WaitingFailure, What: s.Why, Evidence: "its last turn failed by that; " + held(s.Pending),
		Actions: []keeper.Action{{Name: "resume", Command: c.bare("harness", "resume", path.Base(o.Status.Name))}},
	}
}

// held tells of the messages that an agent will get later.
func held(messages int) string {
	if messages == 1 {
		return "its harness holds a message"
	}
	return fmt.Sprintf("its harness holds %d messages", messages)
}

func ofEscalation(o Agent, c commands) keeper.Waiting {
	return keeper.Waiting{
		Kind: keeper.WaitingEscalation, What: "its supervisor sees that corrections do not help", Evidence: "its supervisor has called a person and waits",
		Actions: []keeper.Action{
			{Name: "look", Command: c.line("agent", "peek", o.Status.Name)},
			{Name: "resume", Command: c.bare("harness", "resume", path.Base(o.Status.Name))},
		},
	}
}

func ofBudget(o Agent, c commands) keeper.Waiting {
	s := o.Harness.Status
	w := keeper.Waiting{
		Kind: keeper.WaitingBudget, Expires: s.BudgetUntil, What: s.Budget, Evidence: held(s.Pending),
		Actions: []keeper.Action{{Name: "raise its budget in the workspace file", Command: c.line("reload")}},
	}
	if s.LastActivation != nil { // the turn that used it up
		w.Since = time.UnixMilli(int64(*s.LastActivation * 1000)).UTC()
	}
	return w
}

func ofCell(o Agent, c commands) keeper.Waiting {
	what := cmp.Or(o.Cell.Question, "the program waits for "+o.Cell.WaitingFor)
	return keeper.Waiting{
		Kind: keeper.WaitingCell, Since: o.Cell.Started, What: what, Evidence: "cell " + o.Cell.CellID + " waits for " + o.Cell.WaitingFor,
		Actions: []keeper.Action{{Name: "answer", Command: c.bare("answer", o.Status.DenSession) + " TEXT"}, {Name: "interrupt", Command: c.bare("int", o.Status.DenSession)}},
	}
}

// ofConfig is a workspace file that is not in force.
func ofConfig(ps keeper.Ps, c commands) keeper.Waiting {
	w := keeper.Waiting{
		ID: keeper.WaitingConfig, Kind: keeper.WaitingConfig, State: attention.Failed, What: keeper.OneLine(ps.Problem), Evidence: "the keeper did not take over " + ps.Config,
		Actions: []keeper.Action{{Name: "correct it", Command: c.line("reload")}},
	}
	if strings.HasPrefix(ps.Problem, "held: ") {
		w.Actions = []keeper.Action{{Name: "confirm", Command: c.line("reload", "--yes")}}
	}
	return w
}

// ambiguousIDs returns the ids of approvals that several agents have.
func ambiguousIDs(agents []Agent) map[string]bool {
	count := map[string]int{}
	for _, a := range agents {
		if a.Harness == nil {
			continue
		}
		for _, asked := range a.Harness.Approvals.Approvals {
			count[asked.ID]++
		}
	}
	ambiguous := map[string]bool{}
	for id, n := range count {
		ambiguous[id] = n > 1
	}
	return ambiguous
}

// commands writes command lines of den for a person's shell.
type commands struct {
	file      string // the workspace's, as the caller named it, or ""
	ambiguous map[string]bool
}

// bare is a command that takes no workspace.
func (c commands) bare(words ...string) string {
	quoted := []string{"den"}
	for _, w := range words {
		quoted = append(quoted, shellWord(w))
	}
	return strings.Join(quoted, " ")
}

// line is a command for this workspace.
func (c commands) line(words ...string) string {
	if c.file != "" {
		words = append(words, "--file", c.file)
	}
	return c.bare(words...)
}

// decide decides an approval. Where several have its id, the agent is named.
func (c commands) decide(option string, a keeper.Approval) string {
	words := []string{"approvals", option, a.ID}
	if c.ambiguous[a.ID] {
		words = append(words, "--agent", a.Agent)
	}
	return c.line(words...)
}

// shellWord quotes a word for a POSIX shell, where that is needed.
func shellWord(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_@%+=:,./-", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
