package webhook

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"den/internal/base/fault"
	"den/internal/base/ident"
	"den/internal/base/poll"
	"den/internal/base/wake"
)

// Options are where events go.
type Options struct {
	Dir    string // for events that wait
	URL    string // of the receiver; it may hold a secret, and is never shown
	Secret string // that requests are signed with; "" for none. Never shown
	// Events are the types that are sent; empty for all.
	Events []string
	// Window is the time in which a second event of one type, agent and topic
	// is not sent. 10 seconds where it is 0, none where it is negative.
	Window time.Duration
	// Log takes lines for people, without secrets. Or nil.
	Log func(line string)
}

const (
	defaultWindow  = 10 * time.Second
	attemptTimeout = 10 * time.Second
	maxTopics      = 1000 // that are remembered for Window
)

// Outcome is what Send did with an event.
type Outcome string

// The outcomes.
const (
	Kept       Outcome = "kept" // it will be sent
	Filtered   Outcome = "filtered"
	Duplicate  Outcome = "duplicate"  // its id is known
	Suppressed Outcome = "suppressed" // the like of it was kept just before
)

// A Sender keeps events and sends them, one after the other.
type Sender struct {
	options Options
	key     []byte
	target  string // scheme and host, for people
	client  *http.Client
	wake    wake.Signal // room for one token: an event was added

	// pause waits; it is replaced in tests.
	pause func(ctx context.Context, d time.Duration) error

	mu     sync.Mutex // guards the fields below, and the outbox's files
	outbox *outbox
	topics map[topic]*recent
}

type topic struct{ kind, nick, topic string }

// recent is when an event of a topic was kept, and how many were not since.
type recent struct {
	at         time.Time
	suppressed int
}

// Open reads what waits in the directory. Run sends it.
func Open(o Options) (*Sender, error) {
	address, err := url.Parse(o.URL)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		return nil, fault.Hintf(fault.Errorf(fault.Usage, "open webhooks: the receiver's address cannot be read"), "it begins with https:// or http://")
	}
	o.Window = cmp.Or(o.Window, defaultWindow)
	if o.Log == nil {
		o.Log = func(string) {}
	}
	k, err := key(o.Secret)
	if err != nil {
		return nil, err
	}
	box, problems, err := openOutbox(o.Dir)
	if err != nil {
		return nil, err
	}
	for _, problem := range problems {
		o.Log(problem.Error())
	}
	return &Sender{
		options: o, key: k, target: address.Scheme + "://" + address.Host, client: newClient(),
		wake: wake.New(), pause: poll.Pause, outbox: box, topics: map[topic]*recent{},
	}, nil
}

// newClient follows no redirects: a signed request is meant for one receiver.
func newClient() *http.Client {
	return &http.Client{
		Timeout:       attemptTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Send keeps an event to be sent. It does not wait for the receiver.
func (s *Sender) Send(e Event) (Outcome, error) {
	if len(s.options.Events) > 0 && !slices.Contains(s.options.Events, e.Type) {
		return Filtered, nil
	}
	now := time.Now()
	if err := e.check(now, func() string { return ident.New(now) }); err != nil {
		return "", err
	}
	outcome, err := s.keep(e, now)
	if outcome == Kept {
		s.wake.Set()
	}
	return outcome, err
}

func (s *Sender) keep(e Event, now time.Time) (Outcome, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.outbox.knows(e.ID) {
		return Duplicate, nil
	}
	at := topic{e.Type, e.Nick, e.Topic}
	last := s.topics[at]
	if last != nil && now.Sub(last.at) < s.options.Window {
		last.suppressed++
		return Suppressed, nil
	}
	if last != nil {
		e.Suppressed = last.suppressed
	}
	if _, err := s.outbox.add(e, now); err != nil {
		return "", err
	}
	s.rememberLocked(at, now)
	return Kept, nil
}

// rememberLocked bounds what is remembered: topics whose window is over and
// that suppressed nothing are of no use, and else the oldest goes.
func (s *Sender) rememberLocked(at topic, now time.Time) {
	s.topics[at] = &recent{at: now}
	if len(s.topics) <= maxTopics {
		return
	}
	oldest := at
	for t, r := range s.topics {
		if r.at.Before(s.topics[oldest].at) {
			oldest = t
		}
	}
	delete(s.topics, oldest)
}

// Run sends events in their order until the context ends. It is called once.
func (s *Sender) Run(ctx context.Context) {
	defer s.client.CloseIdleConnections()
	failed := 0
	for ctx.Err() == nil {
		r, ok := s.oldest()
		if !ok {
			select {
			case <-ctx.Done():
			case <-s.wake:
			}
			continue
		}
		became, wait, err := s.attempt(ctx, r)
		if ctx.Err() != nil {
			return // the event stays, whatever became of it
		}
		if became == tryAgain && time.Since(r.Created) < maxAge {
			failed++
			if failed == 1 { // people are told of the first one only
				s.options.Log(fmt.Sprintf("webhook %s to %s: %v; it is tried again", r.ID, s.target, err))
			}
			_ = s.pause(ctx, delay(failed, wait, rand.Float64()))
			continue
		}
		failed = 0
		s.finish(r, became, err)
	}
}

func (s *Sender) oldest() (record, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.outbox.pending) == 0 {
		return record{}, false
	}
	return s.outbox.pending[0], true
}

// Event is what a receiver is told.
type Event struct {
	// ID is the same however often the event is sent. Send makes one where it
	// is "".
	ID       string    `json:"id"`
	Type     string    `json:"type"`
	Nick     string    `json:"nick"` // of the agent
	Time     time.Time `json:"time"`
	Severity Severity  `json:"severity"`
	Message  string    `json:"message"` // for people
	// Data is an object with what the type of event adds, or nil.
	Data json.RawMessage `json:"data,omitempty"`
	// Suppressed counts events of the same type and agent that were not sent
	// since the last one, because they came too fast.
	Suppressed int `json:"suppressed,omitempty"`

	// Topic tells events of one type and agent apart that are not to suppress
	// each other, as two questions. It is not sent.
	Topic string `json:"-"`
}

// The types of events. They are sent, and stand in configurations: add, never
// rename.
const (
	AgentSpiraling = "agent_spiraling" // it is stuck, and a person is needed
	AgentError     = "agent_error"
	AgentQuestion  = "agent_question" // it asks something
	AgentTimeout   = "agent_timeout"
	AgentComplete  = "agent_complete"
	AgentApproval  = "agent_approval" // it asks for permission
	AgentBudget    = "agent_budget"   // a limit is near, or reached
)

// Severity is how soon a person should look. The values are sent: add, never
// rename.
type Severity string

// The severities.
const (
	Info     Severity = "info"
	Warning  Severity = "warning"
	Error    Severity = "error"
	Critical Severity = "critical"
)

const (
	maxMessage = 4 << 10
	maxData    = 64 << 10
)

// check completes an event and refuses one that no receiver could read.
func (e *Event) check(now time.Time, newID func() string) error {
	if e.Type == "" {
		return fault.Errorf(fault.Internal, "send webhook: the event has no type")
	}
	if e.ID == "" {
		e.ID = newID()
	}
	if e.Time.IsZero() {
		e.Time = now
	}
	e.Severity = cmp.Or(e.Severity, Info)
	if len(e.Message) > maxMessage {
		e.Message = strings.ToValidUTF8(e.Message[:maxMessage], "") + "…"
	}
	var object map[string]json.RawMessage
	if len(e.Data) > 0 && (len(e.Data) > maxData || json.Unmarshal(e.Data, &object) != nil) {
		return fault.Errorf(fault.Internal, "send webhook: the data of '%s' is no JSON object of at most %d bytes", e.Type, maxData)
	}
	return nil
}
