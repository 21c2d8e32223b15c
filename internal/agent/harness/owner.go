package harness

import (
	"context"
	"slices"
	"sync"
	"time"

	"den/internal/agent/harness/ipc"
	"den/internal/agent/permission"
	"den/internal/base/wake"
)

// ownerRetry is how often an owner is looked for who was not there.
const ownerRetry = time.Minute

// ownerQuestions are those that the owner was not asked yet: who is away is
// asked when they come back.
type ownerQuestions struct {
	wake wake.Signal // room for one token: somebody may be there now

	mu   sync.Mutex // guards the field below
	open []ownerQuestion
}

// ownerQuestion is what the owner is asked for an approval. There are at most as
// many as approvals that are open.
type ownerQuestion struct {
	approval, text string
	tried          bool
}

func newOwnerQuestions() ownerQuestions { return ownerQuestions{wake: wake.New()} }

func (q *ownerQuestions) add(question ownerQuestion) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.open = append(q.open, question)
}

func (q *ownerQuestions) takeAll() []ownerQuestion {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := q.open
	q.open = nil
	return all
}

// forget removes a question, and reports whether it was still to be asked.
func (q *ownerQuestions) forget(approval string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	before := len(q.open)
	q.open = slices.DeleteFunc(q.open, func(o ownerQuestion) bool { return o.approval == approval })
	return len(q.open) < before
}

// hasOwner reports whether somebody in the channels decides.
func (h *Harness) hasOwner() bool { return h.chat != nil && h.config.Owner != "" }

// askOwner asks who decides, now or when they are there. It does not hold up the
// agent.
func (h *Harness) askOwner(a permission.Approval, text string) {
	if !h.hasOwner() {
		return
	}
	h.owner.add(ownerQuestion{approval: a.ID, text: text})
	h.owner.wake.Set()
}

// tellOwnerEnd tells who decides what became of an approval that they were
// asked about. It does not hold up the agent.
func (h *Harness) tellOwnerEnd(a permission.Approval, text string) {
	if !h.hasOwner() || h.owner.forget(a.ID) {
		return
	}
	h.background.Go(func() {
		if err := h.sayToOwner(context.Background(), text, "approval-"+a.ID+"-end", false); err != nil {
			h.logf("tell %s what became of %s: %v", h.config.Owner, a.ID, err)
		}
	})
}

// askOwners asks until the context ends.
func (h *Harness) askOwners(ctx context.Context) {
	for {
		var again <-chan time.Time
		if !h.askOwnerAll(ctx) {
			again = time.After(ownerRetry)
		}
		select {
		case <-ctx.Done():
			return
		case <-h.owner.wake:
		case <-again:
		}
	}
}

// askOwnerAll asks everything that is to be asked, and reports whether nothing
// is left.
func (h *Harness) askOwnerAll(ctx context.Context) bool {
	done := true
	for _, q := range h.owner.takeAll() {
		if !h.isOpen(q.approval) {
			continue
		}
		if err := h.sayToOwner(ctx, q.text, "approval-"+q.approval, q.tried); err != nil {
			h.logf("ask %s about %s: %v; it is tried again when they are there", h.config.Owner, q.approval, err)
			q.tried, done = true, false
			h.owner.add(q)
		}
	}
	return done
}

func (h *Harness) isOpen(approval string) bool {
	return slices.ContainsFunc(h.openApprovals(), func(a permission.Approval) bool { return a.ID == approval })
}

// sayToOwner says something to who decides, by whatever nicks they are there.
// again says that it may have been said before.
func (h *Harness) sayToOwner(ctx context.Context, text, id string, again bool) error {
	ctx, cancel := context.WithTimeout(ctx, sendLimit)
	defer cancel()
	var failed error
	told := false
	for _, nick := range h.ownerNicks(ctx) {
		if err := h.chat.Send(ctx, nick, text, id, again); err != nil {
			failed = err
		} else {
			told = true
		}
	}
	if told {
		return nil
	}
	return failed
}

// ownerNicks returns the nicks of those who are logged in with the owner's
// account. Where there are none, or a nick is enough, it is the nick of that
// name.
func (h *Harness) ownerNicks(ctx context.Context) []string {
	owner := h.config.Owner
	nicks := h.ownersAmong(ctx, h.chat.Channels(), h.chat.Who)
	if len(nicks) == 0 && !h.config.OwnerByNick {
		nicks = h.ownersAmong(ctx, []string{"*"}, func(ctx context.Context, _ string) ([]ipc.Person, error) { return h.chat.Everybody(ctx) })
	}
	isOwner := func(nick string) bool { return h.chat.Same(nick, owner) }
	if (len(nicks) == 0 || h.config.OwnerByNick) && !slices.ContainsFunc(nicks, isOwner) {
		nicks = append(nicks, owner)
	}
	return nicks
}

// ownersAmong returns the nicks with the owner's account in some channels.
func (h *Harness) ownersAmong(ctx context.Context, targets []string, who func(context.Context, string) ([]ipc.Person, error)) []string {
	var nicks []string
	for _, target := range targets {
		people, err := who(ctx, target)
		if err != nil {
			h.logf("look for %s in %s: %v", h.config.Owner, target, err)
		}
		for _, p := range people {
			if p.Account != "" && h.chat.Same(p.Account, h.config.Owner) && !slices.Contains(nicks, p.Nick) {
				nicks = append(nicks, p.Nick)
			}
		}
	}
	return nicks
}

// seesOwner asks an owner who speaks what is still to be asked.
func (h *Harness) seesOwner(m Incoming) {
	if owner := h.config.Owner; owner != "" && (h.chat.Same(m.Account, owner) || h.chat.Same(m.Nick, owner)) {
		h.owner.wake.Set()
	}
}
