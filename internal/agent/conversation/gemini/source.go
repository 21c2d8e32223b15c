// Package gemini reads what a Gemini CLI in a terminal does from the title that
// it gives its window.
//
// The title tells work from waiting for a decision, also after a denial, where
// hooks are silent. It begins with a sign; the words after the sign may be in
// another language or cut. The chat files of the working directory have what was
// said.
package gemini

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"den/internal/agent/conversation"
	"den/internal/agent/conversation/watch"
	"den/internal/base/fault"
)

// Name is what State.Source says.
const Name = "gemini window title"

// every is how often the title is read: nothing tells that it has changed.
const every = 250 * time.Millisecond

// The signs that titles begin with.
const (
	readySign  = '◇'
	busySign   = '✦'
	silentSign = '⏲' // it works and has printed nothing for a while
	askingSign = '✋'
)

// Options says whose state is read.
type Options struct {
	// Title returns the window's title. A session that has ended is
	// fault.NotRunning.
	Title func(ctx context.Context) (string, error)
	// Processes lists the processes of the agent's session.
	Processes func(ctx context.Context) ([]int, error)
	// Home is Gemini's: .gemini in $GEMINI_CLI_HOME or the home directory; or
	// "" where its files cannot be read.
	Home string
}

// Source reads the title of one window.
type Source struct {
	*watch.Watch
	options Options
	chats   chats

	mu     sync.Mutex // guards the fields below
	asking bool       // when the title was read last
	asked  int        // how often it began to ask
}

var _ conversation.Source = (*Source)(nil)

// Open begins to read.
func Open(o Options) *Source {
	s := &Source{options: o}
	s.Watch = watch.Start(watch.Options{Read: s.read, Every: every})
	return s
}

// Name says what is read.
func (*Source) Name() string { return Name }

func (s *Source) read(ctx context.Context) (conversation.State, error) {
	title, err := s.options.Title(ctx)
	if err == nil {
		return s.numbered(parseTitle(title)), nil
	}
	if k := fault.KindOf(err); k != fault.NotRunning && k != fault.NotFound {
		return conversation.State{}, err
	}
	pids, perr := s.options.Processes(ctx)
	if perr != nil || len(pids) > 0 {
		return conversation.State{}, err
	}
	return watch.Gone(Name), nil
}

// numbered gives a question an id. The title tells no question from another:
// one that begins between two reads, right after the one before, has its id.
func (s *Source) numbered(state conversation.State) conversation.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state.Question != nil && !s.asking {
		s.asked++
	}
	s.asking = state.Question != nil
	if s.asking {
		state.Question.ID = "title-" + strconv.Itoa(s.asked)
	}
	return state
}

// parseTitle is what a title says. One of another program, or none, leaves it
// to the screen.
func parseTitle(title string) conversation.State {
	s := conversation.State{Activity: conversation.Unknown, Source: Name}
	title = strings.TrimSpace(title)
	sign, _ := utf8.DecodeRuneInString(title)
	switch sign {
	case readySign:
		s.Activity = conversation.Ready
	case busySign, silentSign:
		s.Activity = conversation.Busy
	case askingSign:
		s.Activity = conversation.Asking
		s.Question = &conversation.Question{Kind: conversation.Permission, Vague: true, SharedID: true, Text: strings.TrimSpace(strings.TrimPrefix(title, string(askingSign)))}
	default:
		s.Why = fmt.Sprintf("the window's title is %q", title)
	}
	return s
}
