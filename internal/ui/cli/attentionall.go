package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"den/internal/keeper"
	"den/internal/session/attention"
	"den/internal/session/home"
)

// attentionLimit bounds how long a keeper may take to tell what waits.
const attentionLimit = 3 * time.Second

// everywhere lists what needs a person in all workspaces that have a keeper,
// and in all Homes, what waits longest first.
func (a *app) everywhere(ctx context.Context) (keeper.Attention, error) {
	all := keeper.Attention{Waiting: []keeper.Waiting{}}
	own, err := a.home()
	if err != nil {
		return all, err
	}
	caller := keeper.Caller{Home: own, Getenv: a.getenv}
	here, _ := a.stateDir() // Best effort: without one no workspace is the nearest.
	kept := keeper.Kept(caller)
	answers := make([]*keeper.Attention, len(kept))
	var asking sync.WaitGroup
	for i, place := range kept {
		asking.Go(func() { answers[i] = askWorkspace(ctx, place, place == here) })
	}
	asking.Wait()
	tags := map[string]bool{} // of the sessions whose keepers tell of them
	for i, answer := range answers {
		if answer == nil {
			all.Unreachable = append(all.Unreachable, kept[i].Config)
			continue
		}
		if id, err := kept[i].Identify(caller); err == nil {
			tags[id.ID] = true
		}
		all.Waiting = append(all.Waiting, answer.Waiting...)
		all.Recent = append(all.Recent, answer.Recent...)
		all.Unreachable = append(all.Unreachable, answer.Unreachable...)
	}
	homes, _ := withKnown(own, home.NewRegistry(a.getenv)) // Best effort: the registry is advisory.
	for _, root := range homes {
		all.Waiting = append(all.Waiting, waitingSessions(root, root == own, tags)...)
	}
	slices.SortStableFunc(all.Waiting, longestFirst)
	return all, nil
}

// longestFirst orders what waits; what waits for an unknown time is last.
func longestFirst(a, b keeper.Waiting) int {
	if x, y := a.Since.IsZero(), b.Since.IsZero(); x != y {
		if x {
			return 1
		}
		return -1
	}
	return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID))
}

// askWorkspace asks one keeper; nil if it does not answer. Its commands name the
// workspace's file where it is not the nearest one.
func askWorkspace(ctx context.Context, place keeper.StateDir, nearest bool) *keeper.Attention {
	ctx, cancel := context.WithTimeout(ctx, attentionLimit)
	defer cancel()
	from := keeper.AttentionFrom{}
	if !nearest {
		from.File = place.Config
	}
	var all keeper.Attention
	if err := keepAt(ctx, place, keeper.MethodAttention, from, &all); err != nil {
		return nil
	}
	if nearest {
		return &all
	}
	for i := range all.Waiting { // two workspaces may have agents of one name
		all.Waiting[i].Workspace = place.Config
		all.Waiting[i].ID = place.Config + ":" + all.Waiting[i].ID
	}
	return &all
}

// waitingSessions lists what needs a person in the sessions of a Home, without
// those of agents whose keeper tells of them. Of the lives of another agent the
// latest speaks for it.
func waitingSessions(root home.Home, own bool, tags map[string]bool) []keeper.Waiting {
	dirs, err := root.All()
	if err != nil {
		return nil // what cannot be read is told by 'den ls'
	}
	var all []keeper.Waiting
	failures := map[string]int{} // of agents, as far as their lives are kept
	for _, d := range dirs {     // oldest first
		m, err := d.Inspect()
		if err != nil {
			continue
		}
		if tag, _, ok := strings.Cut(m.Name, "."); ok && tags[tag] {
			continue
		}
		at := d.Attention(m)
		newest, err := root.Find(m.Name)
		named := err == nil && newest.ID == d.ID
		if m.Labels[home.OwnerLabel] != "" {
			if at.State == attention.Failed {
				failures[m.Name]++
			}
			if err == nil && !named {
				continue // what cannot be told is listed
			}
			if n := failures[m.Name]; n > 1 && at.State == attention.Failed {
				at.What += fmt.Sprintf(" (at least %d times)", n)
			}
		}
		if at.State.NeedsPerson() {
			all = append(all, waitingSession(d, m, at, own, named))
		}
	}
	return all
}

// waitingSession is what a session waits with. named says that it has its name:
// another one may have it by now.
func waitingSession(d home.Dir, m *home.Manifest, at attention.Attention, own, named bool) keeper.Waiting {
	name, prefix := m.Name, "den "
	if !own {
		prefix += "--home " + shellWord(d.Home.Path) + " "
	}
	if !named {
		name = m.ID
	}
	name = shellWord(name)
	action := func(what, verb, rest string) keeper.Action {
		return keeper.Action{Name: what, Command: prefix + verb + " " + name + rest}
	}
	w := keeper.Waiting{
		ID: "session:" + m.ID, Session: m.Name, Home: d.Home.Path, State: at.State, Since: at.Since, What: at.What, Evidence: cmp.Or(at.Source, "its record"),
		Actions: []keeper.Action{action("look", "snapshot", ""), action("seen", "seen", "")},
	}
	switch {
	case at.State == attention.Asking:
		w.Kind, w.Actions = keeper.WaitingCell, []keeper.Action{action("answer", "answer", " TEXT"), action("interrupt", "int", "")}
	case at.State == attention.Failed:
		w.Kind = keeper.WaitingFailed
	case m.Status.Final():
		w.Kind, w.What = keeper.WaitingDone, "it has ended"
	default:
		w.Kind, w.What = keeper.WaitingDone, "its turn is over"
	}
	return w
}

// shellWord quotes a word for a POSIX shell, where that is needed.
func shellWord(word string) string {
	odd := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_@%+=:,./-", r))
	}
	if word != "" && strings.IndexFunc(word, odd) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// followEverywhere tells of changes of what needs a person until the context
// ends.
func (a *app) followEverywhere(ctx context.Context, tell func(attentionChange) error) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	news := attentionNews{tell: tell}
	for {
		now, err := a.everywhere(ctx)
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err() // what was cut off is not the truth
		}
		if err := news.take(now); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
