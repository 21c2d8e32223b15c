package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"time"

	"den/internal/agent/conversation"
	"den/internal/agent/conversation/outbox"
	"den/internal/base/fault"
)

// openTurn is a turn that runs.
type openTurn struct {
	prompt    Prompt
	begun     time.Time
	cancelled atomic.Bool             // by a person
	silent    atomic.Bool             // cancelled because nothing came
	pausing   atomic.Pointer[Failure] // cancelled because the agent would wait for long; or nil
	pause     chan *Failure           // room for one: the first long pause that the agent announced
	denied    atomic.Bool             // something that the agent wanted to do
	used      Usage                   // as it was told last; of the goroutine that calls Turn
	abort     context.CancelFunc
	ended     chan struct{}
}

// longestPause is how long an agent may pause by itself within a turn, before
// it tries again what failed. A longer pause is den's: then the failure is
// shown, who asked is told, and a person can have it tried again at once.
const longestPause = time.Minute

// take runs one attempt of a message, and notes what became of it.
func (r *Runner) take(ctx context.Context, m outbox.Message) {
	text := m.Text
	if m.Attempts > 0 {
		text = resumeText(m.Text, whyCutOff(m), r.isOpen(m.TakenIn))
	}
	attempt := m.Attempts + 1
	err := r.queue.Update(m.ID, func(m *outbox.Message) {
		m.Status, m.Attempts, m.Reason = outbox.Sending, attempt, ""
	})
	if err != nil { // nothing is sent that would not be known after a crash
		r.config.Options.Log("begin a turn: " + err.Error())
		r.holdFor(&Failure{Class: Overload}, attempt)
		return
	}
	if attempt == 1 {
		r.tools.begin(m.ID)
	}
	o := r.runTurn(ctx, promptOf(m), text, attempt)
	if ctx.Err() != nil && (o.Failure != nil || o.Result.Cancelled) {
		return // it is told to the agent at the next start
	}
	if f := o.Failure; f != nil {
		if n := m.Failures[string(f.Class)] + 1; n < maxAttempts[f.Class] {
			r.interrupted(m, f, n)
			return
		}
	}
	r.finish(m, o)
}

// isOpen reports whether a session, by its id, is the one that is open.
func (r *Runner) isOpen(id string) bool {
	r.mu.Lock()
	session := r.session
	r.mu.Unlock()
	return id != "" && session != nil && session.ID() == id
}

// whyCutOff says why the last attempt of a message did not end: how it failed,
// where den lived to see it.
func whyCutOff(m outbox.Message) string {
	if m.Status == conversation.Taken || m.Reason == "" { // the reason is still the evidence that it was taken
		return "den was restarted"
	}
	return m.Reason
}

// interrupted notes an attempt that failed, the nth for this reason, and is made
// good by another.
func (r *Runner) interrupted(m outbox.Message, f *Failure, n int) {
	until := r.holdFor(f, n)
	err := r.queue.Update(m.ID, func(m *outbox.Message) {
		failures := map[string]int{}
		maps.Copy(failures, m.Failures)
		failures[string(f.Class)] = n
		m.Status, m.Reason, m.Failures = outbox.Sending, f.Error(), failures
	})
	if err != nil {
		r.config.Options.Log("note a failed turn: " + err.Error())
	}
	r.fail(f)
	r.config.Listener.Interrupted(promptOf(m), f, until)
}

// whyNoAnswer is for who asked, where there is no answer; else "".
func (o Outcome) whyNoAnswer() string {
	switch {
	case o.Failure != nil:
		return o.Failure.WithAdvice()
	case o.Result.Cancelled && strings.TrimSpace(o.Result.Text) == "":
		return "my turn was cancelled"
	case o.Denied && strings.TrimSpace(o.Result.Text) == "": // some agents end their turn then
		return "what I asked permission for was not allowed"
	}
	return ""
}

// finish notes the end of a message, on disk before anybody hears of it.
func (r *Runner) finish(m outbox.Message, o Outcome) {
	answer, reason := o.Result.Text, o.whyNoAnswer()
	err := r.queue.Update(m.ID, func(m *outbox.Message) {
		m.Status, m.Answer, m.Reason = conversation.Answered, answer, reason
	})
	if err != nil {
		r.config.Options.Log("note the end of a turn: " + err.Error())
	}
	if o.Failure != nil {
		r.fail(o.Failure)
	} else {
		r.mu.Lock()
		r.failure = nil
		r.breaker.Succeed()
		r.mu.Unlock()
	}
	r.tellState() // before those who wait for the answer have it
	r.config.Listener.TurnEnded(promptOf(m), o)
	r.tellState()
}

// runTurn gives the agent a prompt and waits for the turn's end.
func (r *Runner) runTurn(ctx context.Context, p Prompt, text string, attempt int) Outcome {
	begun := r.config.Clock()
	turnCtx, abort := context.WithCancel(context.Background())
	defer abort()
	t := &openTurn{prompt: p, begun: begun, abort: abort, ended: make(chan struct{}), pause: make(chan *Failure, 1)}
	r.mu.Lock()
	session := r.session
	r.turn = t
	r.mu.Unlock()
	if err := r.change(func(s *state) { s.Turns, s.LastTurn = s.Turns+1, begun }); err != nil {
		r.config.Options.Log(err.Error())
	}
	r.activity.touch()
	r.config.Listener.TurnBegan(p, attempt)
	r.tellState()
	watched := make(chan struct{})
	go func() { // ends with the turn; waited for below
		defer close(watched)
		r.watch(ctx, session, t)
	}()
	result, err := session.Turn(turnCtx, text, func(e Event) { r.happened(session, t, e) })
	if result.Usage != (Usage{}) && result.Usage != t.used { // nobody has to ask for it at the end, too
		r.happened(session, t, Event{Kind: Used, Usage: &result.Usage})
	}
	close(t.ended)
	<-watched
	r.mu.Lock()
	r.turn, r.question, r.rested = nil, nil, r.config.Clock()
	r.mu.Unlock()
	r.keepSessionID(session.ID())
	failure := r.judge(session, t, &result, err)
	return Outcome{Result: result, Failure: failure, Denied: t.denied.Load(), Duration: r.config.Clock().Sub(begun), Attempts: attempt}
}

// judge returns why a turn failed, nil where it did not.
func (r *Runner) judge(session Session, t *openTurn, result *Result, err error) *Failure {
	var failure *Failure
	switch {
	case t.silent.Load() && (err != nil || result.Cancelled): // an answer that came after all is one
		failure, result.Cancelled = &Failure{Class: Silent, Message: "it wrote nothing for " + r.config.Silence.String()}, false
	case t.cancelled.Load():
		result.Cancelled = true
	case t.pausing.Load() != nil && (err != nil || result.Cancelled):
		failure, result.Cancelled = t.pausing.Load(), false
	case err == nil:
	case errors.As(err, &failure):
	case errors.Is(err, context.Canceled):
		failure = &Failure{Class: Gone, Message: "its turn was ended by den"}
	default:
		failure = &Failure{Class: Bug, Message: err.Error()}
	}
	select {
	case <-session.Done():
		exit := r.closeSession()
		if failure != nil && failure.Class == Gone && exit.Reason != "" {
			failure.Message += ": " + exit.Reason
		}
	default:
		if err != nil && (failure == nil || failure.Class == Gone || failure.Class == Silent || errors.Is(err, context.Canceled)) {
			r.closeSession() // a turn that did not end by itself leaves nothing to go on with
		}
	}
	return failure
}

// watch ends a turn in which the agent has been silent for too long or is going
// to be, or whose Runner is stopped.
func (r *Runner) watch(ctx context.Context, session Session, t *openTurn) {
	ticker := time.NewTicker(max(r.config.Silence/20, 10*time.Millisecond))
	defer ticker.Stop()
	signs := ""
	for {
		select {
		case <-t.ended:
			return
		case <-ctx.Done():
			r.cancelTurn(session, t)
			return
		case <-ticker.C:
			if w, ok := session.(Witness); ok {
				if now := w.Signs(); now != signs {
					signs = now
					r.activity.touch()
				}
			}
			if r.activity.silent() < r.config.Silence || r.isAsking() {
				continue
			}
			t.silent.Store(true)
			r.cancelTurn(session, t)
			return
		case f := <-t.pause:
			t.pausing.Store(f)
			r.cancelTurn(session, t)
			return
		}
	}
}

func (r *Runner) isAsking() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.question != nil
}

// cancelTurn asks the agent to end its turn, and after a grace ends the agent.
func (r *Runner) cancelTurn(session Session, t *openTurn) {
	ctx, cancel := context.WithTimeout(context.Background(), r.config.Grace)
	defer cancel()
	if err := session.Interrupt(ctx); err != nil {
		r.config.Options.Log("cancel the turn: " + err.Error())
	} else {
		select {
		case <-t.ended:
			return
		case <-ctx.Done():
			r.config.Options.Log("the agent did not end its turn when it was asked to: its process is ended")
		}
	}
	t.abort()
}

// Cancel ends the turn that runs; its message is over. Without one it is
// fault.NotRunning.
func (r *Runner) Cancel() error {
	r.mu.Lock()
	t, session := r.turn, r.session
	r.mu.Unlock()
	if t == nil || session == nil {
		return fault.Errorf(fault.NotRunning, "no turn runs")
	}
	t.cancelled.Store(true)
	r.cancelTurn(session, t)
	<-t.ended
	return nil
}

// happened passes on what happens within a turn.
func (r *Runner) happened(session Session, t *openTurn, e Event) {
	p := t.prompt
	r.keepSessionID(session.ID()) // at once: den may be killed before the turn ends
	if e.Kind == Accepted || e.Kind == Spoke {
		r.accepted(p, session.ID())
	}
	switch e.Kind {
	case ToolFinished:
		if e.Result.Denied {
			t.denied.Store(true)
		}
	case Retrying:
		if e.Failure.RetryAfter > longestPause {
			select {
			case t.pause <- e.Failure:
			default: // it is being cancelled already
			}
		}
	case Spoke:
		r.noteTools(p, e.Message)
	case Used:
		t.used = *e.Usage
	}
	r.config.Listener.Happened(p, e)
}

// accepted notes that the agent has the message, in a session.
func (r *Runner) accepted(p Prompt, session string) {
	m, err := r.queue.Get(p.ID)
	if err != nil || m.Status != outbox.Sending {
		return
	}
	err = r.queue.Update(p.ID, func(m *outbox.Message) {
		m.Status, m.Reason, m.TakenIn = conversation.Taken, "the agent's protocol shows it", session
	})
	if err != nil {
		r.config.Options.Log("note that a message was taken: " + err.Error())
	}
}

// A Prompt is a message for the agent. Its ID is that of the turn it begins,
// and Route, which the Runner does not read, says where the answer goes.
type Prompt struct {
	ID     string
	Text   string
	Route  string
	Urgent bool // before all whose turns have not begun; it has no Route
}

func promptOf(m outbox.Message) Prompt { return Prompt{ID: m.ID, Text: m.Text, Route: m.Route} }

// maxQuoted bounds what is repeated of a message that the agent has.
const maxQuoted = 2000

// resumeText tells the agent of a message whose turn was cut off. The message
// is not sent again: it may have been done in part. An agent whose conversation
// has it is only reminded of it; one that may never have got it reads all of it.
func resumeText(text, why string, has bool) string {
	if has && len(text) > maxQuoted {
		text = strings.ToValidUTF8(text[:maxQuoted], "") + "…"
	}
	quoted := "> " + strings.ReplaceAll(text, "\n", "\n> ")
	return fmt.Sprintf("[den] Your last turn was cut off before it ended (%s). It was about this message:\n%s\nCheck what you have done of it already. Finish the rest, and answer the message.", why, quoted)
}
