// Package notes follows the turns of agents, and notes them beside their sessions.
package notes

import (
	"cmp"
	"errors"
	"fmt"
	"log"
	"sync"
	"time"

	"den/internal/agent/conversation"
	"den/internal/base/fault"
	"den/internal/keeper"
	"den/internal/session/attention"
	"den/internal/session/home"
)

// Agent follows the turns of one agent, as its conversation tells them, and
// notes them beside its session, where those find them who ask no keeper. A
// program that is no coding agent has none: its host notes as much.
type Agent struct {
	lock string // that this keeper holds
	home home.Home

	mu       sync.Mutex       // guards the fields below
	agent    string           // its name
	session  func() string    // its session for den's own verbs, or ""
	handed   func() time.Time // when it was last handed a message, or zero
	noted    attention.Note
	question *attention.Question
	source   string
	loaded   bool
	settled  bool      // it has come up: see settles
	told     bool      // that it works, by the truest source that it has
	rested   time.Time // when it was last ready, or came up
	looked   time.Time // of an agent without a session in the Home
}

// Book has the notes of all agents that a keeper has had.
type Book struct {
	home home.Home
	lock string // that this keeper holds

	mu  sync.Mutex        // guards all
	all map[string]*Agent // by key
}

// New returns an empty book of the keeper that holds a lock.
func New(root home.Home, lock string) *Book {
	return &Book{home: root, lock: lock, all: map[string]*Agent{}}
}

// Of returns the notes of an agent by its key: another file does not make it
// another agent.
func (b *Book) Of(key string) *Agent {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.all[key]
	if a == nil {
		a = &Agent{lock: b.lock, home: b.home, session: func() string { return "" }, handed: func() time.Time { return time.Time{} }}
		b.all[key] = a
	}
	return a
}

// Follow says whose turns they are.
func (t *Agent) Follow(agent string, session func() string, handed func() time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.agent, t.session, t.handed = agent, session, handed
}

// Take notes a change of the agent's state.
func (t *Agent) Take(s conversation.State) {
	t.mu.Lock()
	defer t.mu.Unlock()
	dir, err := t.dirLocked()
	if err == nil && !t.loaded {
		t.loadLocked(dir)
	}
	at := s.Since
	if at.IsZero() {
		at = time.Now()
	}
	t.noted = nextNote(t.noted, s, at.UTC(), t.atTurn())
	t.observe(s, at)
	t.source = s.SourceName()
	t.question = questionOf(s, at.UTC())
	if err != nil {
		return // it has no session in the Home, or none yet
	}
	if err := dir.SaveAgentNote(t.noteLocked()); err != nil {
		log.Print(err)
	}
}

// atTurn reports whether an agent that works is at a turn. One that has come up
// may look busy on its screen for a while, until its own source tells: that is a
// turn only if it was handed a message.
func (t *Agent) atTurn() bool {
	return t.settled && (t.told || t.handed().After(t.rested))
}

// observe keeps what the next change is judged by.
func (t *Agent) observe(s conversation.State, at time.Time) {
	t.settled = t.settles(s)
	switch s.Activity {
	case conversation.Starting, conversation.Ready:
		t.told, t.rested = false, at
	case conversation.Busy, conversation.Asking:
		t.told = t.told || s.Fallback == "" || s.Activity == conversation.Asking
	}
}

// settles reports whether a program that works from now on works at a turn. One
// that comes up draws its screen, and looks busy to all but its own source.
func (t *Agent) settles(s conversation.State) bool {
	switch s.Activity {
	case conversation.Starting:
		return false
	case conversation.Busy:
		return t.settled || s.Source != "" && s.Source != "screen" && s.Source != "kernel"
	case conversation.Unknown, conversation.Gone:
		return t.settled
	}
	return true
}

// nextNote is the rule: which turns a change of state begins and ends. An agent
// that works and is not at a turn has only come up.
func nextNote(t attention.Note, s conversation.State, at time.Time, atTurn bool) attention.Note {
	switch s.Activity {
	case conversation.Starting:
		return attention.Note{}
	case conversation.Busy, conversation.Asking:
		return t.Work(at)
	case conversation.TurnFailed:
		why := cmp.Or(s.Why, "its turn failed")
		if t.Activity == attention.Working || t.Failure != why {
			return t.Fail(at, why)
		}
	case conversation.Ready:
		end := attention.Idle
		if t.Activity == attention.Working && atTurn {
			end = attention.News
		}
		return t.Rest(at, end)
	}
	return t
}

func questionOf(s conversation.State, at time.Time) *attention.Question {
	if s.Activity != conversation.Asking || s.Question == nil {
		return nil
	}
	q := &attention.Question{Text: keeper.OneLine(s.Question.Text), Asked: at}
	for _, o := range s.Question.Options {
		q.Options = append(q.Options, o.Label)
	}
	return q
}

func (t *Agent) noteLocked() home.AgentNote {
	return home.AgentNote{Agent: t.agent, Note: t.noted, Question: t.question, Source: t.source, Lock: t.lock}
}

// note is what is known of the agent, or nil while nothing was told.
func (t *Agent) note() *home.AgentNote {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.source == "" {
		return nil
	}
	n := t.noteLocked()
	return &n
}

// loadLocked takes over what a keeper before noted of the same session.
func (t *Agent) loadLocked(dir home.Dir) {
	t.loaded = true
	if n, err := dir.LoadAgentNote(); err == nil && n != nil && n.Agent == t.agent {
		t.noted, t.settled, t.told, t.rested = n.Note, true, n.Activity == attention.Working, n.Since
	}
}

var errNoSession = errors.New("the agent has no session in the Home")

// dir is the directory of the agent's session.
func (t *Agent) dir() (home.Dir, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.dirLocked()
}

func (t *Agent) dirLocked() (home.Dir, error) {
	name := t.session()
	if name == "" {
		return home.Dir{}, errNoSession
	}
	return t.home.Find(name)
}

// Look notes that somebody looked at the agent, or was told what it did.
func (t *Agent) Look(now time.Time) error {
	dir, err := t.dir()
	if err == nil {
		return dir.Look(now)
	}
	if !errors.Is(err, errNoSession) && fault.KindOf(err) != fault.NotFound {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.looked = now
	return nil
}

// Attention returns whether the agent needs a person. t is nil for an agent that
// is not of this workspace any more.
func (t *Agent) Attention(s keeper.AgentStatus) attention.Attention {
	f := attention.Facts{}
	if t != nil && s.Actual == keeper.Running {
		f = t.running()
	} else if t != nil {
		f.Looked = t.lastLook()
	}
	switch s.Actual {
	case keeper.Quarantined:
		f.Broken = &attention.Event{At: s.Since, What: keeper.OneLine(s.Why)}
	case keeper.Stopped, keeper.Suspended:
		f.Ended = &attention.Ending{At: s.Since, Known: true}
	case keeper.Finished:
		f.Ended = &attention.Ending{At: s.Since}
		if s.ExitCode != nil && *s.ExitCode != 0 {
			f.Ended.Failure = fmt.Sprintf("exit %d", *s.ExitCode)
		}
	case keeper.Running:
	default:
		f.Note = attention.Note{}.Work(s.Since)
	}
	return attention.Of(f)
}

// running gathers what is known of an agent that runs.
func (t *Agent) running() attention.Facts {
	note := t.note()
	if dir, err := t.dir(); err == nil {
		if m, err := dir.Inspect(); err == nil && m.Status.Active() {
			return dir.Facts(m, note)
		}
	}
	f := attention.Facts{Looked: t.lastLook()}
	if note != nil {
		f.Note, f.Question, f.Source = note.Note, note.Question, note.Source
	}
	return f
}

// lastLook is when somebody last looked at the agent, or zero.
func (t *Agent) lastLook() time.Time {
	if dir, err := t.dir(); err == nil {
		return dir.Looked()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.looked
}
