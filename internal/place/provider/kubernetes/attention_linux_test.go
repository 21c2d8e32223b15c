package kubernetes_test

import (
	"testing"

	"den/internal/session"
	"den/internal/session/attention"
	"den/internal/session/home"
	"den/internal/session/wire"
)

// Whether a program in a pod waits, works or asks is known here, as of one of this
// machine.
func TestAttentionInAPod(t *testing.T) {
	t.Parallel()
	c := theCluster(t)
	root := shortDir(t)
	p := c.opened(t, ownerOf(t), root)
	started(t, p, "w", command(confined, "/bin/sh"))
	s, err := session.Open(home.Home{Path: root, Explicit: true}, p.DenSession("w"), session.Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	is := func(want attention.State, what string) {
		t.Helper()
		eventually(t, "it is "+string(want), func() bool {
			m, err := s.Dir.Inspect()
			if err != nil {
				t.Fatal(err)
			}
			a := s.Dir.Attention(m)
			return a.State == want && a.What == what
		})
	}
	enter := func(text string) {
		t.Helper()
		if err := p.Nudge(t.Context(), "w", text); err != nil {
			t.Fatal(err)
		}
	}
	is(attention.Ready, "")
	enter("while :; do :; done")
	is(attention.Busy, "")
	if _, err := s.Input(t.Context(), wire.Input{Keys: []string{"C-c"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(t.Context(), session.Run{Code: `printf "go on? "; read answer`}); err != nil {
		t.Fatal(err)
	}
	is(attention.Asking, "go on?")
	stopped(t, p, "w")
}
