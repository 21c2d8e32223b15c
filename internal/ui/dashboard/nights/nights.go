// Package nights is the read model of agents that sleep and wake, for the
// dashboards: what each does, its ticks, and what belongs to one.
//
// It reads what 'den kernel status' and 'den kernel replay' read, and opens an
// instance for each call: somebody may remove or move it. Nothing is kept
// between calls. A page of ticks costs a small file for each of them.
package nights

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"den/internal/base/brief"
	"den/internal/base/fault"
	"den/internal/screen/eventlog"
	"den/internal/ticks/history"
	"den/internal/ticks/instance"
	"den/internal/ticks/plan"
	"den/internal/ticks/registry"
	"den/internal/ticks/transcript"
	"den/internal/ui/dashboard"
)

// Model reads the instances of one user. It is safe for concurrent use.
type Model struct {
	getenv   func(string) string
	registry registry.Registry
}

// New returns a model of the instances in the registry of a user.
func New(getenv func(string) string) (*Model, error) {
	r, err := registry.New(getenv)
	if err != nil {
		return nil, err
	}
	return &Model{getenv: getenv, registry: r}, nil
}

// Agent is an instance, as it is now.
type Agent struct {
	Name        string         `json:"name"`
	State       instance.State `json:"state"` // "missing" where there is no repository
	Why         string         `json:"why"`
	Tick        int            `json:"tick"` // the last that has begun
	Doing       string         `json:"doing,omitempty"`
	Watched     bool           `json:"watched"`
	Paused      string         `json:"paused,omitempty"`
	PausedSince time.Time      `json:"paused_since,omitzero"`
	Waiting     []plan.Cause   `json:"waiting,omitempty"` // what begins the next tick
	Wakes       []Wake         `json:"wakes,omitempty"`   // that are scheduled, the next first
	Failures    int            `json:"failures,omitempty"`
	Problem     string         `json:"problem,omitempty"` // what could not be read
}

// Missing is the state of an instance whose repository cannot be opened.
const Missing instance.State = "missing"

// Wake is one that will come.
type Wake struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"`
}

// Bounds of what is told of one agent.
const (
	maxAgents  = 200
	maxWakes   = 20
	maxWaiting = 50
	maxText    = 300 // characters
)

// Agents returns the instances, by name. problem says why some may be missing,
// or is "".
func (m *Model) Agents(ctx context.Context, now time.Time) (all []Agent, problem string) {
	known, err := m.registry.List()
	if err != nil {
		return nil, err.Error()
	}
	if len(known) > maxAgents {
		problem = fmt.Sprintf("%d of %d instances are shown", maxAgents, len(known))
		known = known[:maxAgents]
	}
	for _, k := range known {
		all = append(all, m.agent(ctx, k, now))
	}
	return all, problem
}

func (m *Model) agent(ctx context.Context, known registry.Instance, now time.Time) Agent {
	in, err := instance.Open(known, m.getenv)
	if err != nil {
		return Agent{Name: known.Name, State: Missing, Why: err.Error()}
	}
	defer in.Close() // Best effort: it is a directory that is open.
	s, err := in.Status(ctx, now)
	if err != nil {
		return Agent{Name: known.Name, State: instance.Unknown, Why: err.Error()}
	}
	a := Agent{
		Name: s.Name, State: s.State, Why: clip(s.Why), Tick: s.Tick, Doing: clip(s.Doing), Watched: s.Watch != nil,
		Paused: clip(s.Paused), Failures: s.Failures, Problem: clip(s.Problem),
	}
	if s.Paused != "" {
		a.PausedSince, _ = in.Repo.PausedSince() // Best effort: that it is paused is what counts.
	}
	for _, c := range s.Waiting[:min(len(s.Waiting), maxWaiting)] {
		a.Waiting = append(a.Waiting, plan.Cause{Kind: c.Kind, Reason: clip(c.Reason)})
	}
	a.Wakes = wakesOf(ctx, in, now)
	return a
}

// wakesOf are the wakes that will come. What is wrong with the schedule is told
// by the status.
func wakesOf(ctx context.Context, in *instance.Instance, now time.Time) []Wake {
	look, err := in.Wakes.Look(ctx, now)
	if err != nil {
		return nil
	}
	var all []Wake
	for _, w := range look.Wakes {
		if !w.Next.IsZero() {
			all = append(all, Wake{At: w.Next, Reason: clip(w.Reason)})
		}
	}
	slices.SortStableFunc(all, func(a, b Wake) int { return a.At.Compare(b.At) })
	return all[:min(len(all), maxWakes)]
}

// open opens an instance by its name. Its caller closes it.
func (m *Model) open(name string) (*instance.Instance, error) {
	known, err := m.registry.Get(name)
	if err != nil {
		return nil, err
	}
	return instance.Open(known, m.getenv)
}

// clip bounds a text that others wrote.
func clip(text string) string { return brief.Runes(strings.TrimSpace(text), maxText+1) }

// Bar is a tick on a timeline.
type Bar struct {
	Number int                `json:"tick"`
	State  instance.TickState `json:"state"`
	Began  time.Time          `json:"began,omitzero"` // zero: that is not known
	// Until is the end, or, if Open is set, when the tick was last known to
	// live.
	Until     time.Time    `json:"until,omitzero"`
	Open      bool         `json:"open,omitempty"` // the end is not known, or has not come
	Reason    plan.Reason  `json:"reason,omitempty"`
	Why       string       `json:"why,omitempty"`
	Causes    []plan.Cause `json:"causes,omitempty"`
	Runner    string       `json:"runner,omitempty"`
	Model     string       `json:"model,omitempty"`
	Turns     int          `json:"turns"`
	CostUSD   float64      `json:"cost_usd,omitempty"`
	Terminals int          `json:"terminals"`
	Last      string       `json:"last,omitempty"`
}

// Page is a part of an agent's ticks.
type Page struct {
	Ticks  []Bar `json:"ticks"`            // the newest first
	Before int   `json:"before,omitempty"` // where the older ones begin; 0: there are none
}

// MaxPage is how many ticks one page has at most.
const MaxPage = 500

// maxCauses bounds what a bar tells of why its tick began.
const maxCauses = 5

// Ticks returns up to n ticks before a number; 0 is from the newest on.
func (m *Model) Ticks(name string, before, n int) (Page, error) {
	in, err := m.open(name)
	if err != nil {
		return Page{}, err
	}
	defer in.Close() // Best effort: it is a directory that is open.
	found, err := in.Ticks(before, max(1, min(n, MaxPage)))
	if err != nil {
		return Page{}, err
	}
	page := Page{Ticks: []Bar{}, Before: found.Before}
	for _, t := range found.Ticks {
		page.Ticks = append(page.Ticks, barOf(t))
	}
	return page, nil
}

func barOf(t instance.Tick) Bar {
	until, known := t.Until()
	b := Bar{
		Number: t.Number, State: t.State, Began: t.Began, Until: until, Open: !known, Reason: t.Outcome.Reason, Why: clip(t.Outcome.Why),
		Runner: t.Runner, Model: t.Model, Turns: t.Turns, CostUSD: t.CostUSD, Terminals: len(t.Terminals), Last: clip(t.Last),
	}
	for _, c := range t.Causes[:min(len(t.Causes), maxCauses)] {
		b.Causes = append(b.Causes, plan.Cause{Kind: c.Kind, Reason: clip(c.Reason)})
	}
	return b
}

// Tick is what belongs to a tick.
type Tick struct {
	Bar
	Tokens        int64              `json:"tokens,omitempty"`
	Window        int64              `json:"window,omitempty"`
	Completed     time.Time          `json:"completed,omitzero"`
	Transcript    bool               `json:"transcript"` // there is one
	Terminals     []history.Terminal `json:"terminals"`
	Reconstructed bool               `json:"reconstructed,omitempty"`
	Last          int                `json:"last_tick"` // of the agent
}

// Tick returns one tick. One of which there is nothing is fault.NotFound.
func (m *Model) Tick(name string, number int) (Tick, error) {
	in, err := m.open(name)
	if err != nil {
		return Tick{}, err
	}
	defer in.Close() // Best effort: it is a directory that is open.
	found, err := in.Tick(number)
	if err != nil {
		return Tick{}, err
	}
	last, err := in.LastTick()
	if err != nil {
		return Tick{}, err
	}
	t := Tick{
		Bar: barOf(found), Tokens: found.Context.Tokens, Window: found.Context.Window, Completed: found.Completed,
		Transcript: found.Transcript != "", Terminals: []history.Terminal{}, Reconstructed: found.Reconstructed, Last: last,
	}
	if _, err := in.Repo.Stat(found.Transcript); err != nil {
		t.Transcript = false
	}
	t.Terminals = append(t.Terminals, found.Terminals...)
	return t, nil
}

// Bounds of what is told of a transcript at once.
const (
	maxEntries = 300
	maxEntry   = 12 << 10 // bytes of a text, or of an input
	maxPart    = 2 << 20  // bytes of all of them
)

// Part is a part of a transcript.
type Part struct {
	Entries []Entry `json:"entries"`
	Next    int     `json:"next,omitempty"` // where the rest begins; 0: there is none
}

// Entry is one of a transcript, with texts that are short enough for a page.
type Entry struct {
	transcript.Entry
	Text  string `json:"text,omitempty"`
	Input string `json:"input,omitempty"`
	Cut   bool   `json:"cut,omitempty"` // there is more of it
}

// errFull ends the reading of a transcript.
var errFull = errors.New("a part is full")

// Transcript returns a part of what was said and done in a tick, from the entry
// of a number on; the first is 0.
func (m *Model) Transcript(name string, number, from int) (Part, error) {
	in, err := m.open(name)
	if err != nil {
		return Part{}, err
	}
	defer in.Close() // Best effort: it is a directory that is open.
	t, err := in.Tick(number)
	if err != nil {
		return Part{}, err
	}
	f, err := in.Repo.Open(t.Tick.Transcript)
	if t.Tick.Transcript == "" || errors.Is(err, fs.ErrNotExist) {
		return Part{}, fault.Errorf(fault.NotFound, "tick %d of '%s' has no transcript", number, name)
	}
	if err != nil {
		return Part{}, err
	}
	defer f.Close() // Best effort: it was only read.
	return readPart(f, from)
}

func readPart(r io.Reader, from int) (Part, error) {
	part := Part{Entries: []Entry{}}
	n, size := -1, 0
	err := transcript.Read(r, func(e transcript.Entry) error {
		if n++; n < from {
			return nil
		}
		if len(part.Entries) == maxEntries || size > maxPart {
			part.Next = n
			return errFull
		}
		short := shorten(e)
		size += len(short.Text) + len(short.Input)
		part.Entries = append(part.Entries, short)
		return nil
	})
	if errors.Is(err, errFull) {
		err = nil
	}
	return part, err
}

func shorten(e transcript.Entry) Entry {
	out := Entry{Entry: e}
	input := string(e.Input)
	if e.Kind == transcript.Note {
		input = string(e.Detail)
	}
	var cutText, cutInput bool
	out.Text, cutText = brief.Bytes(e.Text, maxEntry)
	out.Input, cutInput = brief.Bytes(input, maxEntry)
	out.Cut = cutText || cutInput
	out.Entry.Input, out.Entry.Detail, out.Entry.Text = nil, nil, ""
	return out
}

// Terminal returns the recording of a terminal that was archived, and what it
// is called. One that is open has none: it is a session.
func (m *Model) Terminal(name string, number int, terminal string) (rec dashboard.Recording, title string, err error) {
	in, err := m.open(name)
	if err != nil {
		return rec, "", err
	}
	defer in.Close() // Best effort: it is a directory that is open.
	t, err := in.Tick(number)
	if err != nil {
		return rec, "", err
	}
	one, err := t.Terminal(terminal)
	if err != nil {
		return rec, "", err
	}
	title = fmt.Sprintf("%s-tick-%03d-terminal-%s", name, number, terminal)
	if one.Recording == "" {
		err := fault.Errorf(fault.NotFound, "terminal %s of tick %d of '%s' has no recording", terminal, number, name)
		if one.Note != "" {
			err = fault.Hintf(err, "%s", one.Note)
		}
		return rec, "", err
	}
	fi, err := in.Repo.Stat(one.Recording)
	if err != nil {
		return rec, "", fault.Errorf(fault.NotFound, "the recording of terminal %s is gone: %w", terminal, err)
	}
	key := fmt.Sprintf("%s/%s %d %d", in.Repo.Path(), one.Recording, fi.Size(), fi.ModTime().UnixNano())
	open := func() (*os.File, error) { // for each reading: nothing stays open
		in, err := m.open(name)
		if err != nil {
			return nil, err
		}
		defer in.Close() // Best effort: it is a directory that is open.
		return in.Repo.Open(one.Recording)
	}
	return dashboard.File(key, one.Opened, func() (*eventlog.Log, error) { return eventlog.OpenFile(one.Recording, open) }), title, nil
}
