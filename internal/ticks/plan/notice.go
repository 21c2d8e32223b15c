package plan

import "slices"

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
