package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"den/internal/ticks/instance"

	"github.com/spf13/cobra"
)

func (a *app) kernelStatusCmd() *cobra.Command {
	return a.onInstance(&cobra.Command{
		Use: "status [NAME]", Short: "Show what an agent does, and what it waits for", Example: "  den kernel status demo -j",
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
