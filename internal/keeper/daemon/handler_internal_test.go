package daemon

import (
	"strings"
	"testing"

	"den/internal/base/build"
	"den/internal/base/fault"
	"den/internal/base/rpc"
)

// A keeper that does not know a method says so, and which dens are involved. It
// took the missing name for that of an agent.
func TestUnknownMethod(t *testing.T) {
	h := &handler{d: planned(t, "[[agents]]\nname = \"a\"\nstart_command = \"cat\"\n")}
	for _, params := range []string{"", `{"name":"a"}`, `{"name":7}`} {
		call := &rpc.Call{Request: rpc.Request{Method: "dance", Params: []byte(params)}, Den: "9.9"}
		_, err := h.Handle(t.Context(), call)
		if want := `the keeper (den ` + build.Version + `) does not know the method "dance" of den 9.9`; fault.KindOf(err) != fault.Protocol || err.Error() != want {
			t.Errorf("%s: %v, want %s", params, err, want)
		}
		if !strings.Contains(fault.HintOf(err), "'den down' and 'den up'") {
			t.Errorf("%s: hint %q", params, fault.HintOf(err))
		}
	}
}
