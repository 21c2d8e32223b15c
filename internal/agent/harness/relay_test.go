package harness_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"strings"
	"testing"

	"den/internal/agent/harness"
	"den/internal/agent/harness/ipc"
	"den/internal/base/fault"
)

// An agent that lives elsewhere finds its harness by the socket that is there, is
// served as one of this machine, and does not decide what it may do.
func TestClientFromWhereTheAgentLives(t *testing.T) {
	w := newWorld(t)
	here, there := net.Pipe()
	w.start("worker", `cat >/dev/null; echo "$DEN_HARNESS"`, func(o *harness.Options) {
		o.Config.Box = &harness.Box{Socket: "/there/harness"}
		o.Relay = func(ctx context.Context, serve func(net.Conn), _ func(error)) { serve(here) }
	})
	lines := bufio.NewReader(there)
	call := func(request string) (r ipc.Response) {
		t.Helper()
		if _, err := there.Write([]byte(request + "\n")); err != nil {
			t.Fatal(err)
		}
		line, err := lines.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := call(`{"type":"irc_channels","id":"1"}`); !r.OK || !strings.Contains(string(r.Data), "#general") {
		t.Errorf("%+v", r)
	}
	if r := call(`{"type":"decide","id":"2","question":"abc","option":"approve"}`); r.Kind != string(fault.Denied) {
		t.Errorf("%+v", r)
	}
	if r := call(`{"type":"converse","id":"3","message":"where?"}`); !strings.Contains(string(r.Data), "/there/harness") {
		t.Errorf("%+v %s", r, r.Data)
	}
}
