package tick

import (
	"encoding/json"
	"strings"
	"testing"

	"den/internal/agent/runner"
)

// Each step is a message or the end of a tool: "say", "use ID", "think",
// "end ID"; with "N:" it is a part of the reply that the backend calls N.
func TestReplies(t *testing.T) {
	for name, tt := range map[string]struct {
		steps string
		want  string // of each message: certain, begins, or a part (-)
	}{
		"one after the other":             {"think, use a, end a, say, use b, end b, say", "certain - certain - certain"},
		"two tools at the same time":      {"use a, use b, end a, end b, say", "certain - certain"},
		"two tools, run one by one":       {"use a, end a, use b, end b, say", "certain begins certain"},
		"a word while a tool runs":        {"use a, use b, end a, say, end b, say", "certain - begins certain"},
		"silent between tools":            {"use a, end a, use b, end b, use c", "certain begins begins"},
		"numbered":                        {"1:think, 1:use a, end a, 2:use b, end b, 3:say", "certain - certain certain"},
		"numbered, two tools":             {"1:use a, end a, 1:use b, end b, 2:use c", "certain - certain"},
		"numbered, a subagent's tools":    {"1:use a, use s, end s, use s2, end s2, end a, 2:say", "certain - begins certain"},
		"the end of a tool nobody saw":    {"end x, say", "certain"},
		"several blocks, and then a word": {"say, say, use a, say", "certain - - -"},
	} {
		var r replies
		var got []string
		for _, step := range strings.Split(tt.steps, ", ") {
			e := runner.Event{Kind: runner.Spoke}
			if number, rest, ok := strings.Cut(step, ":"); ok {
				e.Reply, step = number, rest
			}
			verb, id, _ := strings.Cut(step, " ")
			switch verb {
			case "end":
				r.toolEnded(id)
				continue
			case "say":
				e.Message = runner.Say("m", "x")
			case "think":
				e.Message = runner.Think("m", "x")
			case "use":
				e.Message = runner.UseTool("m", id, "tool", json.RawMessage("{}"))
			}
			begins, certain := r.spoke(e)
			got = append(got, map[bool]string{true: "begins", false: "-"}[begins])
			if certain {
				got[len(got)-1] = "certain"
			}
			if certain && !begins {
				t.Errorf("%s: %s is certain, and begins nothing", name, step)
			}
		}
		if said := strings.Join(got, " "); said != tt.want {
			t.Errorf("%s: %s\ngot  %s\nwant %s", name, tt.steps, said, tt.want)
		}
	}
}
