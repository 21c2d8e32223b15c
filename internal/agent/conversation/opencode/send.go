package opencode

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"time"

	"den/internal/agent/conversation"
	"den/internal/base/fault"
)

// connectLimit is how long a message waits for the server's stream: opencode
// takes its time for it when it starts, and what is typed has no id.
const connectLimit = 10 * time.Second

// takeLimit is how long the server may take to show a message that it accepted.
const takeLimit = 10 * time.Second

// Send hands a message over by the server. One that its session has already
// is not sent again.
func (s *Source) Send(ctx context.Context, m conversation.Message) (conversation.Receipt, error) {
	if err := s.mayTake(ctx); err != nil {
		return conversation.Receipt{ID: m.ID, Progress: conversation.Failed, At: time.Now()}, err
	}
	session, err := s.target(ctx)
	if err != nil {
		return conversation.Receipt{ID: m.ID, Progress: conversation.Failed, At: time.Now()}, err
	}
	own := ownPart(m.ID)
	if there, err := s.has(ctx, session, own); err != nil {
		return conversation.Receipt{ID: m.ID, Progress: conversation.Failed, At: time.Now()}, err
	} else if there {
		return taken(m.ID, session), nil
	}
	return s.prompt(ctx, session, messageID(own, time.Now()), m)
}

// mayTake refuses a message while there is no server, or a decision is open.
func (s *Source) mayTake(ctx context.Context) error {
	if why := s.AwaitProblem(ctx, connectLimit); why != "" {
		return fault.Errorf(fault.Unreachable, "send to opencode: %s", why)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.model.open) > 0 {
		return fault.Errorf(fault.Busy, "send to opencode: it asks for a decision")
	}
	return nil
}

// prompt posts the message and waits until the server shows it.
func (s *Source) prompt(ctx context.Context, session, id string, m conversation.Message) (conversation.Receipt, error) {
	came := make(chan struct{})
	s.mu.Lock()
	s.waiting[id] = came
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.waiting, id)
		s.mu.Unlock()
	}()
	// So that the screen shows where the message goes. Best effort: it arrives
	// all the same.
	_ = s.client.call(ctx, http.MethodPost, "/tui/select-session", map[string]string{"sessionID": session}, nil)
	body := map[string]any{"messageID": id, "parts": []map[string]string{{"type": "text", "text": m.Text}}}
	if err := s.client.call(ctx, http.MethodPost, "/session/"+url.PathEscape(session)+"/prompt_async", body, nil); err != nil {
		progress := conversation.Failed
		if kind := fault.KindOf(err); kind != fault.NotFound && kind != fault.Protocol && kind != fault.Denied && kind != fault.Unsupported {
			progress = conversation.Sent // it may have come: nobody answered
		}
		return conversation.Receipt{ID: m.ID, Progress: progress, At: time.Now()}, err
	}
	select {
	case <-came:
		return taken(m.ID, session), nil
	case <-ctx.Done():
	case <-time.After(takeLimit):
	}
	return conversation.Receipt{ID: m.ID, Progress: conversation.Sent, Evidence: "opencode's server accepted it", At: time.Now()}, nil
}

func taken(id, session string) conversation.Receipt {
	return conversation.Receipt{ID: id, Progress: conversation.Taken, Evidence: "opencode's session " + session + " has it", At: time.Now()}
}

// has reports whether a session has the message of den's.
func (s *Source) has(ctx context.Context, session, own string) (bool, error) {
	var messages []struct {
		Info info `json:"info"`
	}
	if err := s.client.call(ctx, http.MethodGet, "/session/"+url.PathEscape(session)+"/message", nil, &messages); err != nil {
		return false, err
	}
	for _, m := range messages {
		if m.Info.Role == "user" && strings.HasSuffix(m.Info.ID, own) {
			return true, nil
		}
	}
	return false, nil
}

// target is the session that messages go to: the one opencode was started
// with, the newest that was used since, or a new one.
func (s *Source) target(ctx context.Context) (string, error) {
	if id, err := s.current(ctx); id != "" || err != nil {
		return id, err
	}
	var made info
	if err := s.client.call(ctx, http.MethodPost, "/session", struct{}{}, &made); err != nil {
		return "", err
	}
	if made.ID == "" {
		return "", fault.Errorf(fault.Protocol, "make a session in opencode: it has no id")
	}
	return made.ID, nil
}

// current is the session that the screen shows, "" for none.
func (s *Source) current(ctx context.Context) (string, error) {
	var sessions []info
	if err := s.client.call(ctx, http.MethodGet, "/session", nil, &sessions); err != nil {
		return "", err
	}
	return newest(sessions, s.endpoint), nil
}

// Confirm looks for a message in the session.
func (s *Source) Confirm(ctx context.Context, id string) (conversation.Receipt, bool, error) {
	session, err := s.current(ctx)
	if session == "" || err != nil {
		return conversation.Receipt{}, false, err
	}
	there, err := s.has(ctx, session, ownPart(id))
	return taken(id, session), there, err
}

// newest picks the session that the screen shows, "" for none.
func newest(sessions []info, e Endpoint) string {
	id, at := "", int64(0)
	for _, s := range sessions {
		used := e.Continue || s.ID == e.Session || s.Time.Updated >= e.Started.UnixMilli()
		if s.ParentID == "" && used && s.Time.Updated >= at {
			id, at = s.ID, s.Time.Updated
		}
	}
	return id
}

// Answer decides an open permission or question.
func (s *Source) Answer(ctx context.Context, id, option string) error {
	s.mu.Lock()
	var r request
	open := false
	if s.model != nil {
		r, open = s.model.find(id)
	}
	s.mu.Unlock()
	if !open {
		return fault.Errorf(fault.NotFound, "answer opencode: question '%s' is not open", id)
	}
	if !r.question.Offers(option) {
		return fault.Errorf(fault.Usage, "answer opencode: '%s' is no option of '%s'", option, r.question.Text)
	}
	path, body := "/permission/"+url.PathEscape(id)+"/reply", any(map[string]string{"reply": option})
	if r.question.Kind == conversation.Choice {
		path, body = "/question/"+url.PathEscape(id)+"/reply", map[string][][]string{"answers": {{option}}}
		if option == reject {
			path, body = "/question/"+url.PathEscape(id)+"/reject", nil
		}
	}
	return s.client.call(ctx, http.MethodPost, path, body, nil)
}

// opencode orders messages by their ids: the time in milliseconds and a
// counter, 48 bits of both, and then 14 characters that den makes of its own
// id. By these a message that was sent before is found again.
const ownLength = 14

func messageID(own string, at time.Time) string {
	const counter = 1
	stamp := (uint64(at.UnixMilli())<<12 | counter) & (1<<48 - 1)
	return fmt.Sprintf("msg_%012x%s", stamp, own)
}

// ownPart is the part of a message's id that comes from den's.
func ownPart(id string) string {
	sum := sha256.Sum256([]byte(id))
	text := new(big.Int).SetBytes(sum[:]).Text(62)
	return fmt.Sprintf("%0*s", ownLength, text)[:ownLength]
}
