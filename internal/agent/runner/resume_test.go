package runner_test

import (
	"strings"
	"testing"

	"den/internal/agent/runner"
)

// What an agent may never have got is told whole after its turn was cut off;
// what stands in its conversation it is only reminded of.
func TestNothingOfAMessageIsLost(t *testing.T) {
	text := "begin " + strings.Repeat("x", 10000) + " end"
	for name, c := range map[string]struct {
		took, forgot bool // the agent had the prompt; its session cannot be resumed
		whole        bool
	}{
		"killed before it took the prompt": {whole: true},
		"killed after that":                {took: true},
		"in a session that is lost":        {took: true, forgot: true, whole: true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHeard()
			config := config(t, t.TempDir(), "", h)
			config.Driver = &puppet{
				open: func(n int, resume string) error {
					if c.forgot && n > 1 && resume != "" {
						return &runner.Failure{Class: runner.NoSession, Message: "no " + resume}
					}
					return nil
				},
				turn: func(s *puppetSession, prompt string, each func(runner.Event)) (runner.Result, error) {
					if strings.Contains(prompt, "cut off before it ended") {
						return runner.Result{Text: prompt}, nil
					}
					if c.took {
						each(runner.Event{Kind: runner.Accepted})
					}
					return runner.Result{}, s.gone()
				},
			}
			r := start(t, config)
			send(t, r, "m", text)
			if got := h.await(t, 1); !strings.HasPrefix(got[0], "m~ gone: ") {
				t.Fatalf("%q", got)
			}
			if err := r.Resume(); err != nil { // at once
				t.Fatal(err)
			}
			got := h.await(t, 2)[1]
			if strings.Contains(got, "> "+text+"\n") != c.whole || !strings.Contains(got, "> begin xxx") || !strings.Contains(got, "Check what you have done") {
				t.Errorf("%d bytes: %.200q", len(got), got)
			}
		})
	}
}
