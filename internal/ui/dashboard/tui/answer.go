package tui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"den/internal/base/brief"
	"den/internal/base/build"
	"den/internal/base/environment"
	"den/internal/base/fault"
	"den/internal/keeper"
	"den/internal/session"
	"den/internal/session/attention"
	"den/internal/session/wire"
	"den/internal/ui/dashboard"
	"den/internal/ui/dashboard/fleet"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// Way is one way to decide what waits.
type Way struct {
	Name  string
	Words bool // it needs words of the person's
	Gives bool // it lets the agent do what it asks for: all of that must have been seen
}

// decideLimit is how long a decision may take.
const decideLimit = 15 * time.Second

// maxAnswer bounds the words of an answer, in bytes.
const maxAnswer = 2000

// answer is the panel in which a person decides what waits.
type answer struct {
	open   bool
	id     string // what is decided
	way    int    // the chosen one, or -1
	words  string
	busy   bool
	result string // what came of it, or empty
	failed bool
	hidden bool // not all of the request fits
}

// decidedMsg is what came of a decision.
type decidedMsg struct {
	id   string
	said string
	err  error
}

// askHere is what can be decided at the place that is shown, or nil.
func (u *ui) askHere() *keeper.Waiting {
	if u.agents.open {
		if all := u.agents.all(); len(all) > 0 {
			return u.agents.waitsFor(all[u.agents.at()].Name)
		}
		return nil
	}
	w := u.waitingHere()
	if w == nil || len(waysOf(*w)) == 0 {
		if c := u.cellAsks(); c != nil {
			return c
		}
	}
	return w
}

// CellAsks begins the ids of what cells ask: that of the session follows.
const CellAsks = "cell-in:"

// cellAsks is what the cell of the selected session asks, or nil.
func (u *ui) cellAsks() *keeper.Waiting {
	s := u.session
	if s == nil || u.past != nil || u.decides == nil || s.Attention.State != attention.Asking || s.Attention.Source != "cell" {
		return nil
	}
	return &keeper.Waiting{ID: CellAsks + s.ID, Agent: shortName(s.Name), Session: s.ID, What: s.Attention.What, Since: s.Attention.Since}
}

// openAnswer shows what waits, whole, and the ways to decide it.
func (u *ui) openAnswer() {
	if w := u.askHere(); w != nil {
		u.answer = answer{open: true, id: w.ID, way: -1}
		if ways := waysOf(*w); len(ways) == 1 && ways[0].Words {
			u.answer.way = 0 // there is nothing to choose
		}
	}
}

// asked returns what is decided in the panel, or nil: it waits no more.
func (u *ui) asked() *keeper.Waiting {
	if c := u.cellAsks(); c != nil && c.ID == u.answer.id {
		return c
	}
	for i, w := range u.agents.waiting() {
		if w.ID == u.answer.id {
			return &u.agents.waiting()[i]
		}
	}
	return nil
}

// answerKey does what a key says while the panel is shown. A number chooses, and
// Enter decides: no single key does.
func (u *ui) answerKey(k tea.KeyPressMsg) tea.Cmd {
	a, w := &u.answer, u.asked()
	var ways []Way
	if w != nil {
		ways = waysOf(*w)
	}
	name := k.String()
	switch {
	case name == "esc":
		if a.way >= 0 && !a.busy && a.result == "" {
			a.way, a.words = -1, ""
			return nil
		}
		a.open = false
	case w == nil || a.busy || a.result != "" && !a.failed:
		return nil
	case name == "enter":
		return u.decide(w)
	case a.way >= 0 && ways[a.way].Words:
		a.typed(k)
	case len(name) == 1 && name[0] >= '1' && int(name[0]-'1') < len(ways):
		*a = answer{open: true, id: a.id, way: int(name[0] - '1')}
	}
	return nil
}

func (a *answer) typed(k tea.KeyPressMsg) {
	switch k.String() {
	case "backspace":
		if r := []rune(a.words); len(r) > 0 {
			a.words = string(r[:len(r)-1])
		}
	case "ctrl+u":
		a.words = ""
	default:
		if len(a.words)+len(k.Text) <= maxAnswer {
			a.words += k.Text
		}
	}
}

// decide carries out the chosen way.
func (u *ui) decide(w *keeper.Waiting) tea.Cmd {
	a, ways := &u.answer, waysOf(*w)
	if a.way < 0 || ways[a.way].Words && strings.TrimSpace(a.words) == "" {
		return nil
	}
	if ways[a.way].Gives && a.hidden {
		a.result, a.failed = "not all of it fits here: enlarge the terminal, or read it with 'den approvals -j'", true
		return nil
	}
	a.busy, a.result, a.failed = true, "", false
	id, way, words, do := w.ID, a.way, a.words, u.decides
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(context.Background(), decideLimit)
		defer cancel()
		said, err := do(ctx, id, way, words)
		return decidedMsg{id, said, err}
	}
}

func (u *ui) takeDecided(msg decidedMsg) {
	a := &u.answer
	if msg.id != a.id {
		return // the panel is for something else by now
	}
	a.busy, a.result, a.failed = false, msg.said, msg.err != nil
	if msg.err != nil {
		a.result = msg.err.Error()
	}
}

// drawAnswer is the panel: a rule, what is asked, the ways, what came of it.
func (u *ui) drawAnswer(width, height int) []string {
	a, w := &u.answer, u.asked()
	rule := warn.Render(strings.Repeat("─", width))
	if w == nil {
		word := cmp.Or(a.result, "it waits no more")
		return []string{rule, fit(" "+plain(word), width), fit(faint.Render(" Esc: back"), width)}
	}
	below := u.answerWays(w, width)
	room := max(1, height-1-len(below))
	var text []string
	for l := range strings.SplitSeq(ansi.Wrap(asksText(w, u.now()), max(1, width-2), ""), "\n") {
		text = append(text, fit(" "+l, width))
	}
	a.hidden = len(text) > room
	if a.hidden {
		text = append(text[:room-1], fit(warn.Render(fmt.Sprintf(" … %d lines more", len(text)-room+1)), width))
	}
	return append(append([]string{rule}, text...), below...)
}

func (u *ui) answerWays(w *keeper.Waiting, width int) []string {
	a, all := &u.answer, waysOf(*w)
	var ways []string
	for i, way := range all {
		text := fmt.Sprintf("%d %s", i+1, plain(way.Name))
		if i == a.way {
			text = selected.Render(" " + text + " ")
		}
		ways = append(ways, text)
	}
	lines := []string{fit(" "+strings.Join(ways, "   "), width)}
	if len(ways) == 0 {
		lines[0] = fit(" "+plain(commandOf(w)), width)
	}
	hint := "a number: choose   Esc: leave it"
	switch {
	case a.busy:
		hint = "deciding …"
	case a.result != "":
		style := good
		if a.failed {
			style = bad
		}
		return append(lines, fit(" "+style.Render(plain(a.result)), width))
	case a.way >= 0 && all[a.way].Words:
		return append(lines, fit(accent.Render(" > ")+plain(a.words)+bar.Render(" ")+faint.Render("  Enter: send"), width))
	case a.way >= 0:
		hint = "Enter: " + plain(all[a.way].Name) + "   Esc: not that"
	case len(ways) == 0:
		hint = "the command above decides it   Esc: back"
	}
	return append(lines, fit(faint.Render(" "+hint), width))
}

// asksText is all of what waits, with nothing hidden in it.
func asksText(w *keeper.Waiting, now time.Time) string {
	head := cmp.Or(w.Agent, "the workspace")
	if !w.Since.IsZero() {
		head += " waits for " + brief.Age(now.Sub(w.Since))
	}
	return revealed(head + ":\n" + cmp.Or(requestText(*w), w.What))
}

// revealed shows characters that draw nothing, or change the order of others, by
// their numbers: with them a request could look like another one.
func revealed(text string) string {
	var out strings.Builder
	for _, r := range text {
		switch {
		case r == '\n':
			out.WriteRune(r)
		case r == '\t':
			out.WriteString("    ")
		case unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Mn, unicode.Me) || !agreed(string(r)):
			fmt.Fprintf(&out, `\u{%x}`, r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

// waysOf returns the ways to decide what waits that the dashboard offers. Of what
// it cannot decide there are none.
func waysOf(w keeper.Waiting) []Way {
	if strings.HasPrefix(w.ID, CellAsks) {
		return []Way{{Name: "answer", Words: true}}
	}
	var ways []Way
	switch w.Kind {
	case keeper.WaitingApproval:
		for _, a := range w.Actions {
			ways = append(ways, Way{Name: a.Name, Words: a.Name == "answer", Gives: a.Name != "deny"})
		}
	case keeper.WaitingQuestion:
		for _, a := range w.Actions {
			if number, label, ok := strings.Cut(a.Name, ": "); ok && number == strconv.Itoa(len(ways)+1) {
				ways = append(ways, Way{Name: label, Gives: true})
			}
		}
	}
	return ways
}

// requestText is all of a request for permission, a line for each part.
func requestText(w keeper.Waiting) string {
	if w.Approval == nil {
		return ""
	}
	r := w.Approval.Request
	lines := []string{r.Tool}
	add := func(label, text string) {
		if text != "" {
			lines = append(lines, label+text)
		}
	}
	add("", r.Command)
	add("files: ", strings.Join(r.Paths, "\n       "))
	add("address: ", r.URL)
	add("in: ", r.Dir)
	add("says: ", r.Text)
	add("choices: ", strings.Join(r.Choices, " | "))
	add("because: ", w.Approval.Asked)
	return strings.Join(lines, "\n")
}

// decideFor carries out what a person chose on the dashboard. What waits is asked
// for once more: somebody else may have decided it.
func decideFor(k *fleet.Keeper, model *dashboard.Model) func(context.Context, string, int, string) (string, error) {
	return func(ctx context.Context, id string, way int, words string) (string, error) {
		if session, ok := strings.CutPrefix(id, CellAsks); ok {
			return answerCell(ctx, model, session, words)
		}
		all, err := k.Attention(ctx)
		if err != nil {
			return "", err
		}
		at := slices.IndexFunc(all.Waiting, func(w keeper.Waiting) bool { return w.ID == id })
		if at < 0 {
			return "", fault.Errorf(fault.NotFound, "it waits no more")
		}
		return decideWaiting(ctx, k, all.Waiting[at], way, words)
	}
}

// answerCell types the answer to what the cell of a session asks, if it still
// asks that.
func answerCell(ctx context.Context, model *dashboard.Model, id, words string) (string, error) {
	l := model.List()
	s, ok := l.Find(id)
	if !ok || s.Attention.State != attention.Asking {
		return "", fault.Errorf(fault.NotFound, "it asks no more")
	}
	question := s.Attention.What
	if strings.HasPrefix(question, "the program waits for ") {
		question = "" // it shows none
	}
	in := wire.Input{Text: &words, Enter: true}
	_, err := session.In(s.Dir, session.Options{Version: build.Version}).Answer(ctx, in, session.Run{Question: question, Timeout: time.Second})
	return "answered", err
}

func decideWaiting(ctx context.Context, k *fleet.Keeper, w keeper.Waiting, way int, words string) (string, error) {
	ways := waysOf(w)
	if way < 0 || way >= len(ways) {
		return "", fault.Errorf(fault.Usage, "there is no such way to decide it")
	}
	by := "dashboard of " + environment.User()
	if w.Kind == keeper.WaitingQuestion {
		question := strings.TrimPrefix(w.ID, w.Kind+":"+w.Agent+":")
		var answered keeper.Answered
		err := k.Call(ctx, keeper.MethodAnswer, keeper.Answer{Agent: w.Agent, Question: question, Option: strconv.Itoa(way + 1), By: by}, &answered)
		return "answered: " + ways[way].Name, err
	}
	var decided keeper.Decided
	err := k.Call(ctx, keeper.MethodDecide, keeper.Decision{ID: w.Approval.ID, Agent: w.Agent, Option: ways[way].Name, Text: words, By: by}, &decided)
	return "it is " + decided.State, err
}
