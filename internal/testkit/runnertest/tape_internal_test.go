package runnertest

import (
	"encoding/json"
	"testing"
)

func TestMatchLine(t *testing.T) {
	const a, b, c = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222", "33333333-3333-4333-8333-333333333333"
	n := names{recordedDir: "/tmp/x"}
	for _, l := range []struct {
		recorded, actual string
		want             bool
	}{
		{`{"a":1,"b":["x",null]}`, `{"b":["x",null],"a":1}`, true},
		{`{"a":1}`, `{"a":2}`, false},
		{`{"a":1}`, `{"a":1,"b":2}`, false},
		{`{"a":"x"}`, `{"a":"y"}`, false},
		{`{"dir":"/home/user/project/f"}`, `{"dir":"/tmp/x/f"}`, true},
		{`{"uuid":"` + a + `","other":"x"}`, `{"uuid":"` + b + `","other":"y"}`, false}, // learns nothing
		{`{"uuid":"` + a + `"}`, `{"uuid":"` + b + `"}`, true},
		{`{"uuid":"` + a + `"}`, `{"uuid":"` + b + `"}`, true},
		{`{"uuid":"` + a + `"}`, `{"uuid":"` + c + `"}`, false}, // it was another one before
	} {
		if got := n.matchLine(json.RawMessage(l.recorded), []byte(l.actual)); got != l.want {
			t.Errorf("%s and %s: %v", l.recorded, l.actual, got)
		}
	}
	if got := n.apply(`{"x":"` + a + ` in /home/user/project"}`); got != `{"x":"`+b+` in /tmp/x"}` {
		t.Error(got)
	}
}
