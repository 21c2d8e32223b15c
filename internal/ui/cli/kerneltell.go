package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"den/internal/base/build"
	"den/internal/base/environment"
	"den/internal/base/fault"
	"den/internal/ticks/datarepo"
	"den/internal/ticks/instance"
	"den/internal/ticks/toolsocket"
	"den/internal/ticks/wake"

	"github.com/spf13/cobra"
)

func (a *app) kernelTriggerCmd() *cobra.Command {
	return a.onInstance(&cobra.Command{
		Use: "trigger [NAME] [REASON]", Short: "Have the watcher run a tick", Example: "  den kernel trigger demo 'the build is done'",
	}, 1, func(_ context.Context, in *instance.Instance, words []string) error {
		reason := strings.Join(words, " ")
		if err := in.Repo.RequestTick(reason); err != nil {
			return err
		}
		return a.told(in, map[string]any{"reason": reason}, "a tick is asked for")
	})
}

func (a *app) kernelNotifyCmd() *cobra.Command {
	return a.onInstance(&cobra.Command{
		Use: "notify [NAME] TEXT|-", Short: "Leave a message for the agent; it wakes a sleeper", Example: "  den kernel notify demo 'the mail is here'",
		Long: "Leave a message. An agent in a tick gets it with the next answer of a tool, or when its turn ends; one that sleeps is woken.",
	}, 1, func(ctx context.Context, in *instance.Instance, words []string) error {
		if len(words) == 0 {
			return fault.Errorf(fault.Usage, "notify: the text is missing; - reads it from stdin")
		}
		text, err := a.textOrStdin(ctx, words)
		if err != nil {
			return err
		}
		file, err := in.Repo.Notify(time.Now(), text)
		if err != nil {
			return err
		}
		v := map[string]any{"file": file}
		if !a.inKernelBox() {
			_, ticking, err := in.Dir.TickHolder()
			if err != nil {
				return err
			}
			if ticking {
				v["ticking"] = true
				return a.told(in, v, "the agent is in a tick, and hears of it there unless that is about to end")
			}
		}
		return a.told(in, v, "the message waits for the agent")
	})
}

// told answers a verb that left something for an agent, and says if nobody is
// there to act on it.
func (a *app) told(in *instance.Instance, v map[string]any, text string) error {
	v["name"] = in.Name
	if a.inKernelBox() { // who watches cannot be seen from here
		return a.answer(v, func(w io.Writer) { fmt.Fprintln(w, text) })
	}
	watched, err := in.Watched()
	if err != nil {
		return err
	}
	v["watched"] = watched
	return a.answer(v, func(w io.Writer) {
		fmt.Fprintln(w, text)
		if !watched && v["ticking"] == nil {
			fmt.Fprintf(w, "nobody watches '%s': 'den kernel watch %[1]s', or 'den kernel tick %[1]s' for one tick\n", in.Name)
		}
	})
}

func (a *app) kernelPauseCmd() *cobra.Command {
	return a.onInstance(&cobra.Command{
		Use: "pause [NAME] [WHY]", Short: "Begin no ticks until they are resumed; nothing is lost", Example: "  den kernel pause demo 'the disk is being moved'",
	}, 1, func(_ context.Context, in *instance.Instance, words []string) error {
		why := cmp.Or(strings.Join(words, " "), "by "+environment.User())
		err := in.Repo.Pause(datarepo.Pause{When: time.Now(), Why: why})
		return a.result(err, map[string]any{"name": in.Name, "paused": true, "why": why}, func(w io.Writer) {
			fmt.Fprintf(w, "%s is paused; a tick that runs goes on\n", in.Name)
		})
	})
}

func (a *app) kernelResumeCmd() *cobra.Command {
	return a.onInstance(&cobra.Command{
		Use: "resume [NAME]", Short: "Begin ticks again, at once also after failures", Example: "  den kernel resume demo",
	}, 0, func(_ context.Context, in *instance.Instance, _ []string) error {
		if err := a.outsideBox("an agent does not resume itself"); err != nil {
			return err
		}
		was, err := in.Repo.Resume()
		if err == nil {
			err = in.Dir.Forgive()
		}
		if err != nil {
			return err
		}
		return a.answer(map[string]any{"name": in.Name, "was_paused": was}, func(w io.Writer) {
			if was {
				fmt.Fprintf(w, "%s has ticks again\n", in.Name)
			} else {
				fmt.Fprintf(w, "%s was not paused\n", in.Name)
			}
		})
	})
}

func (a *app) kernelWakeCmd() *cobra.Command {
	var spec wake.Spec
	var list bool
	var cancel string
	cmd := a.onInstance(&cobra.Command{
		Use: "wake [NAME] [REASON]", Short: "Schedule a wake, list them, or cancel one",
		Long: `Schedule a tick: once (--at), every so often (--every) or by a cron expression (--cron). Times
without a zone are of this machine, and a time of day alone is the next one. Wakes that are due
at the same time share one tick.`,
		Example: "  den kernel wake demo --at 2026-12-24T18:00 'light the tree'\n  den kernel wake demo --cron '0 9 * * 1-5' 'read the mail'\n  den kernel wake demo --list",
	}, 1, func(ctx context.Context, in *instance.Instance, words []string) error {
		spec.Reason = strings.Join(words, " ")
		switch {
		case list && cancel != "" || (list || cancel != "") && spec != (wake.Spec{}):
			return fault.Errorf(fault.Usage, "--list and --cancel stand alone")
		case list:
			return a.listWakes(ctx, in)
		case cancel != "":
			err := in.Wakes.Cancel(ctx, cancel)
			return a.result(err, map[string]any{"name": in.Name, "cancelled": cancel}, func(w io.Writer) { fmt.Fprintf(w, "cancelled %s\n", cancel) })
		}
		id, err := in.Wakes.Add(ctx, time.Now(), spec)
		if err != nil {
			return err
		}
		return a.told(in, map[string]any{"id": id}, "scheduled "+id)
	})
	f := cmd.Flags()
	f.StringVar(&spec.Time, "at", "", "once, at a `TIME` such as 2026-12-24T18:00, or at the next 09:00")
	f.StringVar(&spec.Every, "every", "", "every `DURATION`, such as 6h")
	f.StringVar(&spec.Cron, "cron", "", "by a cron `EXPRESSION` of five fields")
	f.StringVar(&spec.Zone, "zone", "", "the time `ZONE` of --at and --cron, such as Europe/Berlin")
	f.BoolVar(&list, "list", false, "list the wakes")
	f.StringVar(&cancel, "cancel", "", "cancel the wake with an `ID`")
	return cmd
}

// listedWake is one of a list.
type listedWake struct {
	ID        string    `json:"id,omitempty"`
	Time      string    `json:"time,omitempty"`
	Every     string    `json:"every,omitempty"`
	Cron      string    `json:"cron,omitempty"`
	Zone      string    `json:"zone,omitempty"`
	Reason    string    `json:"reason,omitempty"`
	Next      time.Time `json:"next,omitzero"`
	Due       bool      `json:"due,omitempty"`
	Fulfilled bool      `json:"fulfilled,omitempty"`
}

func (a *app) listWakes(ctx context.Context, in *instance.Instance) error {
	look, err := in.Wakes.Look(ctx, time.Now())
	if err != nil {
		return err
	}
	listed := []listedWake{}
	for _, w := range look.Wakes {
		listed = append(listed, listedWake{ID: w.ID, Time: w.Time, Every: w.Every, Cron: w.Cron, Zone: w.Zone, Reason: w.Reason, Next: w.Next, Due: w.Due, Fulfilled: w.Fulfilled})
	}
	problems := []string{}
	for _, p := range look.Problems {
		problems = append(problems, p.Error())
	}
	return a.answer(map[string]any{"name": in.Name, "wakes": listed, "problems": problems}, func(w io.Writer) { printWakes(w, listed, problems) })
}

func printWakes(w io.Writer, all []listedWake, problems []string) {
	if len(all) == 0 {
		fmt.Fprintln(w, "no wakes")
	} else {
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(tw, "ID\tNEXT\tWHEN\tREASON")
		for _, one := range all {
			fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", one.ID, one.nextText(), one.rule(), one.Reason)
		}
		tw.Flush() // Best effort, as all of this is.
	}
	for _, p := range problems {
		fmt.Fprintln(w, "not understood:", p)
	}
}

func (l listedWake) nextText() string {
	switch {
	case l.Due:
		return "now"
	case l.Fulfilled || l.Next.IsZero():
		return "-"
	}
	return l.Next.Local().Format(time.DateTime)
}

// rule is when the wake comes, as it is written.
func (l listedWake) rule() string {
	var parts []string
	for _, p := range []struct{ name, value string }{{"at", l.Time}, {"every", l.Every}, {"cron", l.Cron}, {"zone", l.Zone}} {
		if p.value != "" {
			parts = append(parts, p.name+" "+p.value)
		}
	}
	return strings.Join(parts, ", ")
}

func (a *app) kernelStatusCmd() *cobra.Command {
	return a.onInstance(&cobra.Command{
		Use: "status [NAME]", Short: "Show what an agent does, and what it waits for", Example: "  den kernel status demo -j",
	}, 0, func(ctx context.Context, in *instance.Instance, _ []string) error {
		if err := a.outsideBox("it is not known what runs"); err != nil {
			return err
		}
		s, err := in.Status(ctx, time.Now())
		return a.result(err, s, func(w io.Writer) { printInstance(w, s) })
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

func (a *app) kernelToolCmd() *cobra.Command {
	return &cobra.Command{
		Use: "tool TOOL [NAME=VALUE...]", Short: "Use a tool of the tick that runs: login, open, type, wait, close",
		Long: `Use one of the tools that an agent has in a tick, from the agent's own program: its
environment names the tick. Models use the same tools by the Model Context Protocol. Arguments
are NAME=VALUE, or one JSON object.`,
		Example: "  den kernel tool login\n  den kernel tool type tty=0 expect=bash text='make test'\n  den kernel tool wait timeout=60 until='ok|FAIL'\n  den kernel tool close tty=0",
		Args:    args(1, -1),
		RunE: func(cmd *cobra.Command, given []string) error {
			socket := a.getenv(toolsocket.Variable)
			if socket == "" {
				return fault.Hintf(fault.Errorf(fault.NotRunning, "no tick runs here: %s is not set", toolsocket.Variable), "tools are for the program of an agent in its tick")
			}
			arguments, err := toolArguments(given[0], given[1:])
			if err != nil {
				return err
			}
			answer, err := toolsocket.Use(cmd.Context(), socket, build.Version, toolsocket.Call{Tool: given[0], Arguments: arguments})
			if err != nil {
				return err
			}
			if answer.Failed {
				return fault.Errorf(fault.Usage, "%s", strings.TrimPrefix(answer.Text, "Error: "))
			}
			return a.answer(answer, func(w io.Writer) { fmt.Fprintln(w, answer.Text) })
		},
		ValidArgsFunction: func(_ *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, t := range toolsocket.Tools {
				if len(given) == 0 {
					names = append(names, t.Name)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// toolArguments makes an object of NAME=VALUE words, by the tool's schema.
func toolArguments(tool string, words []string) (json.RawMessage, error) {
	if len(words) == 1 && strings.HasPrefix(words[0], "{") {
		if !json.Valid([]byte(words[0])) {
			return nil, fault.Errorf(fault.Usage, "the arguments of %s are not JSON: %s", tool, words[0])
		}
		return json.RawMessage(words[0]), nil
	}
	kinds, err := argumentKinds(tool)
	if err != nil {
		return nil, err
	}
	object := map[string]any{}
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		if !ok || kinds[name] == "" {
			return nil, fault.Hintf(fault.Errorf(fault.Usage, "%s: '%s' is no argument of it", tool, word), "arguments are NAME=VALUE; 'den kernel tool --help' has examples")
		}
		if object[name], err = argumentOf(kinds[name], value); err != nil {
			return nil, fault.Errorf(fault.Usage, "%s: %s: %w", tool, name, err)
		}
	}
	return json.Marshal(object)
}

// argumentKinds maps the arguments of a tool to their types.
func argumentKinds(tool string) (map[string]string, error) {
	for _, t := range toolsocket.Tools {
		if t.Name != tool {
			continue
		}
		var schema struct {
			Properties map[string]struct {
				Type string `json:"type"`
			} `json:"properties"`
		}
		if err := json.Unmarshal([]byte(t.Schema), &schema); err != nil {
			return nil, fmt.Errorf("read the schema of %s: %w", tool, err)
		}
		kinds := map[string]string{}
		for name, p := range schema.Properties {
			kinds[name] = p.Type
		}
		return kinds, nil
	}
	return nil, fault.Hintf(fault.Errorf(fault.Usage, "there is no tool '%s'", tool), "there are login, open, type, wait and close")
}

func argumentOf(kind, value string) (any, error) {
	switch kind {
	case "integer":
		n, err := strconv.Atoi(value)
		if err != nil {
			return nil, fmt.Errorf("'%s' is not a whole number", value)
		}
		return n, nil
	case "boolean":
		b, err := strconv.ParseBool(value)
		if err != nil {
			return nil, fmt.Errorf("'%s' is neither true nor false", value)
		}
		return b, nil
	}
	return value, nil
}
