// Package transcript reads the transcripts of ticks: what was said to an agent,
// what it said, and which tools it used.
//
// Their format is the same for every backend, and like that of other tools. Lines
// that it does not understand are skipped or reported, and never an error.
package transcript

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"time"
)

// Kind says what an Entry is. The values are sent to pages: add, never rename.
type Kind string

// The kinds.
const (
	Prompt  Kind = "prompt"  // what the agent was told
	Said    Kind = "said"    // by the agent
	Thought Kind = "thought" // by the agent, to itself
	Use     Kind = "use"     // of a tool
	Result  Kind = "result"  // of a tool
	Note    Kind = "note"    // what happened besides
)

// Entry is one thing that happened.
type Entry struct {
	At   time.Time `json:"at,omitzero"` // zero: the line does not say when
	Kind Kind      `json:"kind"`
	Text string    `json:"text,omitempty"`
	// Tool is the name of a tool that is used, without the server's.
	Tool   string          `json:"tool,omitempty"`
	Input  json.RawMessage `json:"input,omitempty"`  // of a use
	TTY    *int            `json:"tty,omitempty"`    // the terminal that the tool is used on, or nil
	Failed bool            `json:"failed,omitempty"` // of a result
	Detail json.RawMessage `json:"detail,omitempty"` // of a note
}

// maxLine bounds one line.
const maxLine = 16 << 20

// Read passes on what a transcript has, in its order. A last line that is being
// written is left out.
func Read(r io.Reader, each func(Entry) error) error {
	return Lines(r, func(line []byte) error {
		for _, e := range Parse(line) {
			if err := each(e); err != nil {
				return err
			}
		}
		return nil
	})
}

// Lines passes on the lines of a transcript as they were written. One that is
// too long is left out, and told by what takes its place.
func Lines(r io.Reader, each func(line []byte) error) error {
	in := bufio.NewReaderSize(r, 64<<10)
	var line []byte
	tooLong := false
	for {
		part, err := in.ReadSlice('\n')
		if tooLong = tooLong || len(line)+len(part) > maxLine; !tooLong {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if tooLong {
			line = []byte(`{"type":"system","subtype":"line_too_long"}`)
		}
		if err := each(bytes.TrimRight(line, "\r\n")); err != nil {
			return err
		}
		line, tooLong = line[:0], false
	}
}

// rawLine is a line, as far as it is understood.
type rawLine struct {
	Type      string    `json:"type"`
	Subtype   string    `json:"subtype"`
	Timestamp time.Time `json:"timestamp"`
	Message   struct {
		Content json.RawMessage `json:"content"`
	} `json:"message"`
	Detail json.RawMessage `json:"detail"`
}

type block struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Thinking string          `json:"thinking"`
	Name     string          `json:"name"`
	Input    json.RawMessage `json:"input"`
	Content  json.RawMessage `json:"content"`
	Failed   bool            `json:"is_error"`
}

// shown are the notes that tell people something.
var shown = [...]string{"tick_begun", "tick_ended", "retrying", "note", "compacting", "line_too_long"}

// Parse returns what one line tells, nothing if it tells people nothing.
func Parse(line []byte) []Entry {
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	var l rawLine
	if json.Unmarshal(line, &l) != nil {
		return []Entry{{Kind: Note, Text: "a line that cannot be read"}}
	}
	switch l.Type {
	case "system":
		if !slices.Contains(shown[:], l.Subtype) {
			return nil
		}
		e := Entry{At: l.Timestamp, Kind: Note, Text: strings.ReplaceAll(l.Subtype, "_", " ")}
		if len(l.Detail) > 0 && string(l.Detail) != "null" {
			e.Detail = l.Detail
		}
		return []Entry{e}
	case "user", "assistant":
	default:
		return nil
	}
	var text string
	if json.Unmarshal(l.Message.Content, &text) == nil {
		if strings.TrimSpace(text) == "" {
			return nil
		}
		return []Entry{{At: l.Timestamp, Kind: spoken(l.Type), Text: text}}
	}
	var blocks []block
	if json.Unmarshal(l.Message.Content, &blocks) != nil {
		return nil
	}
	var all []Entry
	for _, b := range blocks {
		if e, ok := b.entry(l.Type); ok {
			e.At = l.Timestamp
			all = append(all, e)
		}
	}
	return all
}

// spoken is whose words a text is.
func spoken(lineType string) Kind {
	if lineType == "assistant" {
		return Said
	}
	return Prompt
}

func (b block) entry(lineType string) (Entry, bool) {
	switch b.Type {
	case "text":
		return Entry{Kind: spoken(lineType), Text: b.Text}, strings.TrimSpace(b.Text) != ""
	case "thinking":
		text := b.Thinking + b.Text
		return Entry{Kind: Thought, Text: text}, strings.TrimSpace(text) != ""
	case "tool_use":
		return Entry{Kind: Use, Tool: toolName(b.Name), Input: b.Input, TTY: ttyOf(b.Input)}, true
	case "tool_result":
		return Entry{Kind: Result, Text: resultText(b.Content), Failed: b.Failed}, true
	}
	return Entry{}, false
}

// toolName leaves out the server of a tool: mcp__den__login is login.
func toolName(name string) string {
	if rest, ok := strings.CutPrefix(name, "mcp__"); ok {
		if _, tool, ok := strings.Cut(rest, "__"); ok {
			return tool
		}
	}
	return name
}

// ttyOf is the terminal that a tool is used on, or nil.
func ttyOf(input json.RawMessage) *int {
	var i struct {
		TTY *int `json:"tty"`
	}
	if json.Unmarshal(input, &i) != nil {
		return nil
	}
	return i.TTY
}

// resultText is what a tool answered: a text, or blocks of which some are.
func resultText(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var blocks []block
	if json.Unmarshal(content, &blocks) != nil {
		return string(content)
	}
	var parts []string
	for _, b := range blocks {
		if b.Type == "text" {
			parts = append(parts, b.Text)
		} else {
			parts = append(parts, "("+b.Type+")")
		}
	}
	return strings.Join(parts, "\n")
}
