package supervisor_test

import (
	"strings"
	"testing"

	"den/internal/agent/supervisor"
)

func call(name, input, result string) supervisor.Tool {
	return supervisor.Tool{Name: name, Input: input, Result: result, Done: true}
}

func failed(input string) supervisor.Tool {
	return supervisor.Tool{Name: "Bash", Input: input, Result: "exit 1: " + input, Failed: true, Done: true}
}

func step(text string, tools ...supervisor.Tool) supervisor.Step {
	return supervisor.Step{Text: text, Tools: tools}
}

func asked(s supervisor.Step) supervisor.Step {
	s.Asked = true
	return s
}

func times(n int, steps ...supervisor.Step) []supervisor.Step {
	var all []supervisor.Step
	for range n {
		all = append(all, steps...)
	}
	return all
}

func TestRulesJudge(t *testing.T) {
	ls, pwd := step("", call("Bash", "ls", "a")), step("", call("Bash", "pwd", "/"))
	for name, row := range map[string]struct {
		steps []supervisor.Step
		want  supervisor.Action
		says  string
	}{
		"nothing":                         {nil, supervisor.OK, ""},
		"different calls":                 {[]supervisor.Step{ls, pwd}, supervisor.OK, ""},
		"same call twice":                 {times(2, ls), supervisor.OK, ""},
		"same call three times":           {times(3, ls), supervisor.Correction, "Bash 3 times"},
		"same call in one step":           {[]supervisor.Step{step("", call("Bash", "ls", "a"), call("Bash", "ls", "a"), call("Bash", "ls", "a"))}, supervisor.Correction, "3 times"},
		"same call, other results":        {[]supervisor.Step{step("", call("Wait", "x", "1")), step("", call("Wait", "x", "2")), step("", call("Wait", "x", "3"))}, supervisor.OK, ""},
		"same call long ago":              {append(times(5, ls), pwd), supervisor.OK, ""},
		"same call, then words":           {append(times(5, ls), step("I am done.")), supervisor.OK, ""},
		"cycle of two":                    {times(3, ls, pwd), supervisor.Correction, "same 2 tool calls 3 times"},
		"cycle of three, twice":           {times(2, ls, pwd, step("", call("Read", "x", "y"))), supervisor.OK, ""},
		"same call twelve times":          {times(12, ls), supervisor.Escalation, "fox"},
		"three errors":                    {[]supervisor.Step{step("", failed("a")), step("", failed("b")), step("", failed("c"))}, supervisor.OK, ""},
		"four errors":                     {[]supervisor.Step{step("", failed("a")), step("", failed("b")), step("", failed("c"), failed("d"))}, supervisor.ThinkDeeper, "4 tool calls failed"},
		"errors, then success":            {append([]supervisor.Step{step("", failed("a")), step("", failed("b")), step("", failed("c")), step("", failed("d"))}, ls), supervisor.OK, ""},
		"errors, then words":              {[]supervisor.Step{step("", failed("a"), failed("b"), failed("c"), failed("d")), step("It does not work, I will ask.")}, supervisor.OK, ""},
		"failed turns":                    {times(4, supervisor.Step{Error: "overload"}), supervisor.ThinkDeeper, "4"},
		"calls without results":           {[]supervisor.Step{step("", failed("a"), failed("b"), failed("c"), failed("d"), supervisor.Tool{Name: "Bash", Input: "x"})}, supervisor.ThinkDeeper, "4"},
		"same text three times":           {times(3, step("Let me check.")), supervisor.OK, ""},
		"same text four times":            {times(4, step("Let me  check.")), supervisor.Correction, "4 messages"},
		"same text, other case":           {append(times(3, step("Let me check.")), step("LET ME CHECK.")), supervisor.Correction, "4 messages"},
		"same text with new results":      {[]supervisor.Step{step("Next.", call("R", "1", "a")), step("Next.", call("R", "2", "b")), step("Next.", call("R", "3", "c")), step("Next.", call("R", "4", "d"))}, supervisor.OK, ""},
		"same text, asked again":          {times(6, asked(step("Done."))), supervisor.OK, ""},
		"same text since it was asked":    {append(times(2, step("Done.")), append([]supervisor.Step{asked(step("Done."))}, times(3, step("Done."))...)...), supervisor.Correction, "4 messages"},
		"same failure, asked again":       {times(4, asked(step("", failed("a"))), step("It failed.")), supervisor.Correction, "Bash 4 times with the same input, and it failed"},
		"same failure, three times":       {times(3, asked(step("", failed("a"))), step("It failed.")), supervisor.OK, ""},
		"same failure, then another way":  {append(times(5, step("", failed("a")), step("It failed.")), ls), supervisor.OK, ""},
		"no text, no tools":               {times(6, step("")), supervisor.OK, ""},
		"same text twenty times":          {times(20, step("Let me check.")), supervisor.Escalation, "20 equal messages"},
		"repeated calls before few words": {append(times(3, step("", failed("a"))), step("Hm.", failed("a"))), supervisor.Correction, "4 times"},
	} {
		got, err := supervisor.Rules{}.Judge(t.Context(), supervisor.Window{Agent: "fox", Steps: row.steps})
		if err != nil || got.Action != row.want || !strings.Contains(got.Message, row.says) {
			t.Errorf("%s: %+v, %v; want %s that says %q", name, got, err, row.want, row.says)
		}
	}
}

func TestRulesThresholds(t *testing.T) {
	ls := step("", call("Bash", "ls", "a"))
	got, err := supervisor.Rules{}.Judge(t.Context(), supervisor.Window{Steps: times(11, ls)})
	if err != nil || got.Action != supervisor.Correction {
		t.Errorf("%+v, %v", got, err)
	}
	got, err = supervisor.Rules{}.Judge(t.Context(), supervisor.Window{Steps: times(12, ls)})
	if err != nil || got.Action != supervisor.Escalation {
		t.Errorf("%+v, %v", got, err)
	}
}
