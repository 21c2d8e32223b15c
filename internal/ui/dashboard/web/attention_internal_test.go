package web

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"den/internal/keeper"
)

func request(r keeper.ApprovalRequest, input string) keeper.Waiting {
	detail := json.RawMessage(`{"request":{"input":` + input + `}}`)
	return keeper.Waiting{ID: "approval:coder:k3f", Kind: keeper.WaitingApproval, What: r.What(), Approval: &keeper.Approval{ID: "k3f", Request: r, Detail: detail}}
}

// A page gets the whole request, or is told that it does not.
func TestRequestsAreWholeOrMarked(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("日", maxShown)
	for name, test := range map[string]struct {
		w   keeper.Waiting
		cut bool
	}{
		"short":         {request(keeper.ApprovalRequest{Command: "make install", Paths: []string{"a", "b"}}, `{"command":"make install","timeout":5}`), false},
		"a command":     {request(keeper.ApprovalRequest{Command: long}, `{}`), true},
		"an address":    {request(keeper.ApprovalRequest{URL: long}, `{}`), true},
		"a directory":   {request(keeper.ApprovalRequest{Dir: long}, `{}`), true},
		"a file":        {request(keeper.ApprovalRequest{Paths: []string{"a", long}}, `{}`), true},
		"many files":    {request(keeper.ApprovalRequest{Paths: strings.Split(strings.Repeat("0123456789,", maxShown/5), ",")}, `{}`), true},
		"the own input": {request(keeper.ApprovalRequest{Tool: "mcp"}, `{"text":"`+long+`"}`), true},
	} {
		before := len(test.w.Approval.Request.Paths)
		w := newAttention(keeper.Attention{Waiting: []keeper.Waiting{test.w}}).Waiting[0]
		raw, err := json.Marshal(w)
		if err != nil {
			t.Fatal(err)
		}
		if w.Cut != test.cut || len(raw) > 3*maxShown || !utf8.Valid(raw) || w.Approval.Detail != nil {
			t.Errorf("%s: cut %v, %d bytes", name, w.Cut, len(raw))
		}
		if len(test.w.Approval.Request.Paths) != before || test.w.Approval.Detail == nil {
			t.Errorf("%s: the keeper's own was changed", name)
		}
	}
	if w := newWaiting(request(keeper.ApprovalRequest{}, `{"timeout":5,"command":"x"}`)); w.Input != "{\n  \"timeout\": 5,\n  \"command\": \"x\"\n}" {
		t.Errorf("input %q", w.Input)
	}
}

func TestManyWaitingAreCounted(t *testing.T) {
	t.Parallel()
	a := newAttention(keeper.Attention{Waiting: make([]keeper.Waiting, maxWaiting+3)})
	if len(a.Waiting) != maxWaiting || a.Left != 3 {
		t.Errorf("%d, and %d left", len(a.Waiting), a.Left)
	}
}
