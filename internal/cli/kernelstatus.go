package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"den/internal/atomicfile"
	"den/internal/fault"
	"den/internal/kernel/datarepo"
	"den/internal/kernel/instance"

	"github.com/spf13/cobra"
)

func (a *app) kernelStatusCmd() *cobra.Command {
	return a.onInstance(&cobra.Command{
		Use: "status [NAME]", Short: "Tell what an agent does, and what it waits for", Example: "  den kernel status demo -j",
	}, 0, func(ctx context.Context, in *instance.Instance, _ []string) error {
		if err := a.outsideBox("it is not known what runs"); err != nil {
			return err
		}
		s, err := in.Status(ctx, time.Now())
		if err != nil {
			return err
		}
		return a.answer(s, func(w io.Writer) { printInstance(w, s) })
	})
}

func printInstance(w io.Writer, s instance.Status) {
	fmt.Fprintf(w, "%s: %s (%s)\n", s.Name, s.State, s.Why)
	fmt.Fprintf(w, "  data      %s\n", s.Path)
	if s.Doing != "" {
		fmt.Fprintf(w, "  does      %s\n", s.Doing)
	}
	if s.Watch != nil {
		fmt.Fprintf(w, "  watcher   %s\n", s.Watch)
	}
	if s.Last != nil {
		fmt.Fprintf(w, "  last tick %d, %s, began %s\n", s.Last.Tick, lastText(s.Last), s.Last.Began.Local().Format(time.DateTime))
	}
	if c := s.Container; c != nil {
		fmt.Fprintf(w, "  container %s, started %s from %s\n", c.State, c.Since.Local().Format(time.DateTime), c.Image)
		if c.Problem != "" {
			fmt.Fprintf(w, "            an older one: %s\n", strings.ReplaceAll(c.Problem, "\n", "\n            "))
		}
		fmt.Fprintf(w, "  terminals den ls --home %s\n", c.Home)
	}
	if !s.NextLook.IsZero() {
		fmt.Fprintf(w, "  next      %s\n", s.NextLook.Local().Format(time.DateTime))
	}
	for _, c := range s.Waiting {
		fmt.Fprintf(w, "  waits     %s %s\n", c.Kind, c.Reason)
	}
	if s.Paused != "" {
		fmt.Fprintf(w, "  paused    %s\n", strings.ReplaceAll(s.Paused, "\n", "\n            "))
	}
	if s.Problem != "" {
		fmt.Fprintf(w, "  problem   %s\n", strings.ReplaceAll(s.Problem, "\n", "; "))
	}
}

func lastText(l *instance.Last) string {
	if l.Outcome.Reason == "" {
		return "in stage " + string(l.Stage)
	}
	return l.Outcome.String()
}

func (a *app) kernelLogsCmd() *cobra.Command {
	lines := 100
	cmd := a.onInstance(&cobra.Command{
		Use: "logs [NAME]", Short: "Print the end of the log", Example: "  den kernel logs demo -n 20",
		Long: "Print the last lines that ticks and the watcher logged. 'den kernel replay' tells what an agent said and did.",
	}, 0, func(_ context.Context, in *instance.Instance, _ []string) error {
		var all []string
		for _, name := range []string{"agent-current.log", "watcher-current.log"} {
			read, err := lastLines(filepath.Join(in.Repo.Path(), datarepo.Logs, name), lines)
			if err != nil {
				return err
			}
			all = append(all, read...)
		}
		slices.SortStableFunc(all, func(x, y string) int { return strings.Compare(stampOf(x), stampOf(y)) })
		all = all[max(0, len(all)-lines):]
		return a.answer(map[string]any{"name": in.Name, "lines": all}, func(w io.Writer) {
			for _, line := range all {
				fmt.Fprintln(w, line)
			}
		})
	})
	cmd.Flags().IntVarP(&lines, "lines", "n", lines, "how many")
	return cmd
}

// stampOf is the time that a record begins with: "[2026-11-16 09:00:00]".
func stampOf(record string) string {
	const length = len("[2026-11-16 09:00:00]")
	return record[:min(length, len(record))]
}

// maxLog is more than a log of this name grows to.
const maxLog = 16 << 20

// lastLines returns the last records of a log; lines that continue one are
// part of it. A missing log has none.
func lastLines(path string, n int) ([]string, error) {
	data, err := atomicfile.Read(path, maxLog)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Errorf(fault.KindOf(err), "read the log: %w", err)
	}
	var records []string
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "[") || len(records) == 0 {
			records = append(records, line)
		} else {
			records[len(records)-1] += "\n" + line
		}
	}
	return records[max(0, len(records)-n):], nil
}

func (a *app) kernelReplayCmd() *cobra.Command {
	return a.onInstance(&cobra.Command{
		Use: "replay [NAME] [TICK]", Short: "Tell what was said and done in a tick", Example: "  den kernel replay demo\n  den kernel replay demo 12 -j",
		Long: "Print the transcript of a tick, by default of the last one: prompts, answers, uses of tools and how it ended. With -j the\nlines are printed as they were written.",
	}, 1, func(ctx context.Context, in *instance.Instance, words []string) error {
		number, err := a.tickNumber(in, words)
		if err != nil {
			return err
		}
		f, err := atomicfile.Open(filepath.Join(in.Repo.Path(), datarepo.TickLog(number)))
		if os.IsNotExist(err) {
			return fault.Errorf(fault.NotFound, "tick %d of '%s' has no transcript", number, in.Name)
		}
		if err != nil {
			return fault.Errorf(fault.KindOf(err), "read the transcript: %w", err)
		}
		defer f.Close() // Best effort: it was only read.
		return a.replay(ctx, f)
	})
}

func (a *app) tickNumber(in *instance.Instance, words []string) (int, error) {
	if len(words) == 0 {
		return in.Repo.HighestTick()
	}
	n, err := strconv.Atoi(words[0])
	if err != nil || n < 1 {
		return 0, fault.Errorf(fault.Usage, "'%s' is not the number of a tick", words[0])
	}
	return n, nil
}

// maxTranscriptLine bounds one line.
const maxTranscriptLine = 16 << 20

func (a *app) replay(ctx context.Context, r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxTranscriptLine)
	for lines.Scan() {
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		if a.json {
			_, err = fmt.Fprintf(a.stdout, "%s\n", lines.Bytes())
		} else {
			_, err = io.WriteString(a.text, replayLine(lines.Bytes()))
		}
		if err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fault.Errorf(fault.Storage, "read the transcript: %w", err)
	}
	return nil
}

// transcriptLine is a line of a transcript, as far as it is shown.
type transcriptLine struct {
	Type      string    `json:"type"`
	Subtype   string    `json:"subtype"`
	Timestamp time.Time `json:"timestamp"`
	Message   struct {
		Content json.RawMessage `json:"content"`
	} `json:"message"`
	Detail map[string]any `json:"detail"`
}

type transcriptBlock struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	Content json.RawMessage `json:"content"`
	Failed  bool            `json:"is_error"`
}

// replayLine is a line for people, "" for one that tells them nothing.
func replayLine(raw []byte) string {
	var l transcriptLine
	if json.Unmarshal(raw, &l) != nil {
		return "(a line that cannot be read)\n"
	}
	at := l.Timestamp.Local().Format(time.TimeOnly)
	var text string
	var blocks []transcriptBlock
	switch {
	case l.Type == "system" && (l.Subtype == "tick_begun" || l.Subtype == "tick_ended" || l.Subtype == "retrying" || l.Subtype == "note" || l.Subtype == "compacting"):
		detail, err := json.Marshal(l.Detail)
		if err != nil || len(l.Detail) == 0 {
			detail = nil
		}
		return fmt.Sprintf("%s -- %s %s\n", at, strings.ReplaceAll(l.Subtype, "_", " "), detail)
	case l.Type == "system":
		return ""
	case json.Unmarshal(l.Message.Content, &text) == nil:
		return indented(at+" > ", text)
	case json.Unmarshal(l.Message.Content, &blocks) != nil:
		return ""
	}
	var b strings.Builder
	for _, block := range blocks {
		switch block.Type {
		case "text":
			b.WriteString(indented(at+" < ", block.Text))
		case "tool_use":
			b.WriteString(indented(at+" * ", block.Name+" "+string(block.Input)))
		case "tool_result":
			var out string
			if json.Unmarshal(block.Content, &out) != nil {
				out = string(block.Content)
			}
			b.WriteString(indented(at+"   ", out))
		}
	}
	return b.String()
}

// indented puts a margin before a text, and blanks below it.
func indented(margin, text string) string {
	text = strings.TrimRight(text, "\n")
	return margin + strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", len(margin))) + "\n"
}
