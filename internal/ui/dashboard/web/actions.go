package web

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"runtime"
	"time"

	"den/internal/base/brief"
	"den/internal/base/fault"
	"den/internal/base/httpguard"
	"den/internal/base/journal"
	"den/internal/base/rpc"
	"den/internal/keeper"
)

const (
	maxAction   = 16 << 10 // bytes of a request
	actionLimit = 15 * time.Second
)

// actions lets pages act: decide what agents ask for, answer, send messages,
// take over terminals and stop things. A request must come from den's own page,
// which alone has the token (the guard has seen it), and from a process that is
// no agent's: an agent may have found the address.
type actions struct {
	by    string // who acts, for audit logs
	hub   *hub
	audit *audit
	taken chan struct{} // a token for each terminal that may still be taken over
}

// maxTaken is how many terminals pages can have taken over at a time; more are
// refused.
const maxTaken = 8

// connKey is the context's key of a request's connection.
type connKey struct{}

func newActions(o Options, h *hub) *actions {
	by := "web page of " + o.User
	return &actions{by: by, hub: h, audit: newAudit(o.Audit, by), taken: tokens(maxTaken)}
}

// route serves what pages can do.
func (a *actions) route(mux *http.ServeMux) {
	mux.HandleFunc("POST /api/decisions", act(a, a.decide))
	mux.HandleFunc("POST /api/answers", act(a, a.answer))
	mux.HandleFunc("POST /api/messages", act(a, a.message))
	mux.HandleFunc("POST /api/orders", act(a, a.order))
	mux.HandleFunc("POST /api/cells", act(a, a.answerCell))
	mux.HandleFunc("POST /api/stops", act(a, a.stop))
	mux.HandleFunc("GET "+takePath+"{id}", a.takeOver)
}

// refused refuses all requests but those of den's own page.
func refused(w http.ResponseWriter, r *http.Request) bool {
	var status int
	var why string
	switch {
	case !httpguard.IsLoopbackName(r.Host):
		status, why = http.StatusMisdirectedRequest, "den acts only under a name of this machine: use the address that it printed"
	case !httpguard.FromOwnPage(r):
		status, why = http.StatusForbidden, "den acts only for its own page"
	case r.Method == http.MethodPost && !isJSON(r.Header.Get("Content-Type")):
		status, why = http.StatusUnsupportedMediaType, "an action is JSON"
	default:
		return false
	}
	writeRefusal(w, status, fault.Errorf(fault.Denied, "%s", why))
	return true
}

func isJSON(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && kind == "application/json"
}

// deed is what a page asks for.
type deed interface {
	// entry is what the audit log has of it, or what is wrong with it.
	entry() (AuditEntry, error)
}

// act makes a handler of an action: who asks is checked, what is asked for is
// read, written down and done.
func act[T deed](a *actions, do func(ctx context.Context, req T, processes []int) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if refused(w, r) {
			return
		}
		req, err := readRequest[T](w, r)
		var entry AuditEntry
		if err == nil {
			entry, err = req.entry()
		}
		var answer any
		if err == nil {
			answer, err = a.audit.around(entry, func() (any, error) {
				processes, err := callersOf(r.Context())
				if err != nil {
					return nil, err
				}
				ctx, cancel := context.WithTimeout(r.Context(), actionLimit)
				defer cancel()
				return do(ctx, req, processes)
			})
			a.hub.refresh() // whatever happened, the page shows what is true
		}
		writeActed(w, r, answer, err)
	}
}

func writeActed(w http.ResponseWriter, r *http.Request, answer any, err error) {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		writeRefusal(w, http.StatusRequestEntityTooLarge, err)
	case fault.KindOf(err) == fault.Busy: // somebody was faster, or it expired
		writeRefusal(w, http.StatusConflict, err)
	case err != nil:
		writeError(w, r, err)
	default:
		writeJSON(w, http.StatusOK, answer)
	}
}

func readRequest[T deed](w http.ResponseWriter, r *http.Request) (req T, err error) {
	body := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxAction))
	body.DisallowUnknownFields()
	if err := body.Decode(&req); err != nil {
		return req, fault.Errorf(fault.Usage, "read the action: %w", err)
	}
	if _, err := body.Token(); !errors.Is(err, io.EOF) {
		return req, fault.Errorf(fault.Usage, "read the action: there is more than one")
	}
	return req, nil
}

// callersOf returns the processes at the other end of a request's connection.
func callersOf(ctx context.Context) ([]int, error) {
	conn, ok := ctx.Value(connKey{}).(net.Conn)
	if !ok {
		return nil, fault.Errorf(fault.Internal, "act: the request has no connection")
	}
	processes, err := ownProcesses(conn)
	if err != nil {
		return nil, fault.Hintf(fault.Errorf(fault.Denied, "which program asks is not known: %w", err), "act in a terminal: 'den attention' names the commands")
	}
	return processes, nil
}

// ownProcesses returns the processes at the other end of a connection, which
// must be this user's or root's. Only Linux tells: elsewhere it is nobody, as
// the keeper does not know its callers there either.
func ownProcesses(conn net.Conn) ([]int, error) {
	processes, err := rpc.LoopbackProcesses(conn)
	if fault.KindOf(err) == fault.Unsupported && runtime.GOOS != "linux" {
		return nil, nil
	}
	return processes, err
}

// decision approves, denies or answers what an agent asks its harness for.
type decision struct {
	Agent  string `json:"agent"`
	ID     string `json:"id"`
	Option string `json:"option"` // approve, deny or answer
	Text   string `json:"text"`   // of answer
	Always bool   `json:"always"`
	Why    string `json:"why"`
}

func (d decision) entry() (e AuditEntry, err error) {
	known := d.Option == "approve" || d.Option == "deny" || d.Option == "answer" && d.Text != ""
	if d.Agent == "" || d.ID == "" || !known {
		return e, fault.Errorf(fault.Usage, "a decision has an agent, an id, and approve, deny, or answer with a text")
	}
	return AuditEntry{Action: "decide", Agent: d.Agent, Detail: joined(d.ID, d.Option, d.Why)}, nil
}

// decide passes a decision on, with the processes that it is made by: the keeper
// knows which are an agent's.
func (a *actions) decide(ctx context.Context, d decision, processes []int) (any, error) {
	var decided keeper.Decided
	err := a.hub.keeper.Call(ctx, keeper.MethodDecide, keeper.Decision{
		ID: d.ID, Agent: d.Agent, Option: d.Option, Text: d.Text, Always: d.Always, By: a.by, Why: d.Why, For: processes,
	}, &decided)
	return decided, err
}

const auditVersion = 1

// auditLimits bound the audit log of actions.
var auditLimits = journal.Limits{Bytes: 4 << 20, Kept: 3}

// AuditEntry is a line of the audit log of what is done on pages. The values of
// Event and Action are stored: add, never rename.
type AuditEntry struct {
	V       int       `json:"v"`
	At      time.Time `json:"at"`
	Event   string    `json:"event"`  // asked, done or failed; of a terminal that was taken over also left
	Action  string    `json:"action"` // decide, answer, message, order, stop, take_over
	By      string    `json:"by"`
	Agent   string    `json:"agent,omitempty"`
	Session string    `json:"session,omitempty"` // its id
	Detail  string    `json:"detail,omitempty"`  // what was decided, said or ordered
	Why     string    `json:"why,omitempty"`     // of failed
	Inputs  int       `json:"inputs,omitempty"`  // of left: how often something was typed
}

// The events.
const (
	auditAsked  = "asked"
	auditDone   = "done"
	auditFailed = "failed"
	auditLeft   = "left"
)

// audit writes down what pages do.
type audit struct {
	journal *journal.Journal
	by      string
}

func newAudit(path, by string) *audit { return &audit{journal.Open(path, auditLimits), by} }

const maxDetail = 1000 // bytes that are kept of what was said

func (a *audit) write(e AuditEntry) error {
	e.V, e.At, e.By = auditVersion, time.Now().UTC(), a.by
	if short, cut := brief.Bytes(e.Detail, maxDetail); cut {
		e.Detail = short + "…"
	}
	return a.journal.Append(e)
}

// around writes down that something is asked for, has it done, and writes down
// how that ended. What cannot be written down is not done.
func (a *audit) around(e AuditEntry, do func() (any, error)) (any, error) {
	e.Event = auditAsked
	if err := a.write(e); err != nil {
		return nil, err
	}
	answer, err := do()
	e.Event = auditDone
	if err != nil {
		e.Event, e.Why = auditFailed, err.Error()
	}
	if werr := a.write(e); err == nil {
		err = werr
	}
	return answer, err
}
