package modelstub

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"den/internal/base/fault"
)

// Dialect is a way to talk to a model.
type Dialect string

// The dialects.
const (
	Messages  Dialect = "messages"  // Anthropic
	Responses Dialect = "responses" // OpenAI
	Chat      Dialect = "chat"      // OpenAI and all who copy it
	Generate  Dialect = "generate"  // Google
)

// A Request is what a client sent. Requests that ask for no answer of the model
// have no Dialect, and only the fields up to Body.
type Request struct {
	Method string
	Path   string // with the query; of a request to a proxy, the whole target
	Header http.Header
	Body   []byte

	Dialect    Dialect
	Model      string
	Stream     bool
	System     string   // what the client tells the model about itself
	Text       string   // the newest text of the user, without reminders that agents add
	Results    []string // of tools, newer than the model's last words
	Tools      []string // that the model may use
	Unscripted bool     // no rule had a reply

	offered map[string]offeredTool // by name, where the dialect has more than one kind
}

// maxRequests bounds what is recorded: beyond it the oldest are forgotten.
const maxRequests = 4096

// Requests returns what was recorded, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Elsewhere returns the targets of requests that were meant for other hosts.
// They come where a client has the stub for its proxy (HTTPS_PROXY), and are
// refused: that is how a test knows that a program called nobody else.
func (s *Server) Elsewhere() []string {
	var all []string
	for _, r := range s.Requests() {
		if r.elsewhere() {
			all = append(all, r.Path)
		}
	}
	return all
}

func (r *Request) elsewhere() bool { return !strings.HasPrefix(r.Path, "/") && r.Path != "*" }

// Await returns the first request for an answer that matches, also one from
// before, and waits for it if there is none yet.
func (s *Server) Await(ctx context.Context, m Match) (Request, error) {
	for {
		s.mu.Lock()
		for _, r := range s.requests {
			if r.Dialect != "" && m(&r) {
				s.mu.Unlock()
				return r, nil
			}
		}
		news := s.news
		s.mu.Unlock()
		select {
		case <-news:
		case <-ctx.Done():
			return Request{}, fault.Hintf(fault.Errorf(fault.Timeout, "await a request to the model stub: %w", ctx.Err()), "it got: %s", s.summary())
		}
	}
}

// summary names what came, for the messages of tests that fail.
func (s *Server) summary() string {
	var all []string
	for _, r := range s.Requests() {
		if r.Dialect == "" {
			all = append(all, r.Method+" "+r.Path)
			continue
		}
		all = append(all, fmt.Sprintf("%s %s %q", r.Method, r.Path, r.Text))
	}
	if len(all) == 0 {
		return "nothing"
	}
	return strings.Join(all, "; ")
}

// record keeps a request and, if it asks for an answer, takes its reply.
func (s *Server) record(r *Request) Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	var reply Reply
	if r.Dialect != "" {
		reply = s.chooseLocked(r)
	}
	if len(s.requests) == maxRequests {
		s.requests = slices.Delete(s.requests, 0, maxRequests/8)
	}
	s.requests = append(s.requests, *r)
	close(s.news)
	s.news = make(chan struct{})
	return reply
}

// read fills in what the dialect's body says.
func (r *Request) read() error {
	var err error
	switch r.Dialect {
	case Messages:
		err = r.readMessages()
	case Responses:
		err = r.readResponses()
	case Chat:
		err = r.readChat()
	case Generate:
		err = r.readGenerate()
	}
	if err != nil {
		return fault.Errorf(fault.Protocol, "read a request in the dialect %s: %w", r.Dialect, err)
	}
	r.Text = strings.TrimSpace(reminders.ReplaceAllString(r.Text, ""))
	return nil
}

// reminders are what agents add to the user's text.
var reminders = regexp.MustCompile(`(?s)<(system-reminder|environment_context|user_instructions|current_datetime)>.*?</(system-reminder|environment_context|user_instructions|current_datetime)>` +
	`|\[Request interrupted by user[^\]]*\]`) // Claude Code, before the next text

// content is text, or a list of parts: all dialects write it so.
type content []part

type part struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"` // of a tool's result
}

func (c *content) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	if data[0] == '"' {
		*c = content{{Type: "text"}}
		return json.Unmarshal(data, &(*c)[0].Text)
	}
	var parts []part
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	*c = parts
	return nil
}

// text joins the parts that are text.
func (c content) text() string {
	var all []string
	for _, p := range c {
		if p.Text != "" {
			all = append(all, p.Text)
		}
	}
	return strings.Join(all, "\n")
}

// textIn is content.text of raw content; other JSON is its own text.
func textIn(raw json.RawMessage) string {
	var c content
	if len(raw) == 0 {
		return ""
	}
	if json.Unmarshal(raw, &c) != nil {
		return string(raw)
	}
	return c.text()
}
