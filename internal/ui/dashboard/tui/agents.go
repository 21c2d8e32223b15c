package tui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"den/internal/base/brief"
	"den/internal/keeper"
	"den/internal/ui/dashboard"
	"den/internal/ui/dashboard/fleet"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// agents is the table of the workspace's agents.
type agents struct {
	known   *fleet.Workspace // or nil: there is none, or none has been told of
	problem string           // why nothing is known now, or empty
	open    bool             // it is shown instead of the sessions
	chosen  string           // the name of the selected one
	top     int              // the first row in view
	visited string           // the id of what waits and was gone to last, or empty
}

func (a *agents) take(msg agentsMsg) {
	a.problem = ""
	if msg.err != nil {
		a.problem = msg.err.Error() // what was known stays: it is the best there is
		return
	}
	a.known = msg.workspace
}

// there reports whether there is anything to show.
func (a *agents) there() bool { return a.known != nil || a.problem != "" }

func (a *agents) all() []keeper.AgentStatus {
	if a.known == nil {
		return nil
	}
	return a.known.Agents
}

// at is the row of the selected agent: the first, if that one is gone.
func (a *agents) at() int {
	return max(0, slices.IndexFunc(a.all(), func(x keeper.AgentStatus) bool { return x.Name == a.chosen }))
}

func (a *agents) move(by int) {
	if all := a.all(); len(all) > 0 {
		a.chosen = all[max(0, min(a.at()+by, len(all)-1))].Name
	}
}

// of is the agent that lives in a session, or nil.
func (a *agents) of(s *dashboard.Session) *keeper.AgentStatus {
	for i, x := range a.all() {
		if ref := sessionOf(x); ref != "" && slices.Contains([]string{s.Name, s.ID, shortName(s.Name)}, ref) {
			return &a.known.Agents[i]
		}
	}
	return nil
}

// sessionOf is the session of an agent by name or id, or "".
func sessionOf(x keeper.AgentStatus) string { return cmp.Or(x.DenSession, x.Session) }

// agentsKey does what a key says while the table is shown.
func (u *ui) agentsKey(name string) {
	a := &u.agents
	switch name {
	case "w", "esc":
		a.open = false
	case "up", "k", "down", "j", "pgup", "pgdown":
		a.move(rowsOf(name))
	case "home", "g":
		a.move(-len(a.all()))
	case "end", "G":
		a.move(len(a.all()))
	case "enter":
		u.visitAgent()
	case "n":
		u.visitWaiting()
	case "?", "f1":
		u.help = true
	}
}

// visitAgent goes to the selected agent's session, if it is listed.
func (u *ui) visitAgent() {
	if all := u.agents.all(); len(all) > 0 {
		u.visitSession(sessionOf(all[u.agents.at()]))
	}
}

// visitSession goes to a session by its name or id. It is false where that is
// not listed.
func (u *ui) visitSession(ref string) bool {
	if ref == "" || u.list == nil {
		return false
	}
	for s := range u.list.All() {
		if (s.Name == ref || s.ID == ref) && (s.Status.Active() || u.all) {
			u.agents.open, u.selectNext, u.filter = false, s.ID, ""
			u.refresh()
			return true
		}
	}
	return false
}

// sign is how an agent's state looks.
func (a *agents) sign(x keeper.AgentStatus) (string, lipgloss.Style) {
	if a.waitsFor(x.Name) != nil {
		return "!", warn
	}
	switch x.Actual {
	case "running":
		return "●", good
	case "starting", "stopping":
		return "◌", warn
	case "quarantined", "unknown":
		return "✗", bad
	}
	return "○", faint
}

// summary is the workspace in a few words, for the header.
func (a *agents) summary() string {
	if !a.there() {
		return ""
	}
	if a.known == nil {
		return "  no keeper answers"
	}
	n := 0
	for _, x := range a.known.Agents {
		if x.Actual == x.Wanted {
			n++
		}
	}
	return fmt.Sprintf("  %s: %d of %d agents as wanted", plain(a.known.Workspace), n, len(a.known.Agents))
}

// drawAgents is the table, as lines of one width.
func (u *ui) drawAgents(width, height int) []string {
	a := &u.agents
	all := a.all()
	c := columnsOf(all, width)
	lines := []string{fit(faint.Render(fmt.Sprintf("   %-*s %-9s %-*s %8s %4s  %swhy", c.name, "agent", "wanted", c.state, "actual", "restarts", "for", c.treeCell("worktree"))), width)}
	if word := u.agentsProblem(); word != "" {
		lines = append([]string{fit(" "+bad.Render(plain(word)), width)}, lines...)
	}
	why := u.drawWhy(width, min(5, height/3))
	height -= len(why)
	room := max(0, height-len(lines))
	a.top = max(0, min(a.top, len(all)-room))
	a.top = max(min(a.top, a.at()), a.at()-room+1)
	for i := a.top; i < len(all) && len(lines) < height; i++ {
		lines = append(lines, u.drawAgent(all[i], i == a.at(), c, width))
	}
	if len(all) == 0 && len(lines) < height {
		lines = append(lines, fit(faint.Render("   no agents"), width))
	}
	return append(fill(lines, width, height), why...)
}

func (u *ui) agentsProblem() string {
	if u.agents.problem != "" {
		return u.agents.problem
	}
	if u.agents.known != nil {
		return u.agents.known.Problem
	}
	return ""
}

func (u *ui) agentsFooter() string {
	return ends("", faint.Render(" ↑↓ agent  Enter its session  n what waits  y answer  w back  ? help  q quit "), u.width)
}

// drawWhy says in full why the selected agent is as it is, below a rule.
func (u *ui) drawWhy(width, most int) []string {
	all := u.agents.all()
	if len(all) == 0 || most < 2 {
		return nil
	}
	x := all[u.agents.at()]
	lines := []string{faint.Render(strings.Repeat("─", width))}
	text := plain(x.Name + ": " + x.Why)
	if words := approvalWords[x.Approval]; words != "" {
		text += " · " + words
	}
	if x.Worktree != nil {
		text += " · " + plain(treeText(*x.Worktree))
	}
	if w := u.agents.waitsFor(x.Name); w != nil {
		text = plain(x.Name) + " " + waitText(w, u.now())
	}
	for _, l := range strings.Split(ansi.Wrap(text, width-2, ""), "\n") {
		if len(lines) < most {
			lines = append(lines, fit(" "+l, width))
		}
	}
	return lines
}

// columns are the widths of those that are as wide as what is in them.
type columns struct{ name, state, tree int }

// columnsOf gives names and worktrees what they need, up to a quarter of the
// width each. The column of worktrees is there if some agent has one.
func columnsOf(all []keeper.AgentStatus, width int) columns {
	c := columns{name: 5, state: 7}
	for _, x := range all {
		c.name, c.state = max(c.name, ansi.StringWidth(plain(x.Name))), max(c.state, len(x.Actual))
		if x.Worktree != nil {
			c.tree = max(c.tree, 8, ansi.StringWidth(plain(shortTree(x.Worktree))))
		}
	}
	most := max(8, width/4)
	return columns{name: min(c.name, most), state: min(c.state, 11), tree: min(c.tree, most)}
}

// treeCell is text in the column of worktrees, if there is one.
func (c columns) treeCell(text string) string {
	if c.tree == 0 {
		return ""
	}
	return fit(plain(text), c.tree) + "  "
}

// shortTree is a worktree for a narrow column: commits ahead, files that are not
// committed, and the branch.
func shortTree(t *keeper.Tree) string {
	if t == nil {
		return ""
	}
	var words []string
	if t.Ahead > 0 {
		words = append(words, fmt.Sprintf("+%d", t.Ahead))
	}
	if t.Dirty() > 0 {
		words = append(words, fmt.Sprintf("~%d", t.Dirty()))
	}
	if t.Problem != "" {
		words = append(words, "?")
	}
	return strings.Join(append(words, t.Branch), " ")
}

// treeText is a worktree in words.
func treeText(t keeper.Tree) string {
	if t.Problem != "" {
		return "worktree " + t.Branch + ": " + t.Problem
	}
	return fmt.Sprintf("worktree %s, %d ahead, %d dirty", t.Branch, t.Ahead, t.Dirty())
}

// approvalWords say what a person has to know of an agent's approval.
var approvalWords = map[string]string{"bypass": "bypasses permission questions", "unknown": "what it asks is not known"}

// approvalMark is the mark of an agent that asks nobody, or of which that is not
// known.
func approvalMark(x keeper.AgentStatus) string {
	if approvalWords[x.Approval] == "" {
		return ""
	}
	return "! " + x.Approval + " approval · "
}

func (u *ui) drawAgent(x keeper.AgentStatus, chosen bool, c columns, width int) string {
	mark, style := u.agents.sign(x)
	since, restarts := "", ""
	if !x.Since.IsZero() {
		since = brief.Age(u.now().Sub(x.Since))
	}
	if x.Restarts > 0 {
		restarts = fmt.Sprint(x.Restarts)
	}
	rest := fmt.Sprintf(" %-9s %-*s %8s %4s  %s%s", x.Wanted, c.state, x.Actual, restarts, since, c.treeCell(shortTree(x.Worktree)), approvalMark(x)+plain(x.Why))
	if chosen {
		return selected.Render(fit("›"+mark+" "+fit(plain(x.Name), c.name)+rest, width))
	}
	return fit(" "+style.Render(mark)+" "+fit(plain(x.Name), c.name)+rest, width)
}

// agentsMsg is the workspace as it is now.
type agentsMsg struct {
	workspace *fleet.Workspace // or nil: there is none
	err       error            // why nothing is known of it
}

// askLimit bounds how long an answer may take.
const askLimit = 5 * time.Second

// askAgents tells of the workspace whenever it has changed, until ctx ends.
func (p *pump) askAgents(ctx context.Context, ask func(context.Context) (*fleet.Workspace, error), send func(tea.Msg)) {
	fleet.Poll(ctx, fleet.Every, nil, soon(ask), func(w *fleet.Workspace, err error) { send(agentsMsg{w, err}) })
}

// soon bounds the time that a question takes.
func soon[T any](ask func(context.Context) (T, error)) func(context.Context) (T, error) {
	return func(ctx context.Context) (T, error) {
		ctx, cancel := context.WithTimeout(ctx, askLimit)
		defer cancel()
		return ask(ctx)
	}
}
