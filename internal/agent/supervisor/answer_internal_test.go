package supervisor

import (
	"strings"
	"testing"
)

func TestParseVerdict(t *testing.T) {
	for answer, want := range map[string]Verdict{
		`{"verdict":"OK","message":""}`: {Action: OK},
		`{"verdict":"OK"}`:              {Action: OK},
		"```json\n{\"verdict\": \"CORRECTION\", \"message\": \" try x \"}\n```":          {Correction, "try x"},
		`Here is my verdict: {"verdict":"THINK_DEEPER","message":"why {not}?"} Bye.`:     {ThinkDeeper, "why {not}?"},
		`It used {braces}. {"verdict":"ESCALATION","message":"it deletes files"}`:        {Escalation, "it deletes files"},
		`{"verdict":"CORRECTION","message":"` + strings.Repeat("x", maxMessage+5) + `"}`: {Correction, strings.Repeat("x", maxMessage) + "…"},
	} {
		if got, err := parseVerdict(answer); err != nil || got != want {
			t.Errorf("%q: %+v, %v", answer, got, err)
		}
	}
	for name, answer := range map[string]string{
		"empty":             ``,
		"bare word":         `OK`,
		"unknown verdict":   `{"verdict":"FINE","message":"x"}`,
		"lower case":        `{"verdict":"ok"}`,
		"no verdict":        `{"message":"x"}`,
		"no message":        `{"verdict":"CORRECTION"}`,
		"blank message":     `{"verdict":"ESCALATION","message":" "}`,
		"unknown field":     `{"verdict":"OK","message":"","confidence":1}`,
		"two objects":       `{"verdict":"OK"} {"verdict":"OK"}`,
		"array":             `["OK"]`,
		"half":              `{"verdict":"OK"`,
		"number as message": `{"verdict":"OK","message":1}`,
		"too long":          `{"verdict":"OK"}` + strings.Repeat(" ", maxAnswer),
	} {
		if got, err := parseVerdict(answer); err == nil {
			t.Errorf("%s: %+v, want an error", name, got)
		}
	}
}

// FuzzParseVerdict: an answer gives a verdict that can be acted on, or an
// error.
func FuzzParseVerdict(f *testing.F) {
	f.Add(`x {"verdict":"OK"} y`)
	f.Add(`{{{"verdict":"CORRECTION","message":"m"}`)
	f.Fuzz(func(t *testing.T, answer string) {
		v, err := parseVerdict(answer)
		if err != nil {
			return
		}
		if !v.Action.valid() || v.Action != OK && v.Message == "" || len(v.Message) > maxMessage+len("…") {
			t.Errorf("%q: %+v", answer, v)
		}
	})
}
