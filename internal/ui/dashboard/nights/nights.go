// Package nights is the read model of agents that sleep and wake, for the
// dashboards: what each does, its ticks, and what belongs to one.
//
// It reads what 'den kernel status' and 'den kernel replay' read, and opens an
// instance for each call: somebody may remove or move it. Nothing is kept
// between calls. A page of ticks costs a small file for each of them.
package nights

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"den/internal/ticks/instance"
	"den/internal/ticks/plan"
	"den/internal/ticks/registry"
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
func clip(text string) string {
	text = strings.TrimSpace(text)
	if utf8.RuneCountInString(text) <= maxText {
		return text
	}
	return string([]rune(text)[:maxText]) + "…"
}
