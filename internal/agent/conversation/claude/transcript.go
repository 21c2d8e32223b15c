package claude

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"time"

	"den/internal/agent/conversation"
	"den/internal/base/fault"
)

// entry is what is read of a line of a transcript.
type entry struct {
	Type       string    `json:"type"` // user, assistant, system, attachment, and others
	Subtype    string    `json:"subtype"`
	At         time.Time `json:"timestamp"`
	Sidechain  bool      `json:"isSidechain"` // a subagent's
	Meta       bool      `json:"isMeta"`      // written by Claude Code itself
	APIError   bool      `json:"isApiErrorMessage"`
	DurationMs int64     `json:"durationMs"` // of turn_duration
	Message    struct {
		ID      string  `json:"id"`
		Content content `json:"content"`
		Usage   *usage  `json:"usage"`
	} `json:"message"`
	Attachment struct {
		Type   string  `json:"type"`
		Prompt content `json:"prompt"`
	} `json:"attachment"`
}

type block struct {
	Type  string          `json:"type"` // text, tool_use, tool_result, thinking, …
	Text  string          `json:"text"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

type usage struct {
	Input       int64 `json:"input_tokens"`
	CacheWrites int64 `json:"cache_creation_input_tokens"`
	CacheReads  int64 `json:"cache_read_input_tokens"`
	Output      int64 `json:"output_tokens"`
}

// content is a text, or a list of blocks.
type content []block

// UnmarshalJSON takes both forms; what is neither is empty.
func (c *content) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*c = content{{Type: "text", Text: text}}
		return nil
	}
	var blocks []block
	if json.Unmarshal(data, &blocks) == nil {
		*c = blocks
	}
	return nil
}

// text is that of a message of texts alone. ok is false for one with results of
// tools: nobody typed it.
func (c content) text() (text string, ok bool) {
	var all []string
	for _, b := range c {
		switch b.Type {
		case "text":
			all = append(all, b.Text)
		case "tool_result":
			return "", false
		}
	}
	return strings.Join(all, "\n"), len(all) > 0
}

func parseEntry(line []byte) (entry, error) {
	var e entry
	if err := json.Unmarshal(line, &e); err != nil {
		return e, fault.Errorf(fault.Protocol, "read Claude Code's transcript: %w", err)
	}
	return e, nil
}

// interruption is what a message begins with that Claude Code writes when its
// user ends a turn.
const interruption = "[Request interrupted by user"

// turn is what a transcript tells of one message: a pure function of its lines.
type turn struct {
	asked   conversation.Asked
	begun   bool // the message was found
	reply   conversation.Reply
	last    string           // the id of the message that Text is of
	usageOf map[string]usage // by message: each of its lines has it
}

func newTurn(m conversation.Asked) *turn {
	return &turn{asked: m, usageOf: map[string]usage{}, reply: conversation.Reply{Source: RecordName, Certainty: conversation.Matched}}
}

// applyLine takes a line in. One that cannot be read does not hide the others.
func (t *turn) applyLine(line []byte) {
	if e, err := parseEntry(line); err == nil {
		t.apply(e)
	}
}

// apply takes an entry in. Entries before the message and behind its turn's end are
// others'.
func (t *turn) apply(e entry) {
	if e.Sidechain || e.Meta || t.reply.Ended {
		return
	}
	switch {
	case e.Type == "user":
		if text, ok := e.Message.Content.text(); ok {
			t.userSaid(text, e.At)
		}
	case e.Type == "attachment" && e.Attachment.Type == "queued_command" && !t.begun:
		// It was typed while another turn ran, and joined that.
		if text, ok := e.Attachment.Prompt.text(); ok && t.asked.Is(text, e.At) {
			t.begun, t.reply.Certainty = true, conversation.Likely
		}
	case e.Type == "assistant" && t.begun:
		t.agentSaid(e)
	case e.Type == "system" && e.Subtype == "turn_duration" && t.begun:
		t.reply.Ended, t.reply.Duration = true, time.Duration(e.DurationMs)*time.Millisecond
	}
}

func (t *turn) userSaid(text string, at time.Time) {
	switch {
	case !t.begun:
		t.begun = t.asked.Is(text, at)
	case strings.HasPrefix(text, interruption):
		t.reply.Ended, t.reply.Cancelled = true, true
	default:
		t.reply.Ended = true // the next turn
	}
}

// agentSaid takes in a line of the agent's. One message comes in several: the
// text is that of the last that has some.
func (t *turn) agentSaid(e entry) {
	if e.Message.Usage != nil {
		t.usageOf[e.Message.ID] = *e.Message.Usage
		t.count()
	}
	for _, b := range e.Message.Content {
		switch {
		case b.Type == "tool_use":
			t.reply.Tools = append(t.reply.Tools, conversation.ToolUse{Name: b.Name, Input: string(b.Input)})
		case b.Type != "text" || b.Text == "":
		case t.last == e.Message.ID && t.last != "":
			t.reply.Text += "\n" + b.Text
		default:
			t.reply.Text, t.last = b.Text, e.Message.ID
		}
	}
	if e.APIError {
		t.reply.Ended, t.reply.Failure = true, t.reply.Text
	}
}

func (t *turn) count() {
	t.reply.Usage = conversation.Usage{}
	for _, u := range t.usageOf {
		t.reply.Usage.InputTokens += u.Input + u.CacheReads + u.CacheWrites
		t.reply.Usage.OutputTokens += u.Output
	}
}

// RecordName is what Reply.Source says.
const RecordName = "claude transcript"

var _ conversation.Replier = (*Source)(nil)

// ReplyTo reads the transcript of the session that the screen shows. It is
// written a moment after things happen.
func (s *Source) ReplyTo(ctx context.Context, m conversation.Asked) (conversation.Reply, error) {
	path, err := s.transcript(ctx)
	if err != nil {
		return conversation.Reply{}, err
	}
	reply, found := conversation.Reply{}, false
	err = s.reading.Read(path, m, func(t *turn) { reply, found = t.reply, t.begun })
	if err == nil && !found {
		err = fault.Errorf(fault.NotFound, "Claude Code's transcript does not have the message")
	}
	return reply, err
}

// transcript finds the transcript of the session that the process has.
func (s *Source) transcript(ctx context.Context) (string, error) {
	if _, err := s.read(ctx); err != nil { // finds the process
		return "", err
	}
	f, err := s.fileOf(ctx, s.lastFound())
	if err != nil {
		return "", err
	}
	return s.transcriptOf(f)
}

// transcriptOf finds a transcript by the id in the session file, which may be
// nil: its directory is named after the one that Claude Code was started in, in
// a way of its own.
func (s *Source) transcriptOf(f *sessionFile) (string, error) {
	if f == nil || f.SessionID == "" || strings.ContainsAny(f.SessionID, `/*?[\`) {
		return "", fault.Errorf(fault.NotFound, "Claude Code has no session now")
	}
	found, err := filepath.Glob(filepath.Join(s.options.ConfigDir, "projects", "*", f.SessionID+".jsonl"))
	if err != nil {
		return "", fault.Errorf(fault.Internal, "find Claude Code's transcript: %w", err)
	}
	if len(found) != 1 {
		return "", fault.Errorf(fault.NotFound, "Claude Code's session has %d transcripts", len(found))
	}
	return found[0], nil
}
