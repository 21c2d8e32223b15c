package web

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"os"
	"runtime"
	"time"

	"den/internal/fault"
	"den/internal/httpguard"
	"den/internal/keeper"
	"den/internal/rpc"
)

const (
	maxAction   = 4 << 10 // bytes of a request
	actionLimit = 15 * time.Second
)

// actions lets pages decide what agents ask for. A request must come from
// den's own page, which alone has the token (the guard has seen it), and from a
// process that is no agent's: an agent may have found the address.
type actions struct {
	by  string // who decides, for audit logs
	hub *hub
}

// connKey is the context's key of a request's connection.
type connKey struct{}

func newActions(o Options, h *hub) *actions {
	return &actions{by: "web page of " + o.User, hub: h}
}

// refusal is why a request is not carried out.
type refusal struct {
	status  int
	message string
}

// check refuses all requests but those of den's own page.
func (a *actions) check(r *http.Request) *refusal {
	switch {
	case !httpguard.IsLoopbackName(r.Host):
		return &refusal{http.StatusMisdirectedRequest, "den acts only under a name of this machine: use the address that it printed"}
	case !httpguard.FromOwnPage(r):
		return &refusal{http.StatusForbidden, "den acts only for its own page"}
	case !isJSON(r.Header.Get("Content-Type")):
		return &refusal{http.StatusUnsupportedMediaType, "a decision is JSON"}
	}
	return nil
}

func isJSON(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && kind == "application/json"
}

// decision is what a page sends.
type decision struct {
	Agent  string `json:"agent"`
	ID     string `json:"id"`
	Option string `json:"option"` // approve or deny
	Always bool   `json:"always"`
	Why    string `json:"why"`
}

func readDecision(w http.ResponseWriter, r *http.Request) (decision, error) {
	var d decision
	body := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxAction))
	body.DisallowUnknownFields()
	if err := body.Decode(&d); err != nil {
		return d, fault.Errorf(fault.Usage, "read the decision: %w", err)
	}
	if _, err := body.Token(); !errors.Is(err, io.EOF) {
		return d, fault.Errorf(fault.Usage, "read the decision: there is more than one")
	}
	if d.Agent == "" || d.ID == "" || d.Option != "approve" && d.Option != "deny" {
		return d, fault.Errorf(fault.Usage, "a decision has an agent, an id, and approve or deny")
	}
	return d, nil
}

// decide carries out a decision of a page.
func (a *actions) decide(w http.ResponseWriter, r *http.Request) {
	if no := a.check(r); no != nil {
		writeRefusal(w, no.status, fault.Errorf(fault.Denied, "%s", no.message))
		return
	}
	d, err := readDecision(w, r)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		writeRefusal(w, http.StatusRequestEntityTooLarge, err)
		return
	case err != nil:
		writeError(w, err)
		return
	}
	decided, err := a.keeperDecides(r, d)
	a.hub.refresh() // whatever happened, the page shows what is true
	switch {
	case fault.KindOf(err) == fault.Busy: // somebody was faster, or it expired
		writeRefusal(w, http.StatusConflict, err)
	case err != nil:
		writeError(w, err)
	default:
		writeJSON(w, http.StatusOK, decided)
	}
}

// keeperDecides passes a decision on, with the processes that it is made by:
// the keeper knows which are an agent's.
func (a *actions) keeperDecides(r *http.Request, d decision) (keeper.Decided, error) {
	var decided keeper.Decided
	conn, ok := r.Context().Value(connKey{}).(net.Conn)
	if !ok {
		return decided, fault.Errorf(fault.Internal, "decide: the request has no connection")
	}
	processes, err := ownProcesses(conn)
	if err != nil {
		return decided, fault.Hintf(fault.Errorf(fault.Denied, "which program asks is not known: %w", err), "decide with 'den approvals'")
	}
	if a.hub.place == nil {
		return decided, fault.Errorf(fault.NotFound, "there is no workspace here")
	}
	ctx, cancel := context.WithTimeout(r.Context(), actionLimit)
	defer cancel()
	c, err := a.hub.place.Dial(ctx, a.hub.version)
	if err != nil {
		return decided, err
	}
	defer c.Close() // Best effort: it was answered.
	err = c.Call(ctx, keeper.MethodDecide, keeper.Decision{
		ID: d.ID, Agent: d.Agent, Option: d.Option, Always: d.Always, By: a.by, Why: d.Why, For: processes,
	}, &decided)
	return decided, err
}

// ownProcesses returns the processes at the other end of a connection, which
// must be this user's or root's. Only Linux tells: elsewhere it is nobody, as
// the keeper does not know its callers there either.
func ownProcesses(conn net.Conn) ([]int, error) {
	processes, err := rpc.LoopbackProcesses(conn)
	if fault.KindOf(err) == fault.Unsupported && runtime.GOOS != "linux" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	uid, err := rpc.LoopbackUser(conn)
	if err == nil && uid != 0 && uid != os.Geteuid() {
		err = fault.Errorf(fault.Denied, "it is one of user %d", uid)
	}
	return processes, err
}
