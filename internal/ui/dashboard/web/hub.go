package web

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"sync"

	"den/internal/base/brief"
	"den/internal/base/fault"
	"den/internal/keeper"
	"den/internal/ui/dashboard"
	"den/internal/ui/dashboard/fleet"
	"den/internal/ui/dashboard/nights"
)

// maxEnded bounds the ended sessions listed per Home. The newest are listed, and
// the page shows the number of the others.
const maxEnded = 200

// hub holds what all pages show: the listing, and the workspace's agents.
type hub struct {
	keeper *fleet.Keeper // or nil
	nights *nights.Model // or nil
	stale  chan struct{} // one token: the keeper is to be asked at once

	mu        sync.Mutex // guards the fields below
	listing   *dashboard.Listing
	homes     json.RawMessage // the listing for pages
	agents    json.RawMessage // or nil: there is no workspace
	kernels   json.RawMessage // or nil: there are no agents that sleep and wake
	rev       uint64          // counts the changes
	pages     map[chan<- struct{}]bool
	harnesses map[string]string // where harnesses keep their files, by agent
}

func newHub(o Options) *hub {
	return &hub{keeper: o.Workspace, nights: o.Nights, stale: make(chan struct{}, 1), listing: &dashboard.Listing{}, pages: map[chan<- struct{}]bool{}, harnesses: map[string]string{}}
}

// watch keeps the listing up to date until ctx ends.
func (h *hub) watch(ctx context.Context, m *dashboard.Model) {
	for l := range m.Watch(ctx) {
		raw := encode(forPage(l))
		h.mu.Lock()
		h.listing = l
		h.mu.Unlock()
		h.show(&h.homes, raw)
	}
}

// pageHome is a Home with what a page shows of it.
type pageHome struct {
	dashboard.Home
	Left int `json:"left,omitempty"` // sessions that are over and not listed
}

type pageListing struct {
	Homes   []pageHome `json:"homes"`
	Problem string     `json:"problem,omitempty"`
}

func forPage(l *dashboard.Listing) pageListing {
	out := pageListing{Homes: []pageHome{}, Problem: l.Problem}
	for _, home := range l.Homes {
		h := pageHome{Home: home}
		if most := h.Active + maxEnded; len(h.Sessions) > most { // active ones come first
			h.Left = len(h.Sessions) - most
			h.Sessions = h.Sessions[:most]
		}
		out.Homes = append(out.Homes, h)
	}
	return out
}

// ask keeps the workspace's agents up to date until ctx is done.
func (h *hub) ask(ctx context.Context) {
	if h.keeper == nil {
		return
	}
	fleet.Poll(ctx, fleet.Every, h.stale, h.ps, func(raw json.RawMessage, _ error) { h.show(&h.agents, raw) })
}

// show takes over a part of what pages show.
func (h *hub) show(part *json.RawMessage, now json.RawMessage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if bytes.Equal(*part, now) {
		return
	}
	*part = now
	h.rev++
	for wake := range h.pages {
		wakeUp(wake)
	}
}

// encode is for what is always JSON.
func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic("web: not encoded: " + err.Error())
	}
	return raw
}

// refresh has the keeper asked at once.
func (h *hub) refresh() { wakeUp(h.stale) }

// workspace is what a page shows of the keeper.
type workspace struct {
	keeper.Ps
	Unknown   string     `json:"unknown,omitempty"` // why nothing is known of the agents
	Attention *attention `json:"attention,omitempty"`
}

func (h *hub) ps(ctx context.Context) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*fleet.Every)
	defer cancel()
	now, err := h.keeper.Now(ctx)
	h.keepMinds(now.Agents)
	w := workspace{Ps: now.Ps}
	if w.Agents == nil {
		w.Config, w.Agents = h.keeper.Config, []keeper.AgentStatus{}
	}
	if now.Attention != nil { // an older keeper does not know
		w.Attention = newAttention(*now.Attention)
	}
	if err != nil {
		if _, serr := os.Stat(h.keeper.Config); serr != nil && fault.KindOf(err) == fault.NotRunning {
			return nil, nil // no workspace here
		}
		w.Unknown = err.Error()
	}
	return encode(w), nil
}

// wakeUp wakes the receiver. It never blocks: one pending token is enough.
func wakeUp(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

// join registers a page, which is woken at each change until leave.
func (h *hub) join(wake chan<- struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pages[wake] = true
	wakeUp(wake)
}

func (h *hub) leave(wake chan<- struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.pages, wake)
}

// since returns the current state, unless the page has it already.
func (h *hub) since(rev uint64) (homes, agents, kernels json.RawMessage, now uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.rev == rev {
		return nil, nil, nil, rev
	}
	return h.homes, h.agents, h.kernels, h.rev
}

// find returns a listed session by id. Requests never name a path.
func (h *hub) find(id string) (*dashboard.Session, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, ok := h.listing.Find(id)
	if !ok {
		return nil, fault.Errorf(fault.NotFound, "no session '%s'", id)
	}
	return s, nil
}

const (
	maxWaiting = 200      // entries that a page gets; it shows the number of the others
	maxShown   = 16 << 10 // bytes that a page gets of each text of a request
)

// attention is what a page shows of what waits for a person.
type attention struct {
	Waiting     []waiting         `json:"waiting"`
	Left        int               `json:"left,omitempty"` // that wait and are not among them
	Recent      []keeper.Approval `json:"recent,omitempty"`
	Unreachable []string          `json:"unreachable,omitempty"`
}

// waiting is one thing that waits, with texts that are short enough for a page.
type waiting struct {
	keeper.Waiting
	Input string `json:"input,omitempty"` // the tool's own, as JSON, of a request for permission
	// Cut says that the page has not all of the request. Nobody can approve
	// what they do not see.
	Cut bool `json:"cut,omitempty"`
}

func newAttention(all keeper.Attention) *attention {
	shown := all.Waiting[:min(len(all.Waiting), maxWaiting)]
	a := &attention{Waiting: []waiting{}, Left: len(all.Waiting) - len(shown), Recent: all.Recent, Unreachable: all.Unreachable}
	for _, w := range shown {
		a.Waiting = append(a.Waiting, newWaiting(w))
	}
	for i := range a.Recent {
		shortenRequest(&a.Recent[i].Request)
	}
	return a
}

func newWaiting(w keeper.Waiting) waiting {
	out := waiting{Waiting: w}
	out.What, _ = brief.Bytes(w.What, maxShown)
	if w.Approval == nil {
		return out
	}
	approval := *w.Approval
	var cut bool
	out.Input, cut = brief.Bytes(inputText(approval.Detail), maxShown)
	approval.Detail = nil
	out.Cut = shortenRequest(&approval.Request) || cut
	out.Approval = &approval
	return out
}

// inputText returns the tool's own input of a request, for people.
func inputText(detail json.RawMessage) string {
	var d struct {
		Request struct {
			Input json.RawMessage `json:"input"`
		} `json:"request"`
	}
	var out bytes.Buffer
	if json.Unmarshal(detail, &d) != nil || len(d.Request.Input) == 0 || json.Indent(&out, d.Request.Input, "", "  ") != nil {
		return ""
	}
	return out.String()
}

// shortenRequest bounds the texts of a request, and reports whether something
// was cut off.
func shortenRequest(r *keeper.ApprovalRequest) (cut bool) {
	for _, text := range []*string{&r.Tool, &r.Command, &r.Dir, &r.URL, &r.Text} {
		var c bool
		*text, c = brief.Bytes(*text, maxShown)
		cut = cut || c
	}
	size := 0
	for i, path := range r.Paths {
		if size += len(path); size > maxShown {
			r.Paths = r.Paths[:i:i]
			return true
		}
	}
	return cut
}
