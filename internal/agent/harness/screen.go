package harness

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"den/internal/agent/runner"
	"den/internal/screen/vt"
)

// Screen shows the conversation on the harness's terminal, so that it can be
// watched, recorded and pictured as any session. A line that somebody types is
// a message to the agent.
type Screen struct {
	out   io.Writer
	in    io.Reader
	log   *os.File // or nil
	clock func() time.Time

	mu   sync.Mutex // one line at a time
	turn runner.Prompt
}

// NewScreen makes a Screen. What is only of interest when something is wrong
// goes to the log.
func NewScreen(in io.Reader, out io.Writer, log *os.File, clock func() time.Time) *Screen {
	return &Screen{in: in, out: out, log: log, clock: clock}
}

// The colours of the terminal's own palette.
const (
	plain  = "\x1b[0m"
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	cyan   = "\x1b[36m"
)

// maxShown bounds the lines that are shown of one message.
const maxShown = 60

// print writes lines. Text of agents and people is made printable: it must
// not move the cursor, or anything else.
func (s *Screen) print(style, mark, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := strings.Split(strings.TrimRight(printable(text), "\n"), "\n")
	if over := len(lines) - maxShown; over > 0 {
		lines = append(lines[:maxShown], fmt.Sprintf("(%d more lines)", over))
	}
	for _, line := range lines {
		for _, part := range wrap(line, columns-len([]rune(mark))) {
			fmt.Fprintf(s.out, "%s%s%s%s\r\n", style, mark, part, plain) // Best effort: the session records what arrives.
			mark = strings.Repeat(" ", len([]rune(mark)))
		}
	}
}

// printable replaces control characters, but for line ends and tabs.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r == '\r':
			return -1
		case r < 0x20, r >= 0x7f && r < 0xa0, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			return '\uFFFD'
		}
		return r
	}, text)
}

// Notef tells something about the conversation.
func (s *Screen) Notef(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.print(yellow, "! ", text)
	s.Log(text)
}

// Log keeps a line for when something is wrong.
func (s *Screen) Log(line string) {
	if s.log == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.log, "%s %s\n", s.clock().UTC().Format(time.RFC3339), printable(line)) // Best effort: a log that cannot be written must not end the agent.
}

// Greet says whose screen this is.
func (s *Screen) Greet(c Config) {
	s.print(bold, "", fmt.Sprintf("%s, by %s. Type a line to talk to it.", c.Nick, c.Backend))
	if c.Server.Address != "" {
		s.print(dim, "", fmt.Sprintf("%s at %s", strings.Join(c.Channels, " "), c.Server.Address))
	}
}

func (s *Screen) turnBegan(p runner.Prompt, attempt int) {
	s.mu.Lock()
	s.turn = p
	s.mu.Unlock()
	fmt.Fprint(s.out, "\r\n") // Best effort: see print.
	stamp := s.clock().Format("15:04:05")
	if attempt > 1 {
		s.print(yellow, "! ", fmt.Sprintf("%s again, attempt %d", stamp, attempt))
	}
	s.print(cyan, "> ", p.Text)
}

func (s *Screen) happened(e runner.Event) {
	switch e.Kind {
	case runner.Spoke:
		s.message(e.Message)
	case runner.ToolFinished:
		s.toolFinished(e.Result)
	case runner.Retrying:
		s.print(yellow, "! ", "tries again: "+e.Failure.Error())
	case runner.Noted:
		s.print(dim, "· ", e.Text)
	}
}

func (s *Screen) message(m *runner.Message) {
	for _, b := range m.Content {
		switch b.Type {
		case runner.BlockText:
			s.print("", "", b.Text)
		case runner.BlockThinking:
			s.print(dim, "~ ", b.Thinking)
		case runner.BlockToolUse:
			s.print(bold, "* ", b.Name+" "+inputText(b.Input))
		}
	}
}

// inputText is a tool's input on one line: the one value that says most, or
// all of it.
func inputText(input json.RawMessage) string {
	var object map[string]json.RawMessage
	if json.Unmarshal(input, &object) != nil {
		return firstLine(string(input))
	}
	for _, key := range []string{"command", "cmd", "file_path", "path", "url", "query", "pattern"} {
		var text string
		if json.Unmarshal(object[key], &text) == nil && text != "" {
			return firstLine(text)
		}
	}
	return firstLine(string(input))
}

func (s *Screen) toolFinished(r *runner.ToolDone) {
	switch {
	case r.Denied:
		s.print(red, "  ", "denied")
	case r.Failed:
		s.print(red, "  ", "failed: "+firstLine(r.Output))
	default:
		s.print(dim, "  ", firstLine(r.Output))
	}
}

func (s *Screen) turnEnded(o runner.Outcome) {
	var parts []string
	parts = append(parts, o.Duration.Round(100*time.Millisecond).String())
	if u := o.Result.Usage; u.InputTokens+u.OutputTokens > 0 {
		parts = append(parts, fmt.Sprintf("%d tokens in, %d out", u.InputTokens, u.OutputTokens))
		if u.CostUSD > 0 {
			parts = append(parts, fmt.Sprintf("$%.4f", u.CostUSD))
		}
	}
	switch {
	case o.Failure != nil:
		s.print(red, "! ", fmt.Sprintf("failed after %s: %s", parts[0], o.Failure.WithAdvice()))
	case o.Result.Cancelled:
		s.print(yellow, "! ", "cancelled after "+parts[0])
	default:
		s.print(dim, "· ", strings.Join(parts, ", "))
	}
}

// readLines calls each with every line that is typed, until the context ends.
// The reader itself ends with the process: a terminal cannot be asked to stop
// reading.
func (s *Screen) readLines(ctx context.Context, each func(string)) {
	if s.in == nil {
		return
	}
	lines := make(chan string)
	go func() {
		scanner := bufio.NewScanner(s.in)
		scanner.Buffer(nil, 1<<20)
		for scanner.Scan() {
			select {
			case lines <- scanner.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case line := <-lines:
			if strings.TrimSpace(line) != "" {
				each(line)
			}
		}
	}
}

// columns is the width that the screen is written for.
const columns = 80

// wrap breaks a line at blanks so that its parts fit into width columns; those
// after the first are indented as the line is. A longer word is left to the
// terminal, which knows that its parts are one.
func wrap(line string, width int) []string {
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
	if len(indent) > width/2 {
		indent = ""
	}
	var parts []string
	start, column, blank := 0, 0, -1 // blank is the last one behind a word of the part that begins at start
	begin := ""
	inWords := false
	for i, r := range line {
		if r == ' ' || r == '\t' {
			if inWords {
				blank = i
			}
			column += widthOf(r)
			continue
		}
		inWords = true
		if column+widthOf(r) > width && blank >= 0 {
			parts = append(parts, begin+strings.TrimRight(line[start:blank], " \t"))
			start, begin, blank = blank+1, indent, -1
			column = len(indent) + vt.TextWidth(line[start:i], false)
		}
		column += widthOf(r)
	}
	return append(parts, begin+line[start:])
}

// widthOf is how many columns a character takes; a tab as many as it may.
func widthOf(r rune) int {
	if r == '\t' {
		return 8
	}
	return vt.TextWidth(string(r), false)
}
