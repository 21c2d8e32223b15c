package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"den/internal/base/brief"
	"den/internal/base/fault"
	"den/internal/screen/eventlog"
	"den/internal/session/home"
	"den/internal/ticks/history"
	"den/internal/ticks/instance"
	"den/internal/ticks/transcript"

	"github.com/spf13/cobra"
)

// replayOptions are the flags of 'den kernel replay'.
type replayOptions struct {
	count    int
	before   int
	lines    bool
	terminal string
	export   exportOptions
	played   bool   // a flag for terminals was given
	forFiles string // one that only makes sense for a file, or ""
}

func (a *app) kernelReplayCmd() *cobra.Command {
	o := replayOptions{}
	cmd := a.onInstance(&cobra.Command{
		Use: "replay [NAME] [TICK]", Short: "List the ticks of an agent, or tell what happened in one",
		Long: `Without TICK the ticks are listed, the newest first. With TICK, a number or 'last', its
transcript is printed, with the opening and closing of its terminals in time order: prompts
(>), what the agent said (<), uses of tools (*) and what they answered. --lines adds what the
terminals printed.

--terminal N plays the recording of a terminal: on a terminal as it was, with --speed,
--timing, --idle-limit, --from and --to, elsewhere as lines. The second terminal 0 of a tick is
0-1. With -o it is exported as 'den export' does. It also works for a terminal that is open.

With -j ticks are objects, a transcript's lines are printed as they were written, and a
terminal's lines are objects.`,
		Example: "  den kernel replay demo\n  den kernel replay demo 12\n  den kernel replay demo last --terminal 0 --speed 4\n  den kernel replay demo 12 --terminal 0-1 -o night.gif",
	}, 1, func(ctx context.Context, in *instance.Instance, words []string) error {
		return a.runReplay(ctx, in, words, o)
	})
	f := cmd.Flags()
	f.IntVarP(&o.count, "count", "n", 20, "list so many ticks")
	f.IntVar(&o.before, "before", 0, "list those before this `TICK`")
	f.BoolVar(&o.lines, "lines", false, "with TICK: also what its terminals printed")
	f.StringVar(&o.terminal, "terminal", "", "play this terminal, `N` or N-1")
	o.export.addFlags(cmd)
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, given []string) error {
		for _, name := range []string{"output", "timing", "speed", "idle-limit", "from", "to"} {
			o.played = o.played || f.Changed(name)
		}
		for _, name := range []string{"format", "theme", "scale", "fonts", "redact", "redact-tokens"} {
			if f.Changed(name) {
				o.played, o.forFiles = true, name
			}
		}
		return run(cmd, given)
	}
	return cmd
}

func (a *app) runReplay(ctx context.Context, in *instance.Instance, words []string, o replayOptions) error {
	switch {
	case len(words) == 0 && (o.terminal != "" || o.lines || o.played):
		return fault.Hintf(fault.Errorf(fault.Usage, "the tick is missing"), "'den kernel replay %s' lists them; 'last' is the last one", in.Name)
	case len(words) == 0:
		return a.listTicks(in, o)
	case o.terminal == "" && o.played:
		return fault.Errorf(fault.Usage, "which terminal is to be played? Use --terminal N")
	case o.terminal != "" && o.lines:
		return fault.Errorf(fault.Usage, "--lines is for the whole tick, --terminal for one terminal: use one of them")
	}
	number, err := tickNumber(in, words[0])
	if err != nil {
		return err
	}
	t, err := in.Tick(number)
	if err != nil {
		return err
	}
	if o.terminal != "" {
		return a.replayTerminal(ctx, in, t, o)
	}
	return a.replayTick(ctx, in, t, o.lines)
}

func tickNumber(in *instance.Instance, word string) (int, error) {
	if word == "last" {
		n, err := in.LastTick()
		if err == nil && n == 0 {
			err = fault.Hintf(fault.Errorf(fault.NotFound, "'%s' has had no tick yet", in.Name), "'den kernel tick %s' runs one", in.Name)
		}
		return n, err
	}
	n, err := strconv.Atoi(word)
	if err != nil || n < 1 {
		return 0, fault.Errorf(fault.Usage, "'%s' is not the number of a tick", word)
	}
	return n, nil
}

func (a *app) listTicks(in *instance.Instance, o replayOptions) error {
	if o.count < 1 || o.before < 0 {
		return fault.Errorf(fault.Usage, "-n is at least 1, and --before the number of a tick")
	}
	page, err := in.Ticks(o.before, o.count)
	if err != nil {
		return err
	}
	type answer struct {
		Name string `json:"name"`
		instance.TickPage
	}
	return a.answer(answer{in.Name, page}, func(w io.Writer) { printTicks(w, in.Name, page, time.Now()) })
}

func printTicks(w io.Writer, name string, page instance.TickPage, now time.Time) {
	if len(page.Ticks) == 0 && page.Before == 0 {
		fmt.Fprintf(w, "nothing is known of ticks; 'den kernel tick %s' runs one\n", name)
		return
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "TICK\tBEGAN\tTOOK\tEND\tTURNS\tCOST\tTERMINALS\tRUNNER\tWHY")
	for _, t := range page.Ticks {
		fmt.Fprintf(tw, "%d\t%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n", t.Number, beganText(t), tookText(t, now), endText(t), turnsText(t), costText(t), len(t.Terminals), cmp.Or(t.Runner, "?"), beginningOf(cmp.Or(t.Outcome.Why, t.Last)))
	}
	tw.Flush() // Best effort, as all of this is.
	if page.Before > 0 {
		fmt.Fprintf(w, "older: den kernel replay %s --before %d\n", name, page.Before)
	}
}

func beganText(t instance.Tick) string {
	if t.Began.IsZero() {
		return "?"
	}
	return t.Began.Local().Format(time.DateTime)
}

// tookText is how long a tick took. Of one whose end is not known it is said
// how long at least.
func tookText(t instance.Tick, now time.Time) string {
	took, known := t.Took(now)
	switch {
	case t.Began.IsZero():
		return "?"
	case known:
		return took.Round(100 * time.Millisecond).String()
	}
	return "≥" + took.Round(time.Second).String()
}

func endText(t instance.Tick) string {
	if t.State != instance.TickEnded {
		return string(t.State)
	}
	return string(t.Outcome.Reason)
}

func turnsText(t instance.Tick) string {
	if t.State != instance.TickEnded {
		return "?"
	}
	return strconv.Itoa(t.Turns)
}

// costText is "" where the backend does not tell.
func costText(t instance.Tick) string {
	if t.CostUSD == 0 {
		return ""
	}
	return fmt.Sprintf("$%.2f", t.CostUSD)
}

// beginningOf is the beginning of a text.
func beginningOf(text string) string {
	line, more, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if short := brief.Runes(line, 61); short != line || more == "" {
		return short
	}
	return line + " …"
}

// replayTick prints a whole tick in time order.
func (a *app) replayTick(ctx context.Context, in *instance.Instance, t instance.Tick, withLines bool) error {
	f, err := openTranscript(in, t)
	if a.json {
		if err != nil {
			return err
		}
		defer f.Close() // Best effort: it was only read.
		return a.printTranscript(ctx, f)
	}
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return err
	}
	fmt.Fprintln(a.text, tickTitle(in.Name, t, time.Now()))
	moments := a.terminalMoments(ctx, in, t, withLines)
	if err != nil {
		fmt.Fprintln(a.text, "(there is no transcript)")
	} else {
		defer f.Close() // Best effort: it was only read.
		if moments, err = a.interleave(ctx, f, moments); err != nil {
			return err
		}
	}
	for _, m := range moments {
		if _, err := io.WriteString(a.text, m.text); err != nil {
			return err
		}
	}
	if t.State != instance.TickEnded {
		fmt.Fprintf(a.text, "-- %s\n", unfinished(t))
	}
	return nil
}

// unfinished says what is not known of a tick.
func unfinished(t instance.Tick) string {
	switch t.State {
	case instance.TickRuns:
		return "the tick runs"
	case instance.TickCutOff:
		return "the process of the tick was killed; the next tick, or a watcher, completes it"
	}
	return "how and when the tick ended is not known"
}

func tickTitle(name string, t instance.Tick, now time.Time) string {
	title := fmt.Sprintf("tick %d of %s: %s, began %s, took %s", t.Number, name, endText(t), beganText(t), tookText(t, now))
	if t.State == instance.TickEnded {
		title += fmt.Sprintf(", %d turns", t.Turns)
	}
	if cost := costText(t); cost != "" {
		title += ", " + cost
	}
	if t.Runner != "" {
		title += ", " + t.Runner
	}
	if t.Reconstructed {
		title += " (no index was written: this is what the transcript tells)"
	}
	return title
}

func openTranscript(in *instance.Instance, t instance.Tick) (*os.File, error) {
	none := fault.Errorf(fault.NotFound, "tick %d of '%s' has no transcript", t.Number, in.Name)
	if t.Transcript == "" {
		return nil, none
	}
	f, err := in.Repo.Open(t.Transcript)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, none
	}
	return f, err
}

// printTranscript prints a transcript as it was written.
func (a *app) printTranscript(ctx context.Context, r io.Reader) error {
	return transcript.Lines(r, func(line []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		_, err := fmt.Fprintf(a.stdout, "%s\n", line)
		return err
	})
}

// moment is something that a terminal did.
type moment struct {
	at   time.Time
	text string
}

// interleave prints a transcript, and moments between its lines. It returns
// those that came later.
func (a *app) interleave(ctx context.Context, r io.Reader, moments []moment) ([]moment, error) {
	err := transcript.Read(r, func(e transcript.Entry) error {
		for len(moments) > 0 && !e.At.IsZero() && !moments[0].at.After(e.At) {
			if _, err := io.WriteString(a.text, moments[0].text); err != nil {
				return err
			}
			moments = moments[1:]
		}
		_, err := io.WriteString(a.text, entryText(e))
		return errors.Join(err, ctx.Err())
	})
	return moments, err
}

// terminalMoments are what is told of a tick's terminals, by time.
func (a *app) terminalMoments(ctx context.Context, in *instance.Instance, t instance.Tick, withLines bool) []moment {
	var all []moment
	add := func(at time.Time, format string, args ...any) {
		all = append(all, moment{at, indented(stamp(at)+" = ", fmt.Sprintf(format, args...))})
	}
	for _, one := range t.Terminals {
		if !one.Opened.IsZero() {
			add(one.Opened, "terminal %s opened: %s", one.Name, one.Command)
		}
		if withLines {
			all = append(all, a.printedBy(ctx, in, t, one)...)
		}
		if !one.Closed.IsZero() {
			add(one.Closed, "terminal %s closed: %s; --terminal %[1]s plays it%[3]s", one.Name, cmp.Or(one.Status, "how it ended is not known"), noted(one))
		} else if one.Archive != "" {
			until, _ := t.Until()
			add(until, "terminal %s was archived later; --terminal %[1]s plays it%s", one.Name, noted(one))
		}
	}
	slices.SortStableFunc(all, func(x, y moment) int { return x.at.Compare(y.at) })
	return all
}

func noted(one history.Terminal) string {
	if one.Note == "" {
		return ""
	}
	return " (" + one.Note + ")"
}

// maxPrinted bounds what of a terminal is printed between the lines of a
// transcript.
const maxPrinted = 5000

// printedBy are the lines that a terminal printed. What cannot be read is told
// in their place.
func (a *app) printedBy(ctx context.Context, in *instance.Instance, t instance.Tick, one history.Terminal) []moment {
	var all []moment
	log, err := a.recordingOf(in, t, one)
	if err == nil {
		err = linesOf(ctx, log, func(elapsed time.Duration, line string) error {
			at := one.Opened.Add(elapsed)
			if len(all) == maxPrinted {
				all = append(all, moment{at, fmt.Sprintf("%s %s| … more: --terminal %[2]s\n", stamp(at), one.Name)})
				return errEnough
			}
			all = append(all, moment{at, fmt.Sprintf("%s %s| %s\n", stamp(at), one.Name, line)})
			return nil
		})
	}
	if err != nil && !errors.Is(err, errEnough) {
		all = append(all, moment{one.Opened, fmt.Sprintf("%s %s| (%v)\n", stamp(one.Opened), one.Name, err)})
	}
	return all
}

var errEnough = errors.New("enough was printed")

func stamp(at time.Time) string {
	if at.IsZero() {
		return "--:--:--"
	}
	return at.Local().Format(time.TimeOnly)
}

// entryText is an entry of a transcript for people.
func entryText(e transcript.Entry) string {
	at := stamp(e.At)
	switch e.Kind {
	case transcript.Note:
		return strings.TrimRight(fmt.Sprintf("%s -- %s %s", at, e.Text, e.Detail), " ") + "\n"
	case transcript.Prompt:
		return indented(at+" > ", e.Text)
	case transcript.Said:
		return indented(at+" < ", e.Text)
	case transcript.Thought:
		return indented(at+" ~ ", e.Text)
	case transcript.Use:
		return indented(at+" * ", e.Tool+" "+string(e.Input))
	case transcript.Result:
		if e.Failed {
			return indented(at+" ! ", e.Text)
		}
		return indented(at+"   ", e.Text)
	}
	return ""
}

// indented puts a margin before a text, and blanks below it.
func indented(margin, text string) string {
	text = strings.TrimRight(text, "\n")
	return margin + strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", len(margin))) + "\n"
}

// recordingOf opens the recording of a terminal: its archive, or the log of a
// session that is open.
func (a *app) recordingOf(in *instance.Instance, t instance.Tick, one history.Terminal) (*eventlog.Log, error) {
	if one.Recording != "" {
		return eventlog.OpenFile(one.Recording, func() (*os.File, error) { return in.Repo.Open(one.Recording) })
	}
	none := fault.Errorf(fault.NotFound, "terminal %s of tick %d has no recording", one.Name, t.Number)
	switch {
	case one.Note != "":
		return nil, fault.Hintf(none, "%s", one.Note)
	case one.Archive != "" || one.Session == "":
		return nil, fault.Hintf(none, "its archive has none")
	}
	root, err := a.home()
	if err != nil {
		return nil, err
	}
	// Terminals in a container are in a Home of the instance's own.
	for _, h := range []home.Home{root, in.Dir.TerminalHome()} {
		d, err := h.Find(one.Session)
		if err == nil {
			return eventlog.Open(d.Log())
		}
		if fault.KindOf(err) != fault.NotFound {
			return nil, err
		}
	}
	return nil, fault.Hintf(none, "its session %s is not in the Home %s: if the agent's terminals are in another one, name it with --home", one.Session, root.Path)
}

// replayTerminal plays or exports the recording of one terminal.
func (a *app) replayTerminal(ctx context.Context, in *instance.Instance, t instance.Tick, o replayOptions) error {
	one, err := t.Terminal(o.terminal)
	if err != nil {
		return err
	}
	log, err := a.recordingOf(in, t, one)
	if err != nil {
		return err
	}
	title := fmt.Sprintf("%s tick %d terminal %s", in.Name, t.Number, one.Name)
	fo, err := o.export.filmOptions(&home.Manifest{Name: title, Created: one.Opened}, time.Now())
	if err != nil {
		return err
	}
	switch {
	case o.export.out != "":
		return a.export(ctx, log, title, o.export, fo, nil) // it names a place
	case o.forFiles != "":
		return fault.Errorf(fault.Usage, "--%s is for a file: use -o FILE", o.forFiles)
	}
	if out := terminalOf(a.stdout); out != nil && !a.json {
		return a.play(ctx, out, log, fo, fmt.Sprintf("%s: %s, %s", title, one.Command, cmp.Or(one.Status, "open")))
	}
	return linesOf(ctx, log, func(elapsed time.Duration, line string) error {
		if elapsed < fo.From || fo.To > 0 && elapsed > fo.To {
			return nil
		}
		return a.answer(map[string]any{"line": line, "at": one.Opened.Add(elapsed)}, func(w io.Writer) { fmt.Fprintln(w, line) })
	})
}
