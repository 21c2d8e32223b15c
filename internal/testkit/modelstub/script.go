package modelstub

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// A Reply is what the model does with one request: it thinks, says something
// and uses tools; or it fails.
type Reply struct {
	Think string   // before the text; Chat Completions has no place for it
	Text  []string // each is a chunk of its own
	Calls []Call   // after the text

	Usage Usage // zero means 10 in, 5 out

	Wait time.Duration   // before the first byte
	Gap  time.Duration   // after each chunk of text
	Hold <-chan struct{} // or nil: after the first chunk, wait until it is closed

	Failure *Failure // or nil: the API refuses
	Damage  Damage   // or "": how the stream breaks after the first chunk
	Code    string   // of the damage Error in Responses, "" means "server_error"

	decide func(*Request) Reply // or nil: makes the reply, see Decide
}

// A Call is a tool that the model uses.
type Call struct {
	Name  string
	Input json.RawMessage // an object; for a tool that takes text, a string
}

// Usage is what the answer costs, in tokens.
type Usage struct{ Input, Output int }

// A Failure is an answer of the API that is none.
type Failure struct {
	Status     int
	Message    string        // "" means one made of the status
	RetryAfter time.Duration // 0 means that the server does not say
}

// Damage is a way for a stream to break. Plain answers break with it, too:
// "cut" and "early" lose their end, "garbage" and "error" are no answer.
type Damage string

// The damages.
const (
	Cut     Damage = "cut"     // the connection is reset
	Early   Damage = "early"   // the body ends well, without the events that end an answer
	Garbage Damage = "garbage" // an event that is no JSON, then the end
	Error   Damage = "error"   // the dialect's own event for an error, then the end
)

// Say replies with text.
func Say(chunks ...string) Reply { return Reply{Text: chunks} }

// Use replies with a tool to use; input is JSON.
func Use(tool, input string) Reply {
	return Reply{Calls: []Call{{Name: tool, Input: json.RawMessage(input)}}}
}

// Decide replies with what f makes of the request, which it must not change.
// Clients ask at the same time: so is f called.
func Decide(f func(*Request) Reply) Reply { return Reply{decide: f} }

// Fail replies with an API error.
func Fail(status int) Reply { return Reply{Failure: &Failure{Status: status}} }

// Break says a word and breaks the stream.
func Break(d Damage) Reply { return Reply{Text: []string{"This ", "is cut off."}, Damage: d} }

func (r Reply) text() string { return strings.Join(r.Text, "") }

func (r Reply) usage() Usage {
	if r.Usage == (Usage{}) {
		return Usage{Input: 10, Output: 5}
	}
	return r.Usage
}

// A Match chooses requests. It must not keep or change them.
type Match func(*Request) bool

// Any matches every request for an answer.
func Any(*Request) bool { return true }

// Contains matches the newest text of the user.
func Contains(text string) Match {
	return func(r *Request) bool { return strings.Contains(r.Text, text) }
}

// Is matches requests whose newest text of the user is exactly this. Agents
// also ask for titles, with the user's text inside a longer one.
func Is(text string) Match {
	return func(r *Request) bool { return r.Text == text }
}

// After matches a request that brings a tool's result.
func After(result string) Match {
	return func(r *Request) bool {
		for _, got := range r.Results {
			if strings.Contains(got, result) {
				return true
			}
		}
		return false
	}
}

// Offers matches a request that lets the model use a tool. When agents ask for
// a title, most of them offer no tools; codex does (see Is).
func Offers(tool string) Match {
	return func(r *Request) bool { return slices.Contains(r.Tools, tool) }
}

// All matches where all of them do.
func All(matches ...Match) Match {
	return func(r *Request) bool {
		for _, m := range matches {
			if !m(r) {
				return false
			}
		}
		return true
	}
}

// rule is a match and its replies.
type rule struct {
	match   Match
	replies []Reply // those left
	always  bool    // the first reply, for ever
}

// When gives the requests that match these replies, one each, in this order.
func (s *Server) When(m Match, replies ...Reply) {
	s.addRule(&rule{match: m, replies: replies})
}

// Always gives every request that matches this reply.
func (s *Server) Always(m Match, r Reply) {
	s.addRule(&rule{match: m, replies: []Reply{r}, always: true})
}

// Next gives the next requests these replies, whatever they say.
func (s *Server) Next(replies ...Reply) { s.When(Any, replies...) }

func (s *Server) addRule(r *rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = append(s.rules, r)
}

// chooseLocked takes the reply to a request.
func (s *Server) chooseLocked(req *Request) Reply {
	for _, r := range s.rules {
		if len(r.replies) == 0 || !r.match(req) {
			continue
		}
		reply := r.replies[0]
		if !r.always {
			r.replies = r.replies[1:]
		}
		return reply
	}
	req.Unscripted = true
	return Say("modelstub: ", "no reply is scripted for this.")
}
