package notes

import (
	"os"
	"testing"
	"time"

	"den/internal/agent/conversation"
	"den/internal/base/ident"
	"den/internal/keeper"
	"den/internal/session/attention"
	"den/internal/session/home"
)

// A turn ends when an agent that worked or asked is ready again, or has failed;
// an agent that has just started has ended none.
func TestTurnsOfAConversation(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(1000+s), 0).UTC() }
	asks := conversation.State{Activity: conversation.Asking, Question: &conversation.Question{Text: "Run make?", Options: []conversation.Option{{ID: "1", Label: "Yes"}}}}
	fails := conversation.State{Activity: conversation.TurnFailed, Why: "the API refused"}
	told := func(activity conversation.Activity) conversation.State {
		return conversation.State{Activity: activity, Source: "its server"}
	}
	drawn := conversation.State{Activity: conversation.Busy, Source: "screen"}
	instead := conversation.State{Activity: conversation.Busy, Source: "screen", Fallback: "its server does not answer"}
	for name, c := range map[string]struct {
		states []conversation.State
		want   attention.State
		since  int
	}{
		"it has just started":      {[]conversation.State{told(conversation.Starting), told(conversation.Ready)}, attention.Ready, 2},
		"it works":                 {[]conversation.State{told(conversation.Ready), told(conversation.Busy)}, attention.Busy, 2},
		"its turn is over":         {[]conversation.State{told(conversation.Busy), told(conversation.Ready)}, attention.Done, 2},
		"it has drawn its screen":  {[]conversation.State{told(conversation.Starting), drawn, told(conversation.Ready)}, attention.Ready, 3},
		"a turn seen on a screen":  {[]conversation.State{told(conversation.Starting), drawn, told(conversation.Ready), drawn, told(conversation.Ready)}, attention.Done, 5},
		"it looks busy":            {[]conversation.State{told(conversation.Starting), told(conversation.Ready), instead, told(conversation.Ready)}, attention.Ready, 4},
		"its server tells later":   {[]conversation.State{told(conversation.Ready), instead, told(conversation.Busy), told(conversation.Ready)}, attention.Done, 4},
		"it asks":                  {[]conversation.State{told(conversation.Busy), asks}, attention.Asking, 2},
		"it was answered":          {[]conversation.State{asks, told(conversation.Busy)}, attention.Busy, 1},
		"it was denied":            {[]conversation.State{asks, told(conversation.Ready)}, attention.Done, 2},
		"its turn failed":          {[]conversation.State{told(conversation.Busy), fails}, attention.Failed, 2},
		"it failed, and is told":   {[]conversation.State{told(conversation.Busy), fails, fails}, attention.Failed, 2},
		"it is tried again":        {[]conversation.State{told(conversation.Busy), fails, told(conversation.Busy)}, attention.Busy, 3},
		"it is started again":      {[]conversation.State{told(conversation.Busy), told(conversation.Starting), told(conversation.Ready)}, attention.Ready, 3},
		"nobody can tell any more": {[]conversation.State{told(conversation.Busy), told(conversation.Ready), told(conversation.Unknown)}, attention.Done, 2},
	} {
		t.Run(name, func(t *testing.T) {
			note := &Agent{agent: "a", session: func() string { return "" }, handed: func() time.Time { return time.Time{} }}
			for i, s := range c.states {
				s.Since = at(i + 1)
				note.Take(s)
			}
			got := note.Attention(keeper.AgentStatus{Actual: keeper.Running})
			if got.State != c.want || !got.Since.Equal(at(c.since)) {
				t.Errorf("%+v, want %s since %v", got, c.want, at(c.since))
			}
			if err := note.Look(at(60)); err != nil {
				t.Fatal(err)
			}
			got = note.Attention(keeper.AgentStatus{Actual: keeper.Running})
			if needs := c.want == attention.Asking; got.State.NeedsPerson() != needs {
				t.Errorf("somebody has looked: %+v", got)
			}
		})
	}
}

// Who asked may have the answer before the keeper is told that the turn is over.
func TestAnswerBeforeTheStateIsNoNews(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(1000+s), 0).UTC() }
	note := &Agent{agent: "a", session: func() string { return "" }, handed: func() time.Time { return time.Time{} }}
	note.Take(conversation.State{Activity: conversation.Busy, Source: "harness", Since: at(1)})
	if err := note.Look(at(3)); err != nil {
		t.Fatal(err)
	}
	note.Take(conversation.State{Activity: conversation.Ready, Source: "harness", Since: at(2)})
	if got := note.Attention(keeper.AgentStatus{Actual: keeper.Running}); got.State != attention.Ready {
		t.Errorf("%+v", got)
	}
	// What it does next is.
	note.Take(conversation.State{Activity: conversation.Busy, Source: "harness", Since: at(4)})
	note.Take(conversation.State{Activity: conversation.Ready, Source: "harness", Since: at(5)})
	if got := note.Attention(keeper.AgentStatus{Actual: keeper.Running}); got.State != attention.Done {
		t.Errorf("%+v", got)
	}
}

// A message makes a turn of what only looks like work.
func TestTurnOfAMessage(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(1000+s), 0).UTC() }
	note := &Agent{agent: "a", session: func() string { return "" }, handed: func() time.Time { return at(2) }}
	for i, s := range []conversation.State{
		{Activity: conversation.Starting}, {Activity: conversation.Ready, Source: "screen"},
		{Activity: conversation.Busy, Source: "screen", Fallback: "its server does not answer"}, {Activity: conversation.Ready, Source: "screen"},
	} {
		s.Since = at(i)
		note.Take(s)
	}
	if got := note.Attention(keeper.AgentStatus{Actual: keeper.Running}); got.State != attention.Done {
		t.Errorf("%+v", got)
	}
}

// What the keeper decided of an agent counts before what it last did.
func TestAttentionOfAgentsThatDoNotRun(t *testing.T) {
	one := 1
	since := time.Unix(1000, 0)
	for name, c := range map[string]struct {
		status keeper.AgentStatus
		want   attention.State
	}{
		"quarantined":     {keeper.AgentStatus{Actual: keeper.Quarantined, Why: "it failed five times"}, attention.Failed},
		"stopped":         {keeper.AgentStatus{Actual: keeper.Stopped}, attention.Over},
		"finished":        {keeper.AgentStatus{Actual: keeper.Finished}, attention.Done},
		"finished, badly": {keeper.AgentStatus{Actual: keeper.Finished, ExitCode: &one}, attention.Failed},
		"starting":        {keeper.AgentStatus{Actual: keeper.Starting}, attention.Busy},
	} {
		note := &Agent{agent: "a", session: func() string { return "" }, handed: func() time.Time { return time.Time{} }}
		note.Take(conversation.State{Activity: conversation.Busy})
		c.status.Since = since
		if got := note.Attention(c.status); got.State != c.want || !got.Since.Equal(since) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A keeper goes on with what the one before noted.
func TestTurnsOutliveTheirKeeper(t *testing.T) {
	root := home.Home{Path: t.TempDir()}
	dir := root.Dir(ident.New(time.Now()))
	if err := os.MkdirAll(dir.Path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := dir.Save(&home.Manifest{ID: dir.ID, Name: "s", Status: home.Running}); err != nil {
		t.Fatal(err)
	}
	first := &Agent{agent: "a", home: root, session: func() string { return dir.ID }, handed: func() time.Time { return time.Time{} }}
	first.Take(conversation.State{Activity: conversation.Busy, Source: "its server"})
	first.Take(conversation.State{Activity: conversation.Ready})
	next := &Agent{agent: "a", home: root, session: func() string { return dir.ID }, handed: func() time.Time { return time.Time{} }}
	next.Take(conversation.State{Activity: conversation.Ready})
	if n := next.note(); n == nil || n.Over.IsZero() {
		t.Errorf("what was news is none any more: %+v", n)
	}
}
