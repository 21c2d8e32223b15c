package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
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
