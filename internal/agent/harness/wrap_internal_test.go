package harness

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"den/internal/agent/runner"
	"den/internal/screen/vt"
)

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		line string
		want []string
	}{
		{"", []string{""}},
		{"fits well", []string{"fits well"}},
		{"just ten ch", []string{"just ten", "ch"}},
		{"one two three four", []string{"one two", "three four"}},
		{"one two   three", []string{"one two", "three"}},
		{"  - one two three", []string{"  - one", "  two", "  three"}},
		{"see https://example.org/long now", []string{"see", "https://example.org/long", "now"}},
		{"https://example.org/long", []string{"https://example.org/long"}},
		{"梅花 梅花 梅花", []string{"梅花 梅花", "梅花"}},
		{"          deep indent", []string{"          deep", "indent"}},
		{"ends with blanks      ", []string{"ends with", "blanks      "}},
		{"a\tb\tc", []string{"a\tb", "c"}},
	} {
		if got := wrap(c.line, 10); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.line, got, c.want)
		}
	}
	long := strings.Repeat("word ", 1<<18) // it takes no longer than the line is long
	for _, part := range wrap(long, 80) {
		if len(part) > 80 {
			t.Fatalf("%q", part)
		}
	}
}

// The conversation is readable on a terminal of 80 columns: no word is broken.
func TestScreenFitsEightyColumns(t *testing.T) {
	var out bytes.Buffer
	s := NewScreen(nil, &out, nil, time.Now)
	prose := strings.TrimSpace(strings.Repeat("some words of the agent ", 20))
	s.turnBegan(runner.Prompt{Text: prose}, 2)
	s.happened(runner.Event{Kind: runner.Spoke, Message: runner.Say("m", prose+"\n\n- "+prose)})
	s.happened(runner.Event{Kind: runner.Spoke, Message: runner.Think("m", prose)})
	input, err := json.Marshal(map[string]string{"command": prose})
	if err != nil {
		t.Fatal(err)
	}
	s.happened(runner.Event{Kind: runner.Spoke, Message: runner.UseTool("m", "t", "Bash", input)})
	s.happened(runner.Event{Kind: runner.ToolFinished, Result: &runner.ToolDone{Failed: true, Output: prose}})
	s.turnEnded(runner.Outcome{Failure: &runner.Failure{Class: runner.Bug, Message: prose}})
	s.Notef("asks %s: %s", "k3f", prose)
	text := plainOf(out.String())
	for line := range strings.SplitSeq(text, "\r\n") {
		if vt.TextWidth(line, false) > columns {
			t.Errorf("%d columns: %q", vt.TextWidth(line, false), line)
		}
	}
	for word := range strings.FieldsSeq(strings.ReplaceAll(text, "…", " ")) {
		if strings.HasPrefix("agent", word) && word != "agent" && word != "a" {
			t.Errorf("a word is broken: %q", word)
		}
	}
}

// plainOf is a text without the colours.
func plainOf(text string) string {
	for _, colour := range []string{plain, bold, dim, red, yellow, cyan} {
		text = strings.ReplaceAll(text, colour, "")
	}
	return text
}
