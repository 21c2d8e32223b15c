package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Notice is a message to the agent that comes within its tick: a notification
// of the data repository, or a word of den's own.
type Notice struct {
	ID   string `json:"id,omitempty"` // of a notification, for acknowledging it; "" for den's own
	Text string `json:"-"`            // it is read again after a kill
	// Turn is that in which the agent was told, 0 while it was not. It is
	// acknowledged when a turn has ended: an agent that fails before may not
	// have seen it.
	Turn int `json:"turn,omitempty"`
	// Heard says that the model began a reply since. What a tool's answer told
	// it may still not have: the reply that used the tool can be heard of late,
	// and a reply can use several tools, one after the other.
	Heard bool `json:"heard,omitempty"`
	// Seen says that the model began a reply with it.
	Seen bool `json:"seen,omitempty"`
}

// maxNotices bounds what one prompt or one answer of a tool carries, in bytes.
// A notice that is longer goes alone; the rest follow.
const maxNotices = 64 << 10

// notified takes notifications that are new.
func (p *step) notified(news []Notice) {
	if p.s.ending() {
		return // they stay where they are, and begin the next tick
	}
	fresh := false
	for _, n := range news {
		known := slices.ContainsFunc(p.s.Notices, func(old Notice) bool { return n.ID != "" && old.ID == n.ID })
		if known {
			continue
		}
		n.Turn, n.Heard, n.Seen = 0, false, false
		p.s.Notices = append(p.s.Notices, n)
		fresh = true
	}
	if fresh && p.s.Stage == Turning {
		p.do(Action{Kind: RouseWait})
	}
}

// noticesWait reports whether the agent was not told of a notification. Den's
// own words are for an agent that works; they begin no turn.
func (s State) noticesWait() bool {
	return slices.ContainsFunc(s.Notices, func(n Notice) bool { return n.Turn == 0 && n.ID != "" })
}

// untold reports whether there is anything that the agent was not told.
func (s State) untold() bool {
	return slices.ContainsFunc(s.Notices, func(n Notice) bool { return n.Turn == 0 })
}

// takeNotices returns what the agent is told next, and notes that it is told in
// a turn.
func (p *step) takeNotices(turn int) []Notice {
	var taken []Notice
	size := 0
	for i := range p.s.Notices {
		n := &p.s.Notices[i]
		if n.Turn != 0 {
			continue
		}
		if size += len(n.Text); size > maxNotices && len(taken) > 0 {
			break
		}
		n.Turn = turn
		taken = append(taken, *n)
	}
	return taken
}

// heard notes of all that was told that the next reply is one to it.
func (p *step) heard() {
	for i := range p.s.Notices {
		n := &p.s.Notices[i]
		n.Heard = n.Turn > 0
	}
}

// seen notes that the model began a reply, and has what it was told before the
// last one.
func (p *step) seen() {
	for i := range p.s.Notices {
		if n := &p.s.Notices[i]; n.Turn > 0 {
			n.Heard, n.Seen = true, n.Heard
		}
	}
}

// acknowledge has the notices acknowledged that the agent has, by which.
func (p *step) acknowledge(which func(Notice) bool) {
	var has []Notice
	var left []Notice
	for _, n := range p.s.Notices {
		switch {
		case !which(n):
			left = append(left, n)
		case n.ID != "":
			has = append(has, n)
		}
	}
	p.s.Notices = left
	if len(has) > 0 {
		p.do(Action{Kind: AckNotices, Notices: has})
	}
}

// forgetTold has the agent told again of all but some.
func (p *step) forgetTold(but func(Notice) bool) {
	for i := range p.s.Notices {
		if n := &p.s.Notices[i]; !but(*n) {
			n.Turn, n.Heard, n.Seen = 0, false, false
		}
	}
}

// answering lets a tool's answer carry what the agent was not told yet.
func (p *step) answering(call string) {
	var told []Notice
	if p.s.Stage == Turning {
		told = p.takeNotices(p.s.Turn.Number)
	}
	p.do(Action{Kind: Tell, Call: call, Notices: told, More: p.s.Stage == Turning && p.s.untold()})
}

// wrapUp tells the agent, once, to come to an end.
func (p *step) wrapUp(why string) {
	if p.s.WrapUp != "" || p.s.ending() {
		return
	}
	p.s.WrapUp = why
	p.s.Notices = append(p.s.Notices, Notice{Text: wrapUpText(why)})
	if p.s.Stage == Turning {
		p.do(Action{Kind: RouseWait})
	}
}

// What the agent reads. It is told what is the matter and what to do.

// queryText is the first prompt: what is configured, and why the tick was
// begun.
func queryText(query string, causes []Cause) string {
	var why []string
	for _, c := range causes {
		if reason := strings.TrimSpace(c.Reason); reason != "" {
			why = append(why, fmt.Sprintf("%s: %s", c.Kind, reason))
		}
	}
	if len(why) == 0 {
		return query
	}
	return query + "\n\nThis tick was begun by:\n" + bullets(why)
}

func continueText(why string) string {
	return fmt.Sprintf("Your last turn was cut off (%s). Look at what you have done of it already, and go on.", why)
}

func restartText(query, why string) string {
	return query + fmt.Sprintf("\n\nAn earlier attempt of this tick was lost (%s). Its terminals and files may still be there: look before you do something twice.", why)
}

func issuesText(issues []string) string {
	return "The tick cannot end yet:\n" + bullets(issues) + "\nDo this, and then end your turn."
}

func wrapUpText(why string) string {
	return "The tick must come to its end: " + why + ". Finish what you are doing, write down what has to be kept, close your terminals and end your turn."
}

func bullets(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString("- " + strings.ReplaceAll(line, "\n", "\n  ") + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// NoticesText is how notices stand in a prompt, or behind a tool's answer.
func NoticesText(notices []Notice) string {
	texts := make([]string, len(notices))
	for i, n := range notices {
		texts[i] = n.Text
		if n.ID != "" {
			texts[i] = "[notification]\n" + n.Text
		}
	}
	return strings.Join(texts, "\n\n")
}

// issuesOf lists what keeps a tick from ending.
func issuesOf(c Check, lastText string) []string {
	if !c.LoggedIn {
		return []string{"You have not logged in: call login()."}
	}
	var issues []string
	if len(c.Live) > 0 {
		numbers := make([]string, len(c.Live))
		for i, n := range c.Live {
			numbers[i] = strconv.Itoa(n)
		}
		issues = append(issues, "Terminals are still open: "+strings.Join(numbers, ", ")+". Close them.")
	}
	for _, issue := range c.Issues {
		if issue = strings.TrimSpace(issue); issue != "" {
			issues = append(issues, issue)
		}
	}
	if strings.TrimSpace(lastText) == "" {
		issues = append(issues, "You have said nothing: end with a sentence on what you did.")
	}
	return issues
}

// maxLastText bounds the record; hooks get less of it.
const maxLastText = 8 << 10

func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
