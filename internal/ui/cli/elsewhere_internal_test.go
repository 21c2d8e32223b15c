package cli

import (
	"strings"
	"testing"

	"den/internal/base/fault"
)

func TestElsewhere(t *testing.T) {
	for _, c := range []struct {
		line, where, verb string
		is                bool
		kind              fault.Kind
	}{
		{line: "ps", verb: "ps"},
		{line: "--home x ps", verb: "--home x ps"},
		{line: "type s --context", verb: "type s --context"},
		{line: "--context a ps -j", where: "--context a", verb: "ps -j", is: true},
		{line: "--context=a --namespace b attach x", where: "--context a --namespace b", verb: "attach x", is: true},
		{line: "-j --namespace b ps", where: "--namespace b", verb: "-j ps", is: true},
		{line: "--kubeconfig f --keeper k new n sh -c --context", where: "--kubeconfig f --keeper k", verb: "new n sh -c --context", is: true},
		{line: "--context", is: true, kind: fault.Usage},
		{line: "--context a", where: "--context a", is: true, kind: fault.Usage},
		{line: "--context a -j", where: "--context a", verb: "-j", is: true, kind: fault.Usage},
	} {
		e, is, err := asElsewhere(strings.Fields(c.line))
		if is != c.is || fault.KindOf(err) != c.kind {
			t.Errorf("den %s: elsewhere %v, %v", c.line, is, err)
		}
		if where, verb := strings.Join(e.where, " "), strings.Join(e.verb, " "); where != c.where || verb != c.verb {
			t.Errorf("den %s: %q there: %q", c.line, where, verb)
		}
	}
}
