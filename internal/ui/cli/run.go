package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"time"

	"den/internal/base/fault"
	"den/internal/screen/keys"
	"den/internal/session"
	"den/internal/session/cell"
	"den/internal/session/wire"

	"github.com/spf13/cobra"
)

type runOptions struct {
	timeout     duration
	file        string
	keepWaiting bool
	maxLines    int
	grep        string
	raw         bool
	noWait      bool
	answers     []string
}

func (a *app) runCmd() *cobra.Command {
	o := runOptions{timeout: duration(30 * time.Second)}
	cmd := a.onWord(&cobra.Command{
		Use:     "run [SESSION] CODE",
		Aliases: []string{"await"},
		Short:   "Run code in a session and wait until it is done",
		Long: `Send CODE to the program of a session, wait until it is done, and print its output as
the screen shows it: without echo and prompt, progress bars in their last state, wrapped
lines joined.

"by" says how the end was detected: shell (the shell's own marks, with the exit code),
ready (the kernel says that the program waits for input), prompt, hook, prompt-learned or
quiet. If the program asks something before it is done, the command returns at once with
"waiting_for" and exit 13: answer with 'den answer', which waits on. A timeout (exit 11)
leaves the cell running.`,
		Example: "  den run work 'make test' -t 5m\n  den run py 'print(6*7)' -j\n  den run work --file script.sh",
		Args:    args(0, 2),
	}, a.codeIn(&o.file), func(ctx context.Context, s *session.Session, code string) error {
		req, err := a.knowing(o, code)
		if err != nil {
			return err
		}
		r, err := s.Run(ctx, req)
		if err != nil {
			return err
		}
		return a.answerRun(s, r, o)
	})
	a.addRunFlags(cmd, &o)
	cmd.Flags().StringVar(&o.file, "file", "", "take the code from `F`")
	return cmd
}

// addRunFlags adds the flags that run and answer share.
func (a *app) addRunFlags(cmd *cobra.Command, o *runOptions) {
	f := cmd.Flags()
	f.VarP(&o.timeout, "timeout", "t", "how long to wait; 0: no limit")
	f.BoolVar(&o.keepWaiting, "keep-waiting", false, "keep waiting when the program asks something")
	o.addCutFlags(cmd)
	addAnswers(cmd, &o.answers)
	f.BoolVar(&a.exitCode, exitCodeFlag, false, "exit with the command's own status, and with 125 for den's own errors")
	f.BoolVar(&o.raw, "raw", false, "print the bytes as the program wrote them; with -j in base64, as \"raw\"")
}

// addCutFlags adds the flags that say what is printed of a long output.
func (o *runOptions) addCutFlags(cmd *cobra.Command) {
	cmd.Flags().IntVar(&o.maxLines, "max-lines", 0, "print at most `N` lines: the first and the last")
	cmd.Flags().StringVar(&o.grep, "grep", "", "print only lines that match the regular expression `R` (Go syntax)")
}

func addAnswers(cmd *cobra.Command, to *[]string) {
	cmd.Flags().StringArrayVar(to, "answer", nil, "answer a question that matches a regular expression: `PATTERN=ANSWER`; =@FILE or =@env:NAME for secrets (repeatable)")
}

// request returns what the flags mean.
func (o *runOptions) request(code string) (session.Run, error) {
	if o.maxLines < 0 {
		return session.Run{}, fault.Errorf(fault.Usage, "--max-lines is %d; it counts lines, and 0 means all", o.maxLines)
	}
	run := session.Run{Code: code, Timeout: time.Duration(o.timeout), KeepWaiting: o.keepWaiting, MaxLines: o.maxLines, NoWait: o.noWait}
	if o.grep != "" {
		only, err := regexp.Compile(o.grep)
		if err != nil {
			return run, fault.Errorf(fault.Usage, "--grep: %w", err)
		}
		run.Only = only
	}
	return run, nil
}

// codeIn splits the words of run and fire: [SESSION] CODE, or [SESSION] with the
// code in a file or on stdin.
func (a *app) codeIn(file *string) func(ctx context.Context, args []string) (*session.Session, string, error) {
	return func(ctx context.Context, args []string) (*session.Session, string, error) {
		if *file != "" {
			raw, err := os.ReadFile(*file)
			if err != nil {
				return nil, "", fault.Errorf(fault.Usage, "read code: %w", err)
			}
			s, _, err := a.optionalTarget(args, 0)
			return s, string(raw), err
		}
		if len(args) == 0 {
			return nil, "", fault.Hintf(fault.Errorf(fault.Usage, "no code was given"), "for example 'den run work \"make test\"', or '-' for stdin")
		}
		s, rest, err := a.optionalTarget(args, 1)
		if err != nil {
			return s, "", err
		}
		code, err := a.textOrStdin(ctx, rest)
		return s, code, err
	}
}

// answerRun prints the result of a cell that was waited for.
func (a *app) answerRun(s *session.Session, r cell.Result, o runOptions) error {
	if r.By == cell.ByExit {
		a.looked(s) // the end of the session is no news any more
	}
	for _, given := range r.Answered {
		if !a.json {
			fmt.Fprintf(a.stderr, "den: answered %q (%s)\n", given.Question, given.Pattern)
		}
	}
	if err := a.answerCell(s, r, o.raw); err != nil {
		return err
	}
	switch {
	case !a.exitCode, o.noWait:
		return nil
	case r.ExitCode == nil:
		err := fault.Errorf(fault.Unsupported, "the command's own status is not known: its end was detected by %s", r.By)
		if !a.json {
			fmt.Fprintf(a.stderr, "den: %v\n", err)
		}
		return reported{err}
	case *r.ExitCode != 0:
		return exitStatus(*r.ExitCode)
	}
	return nil
}

// answerCell prints a cell's result, and returns the error that it means.
func (a *app) answerCell(s *session.Session, r cell.Result, raw bool) error {
	if err := a.printResult(s, r, raw); err != nil {
		return err
	}
	if r.NotSaved != "" && !a.json {
		fmt.Fprintf(a.stderr, "den: cell '%s': not saved: %s\n", r.CellID, r.NotSaved)
	}
	if r.OutputLacks != "" && !a.json {
		fmt.Fprintf(a.stderr, "den: cell '%s': the output lacks: %s\n", r.CellID, r.OutputLacks)
	}
	err := r.Err()
	if err == nil {
		return nil
	}
	if !a.json {
		a.explainCell(r, err)
	}
	return reported{err}
}

func (a *app) explainCell(r cell.Result, err error) {
	fmt.Fprintf(a.stderr, "den: %v\n", err)
	if r.Asks() && !r.ShowsQuestion() {
		fmt.Fprintf(a.stderr, "it asks:\n%s\n", r.Question)
	}
	switch {
	case r.WaitingFor == cell.ForProgram:
		fmt.Fprintln(a.stderr, "hint: it is sent as soon as the program takes it (a shell may still run its start-up files); 'den snapshot' shows what it does, 'den int' cancels the cell")
	case r.WaitingFor == cell.ForContinuation:
		fmt.Fprintln(a.stderr, "hint: the code is not complete; give the rest with 'den answer', or 'den int'")
	case r.InnerShell:
		fmt.Fprintln(a.stderr, "hint: a shell is at its prompt; 'den run' gives it code, with exit codes")
	case r.WaitingFor != "" && r.Certainty == cell.Guess:
		fmt.Fprintln(a.stderr, "hint: 'den snapshot' shows it; answer with 'den answer', or go on waiting with 'den events CELL -1'")
	case r.WaitingFor != "":
		fmt.Fprintln(a.stderr, "hint: answer with 'den answer TEXT' or 'den answer --keys CHORD...'")
	case r.Status == cell.Unsure:
		fmt.Fprintln(a.stderr, "hint: 'den snapshot' shows what it does; 'den new --prompt P' makes the ends of cells certain")
	case r.By == cell.ByRefusal:
		fmt.Fprintln(a.stderr, "hint: 'den snapshot' shows it; 'den keys' empties a line or leaves a program, 'den kill' ends the session")
	case r.Status == cell.TimedOut:
		fmt.Fprintln(a.stderr, "hint: it runs on; 'den poll' tells how it goes, 'den int' interrupts it, 'den release' gives the session back, 'den kill' ends it")
	}
}

func (a *app) fireCmd() *cobra.Command {
	var file string
	var answers []string
	timeout := duration(300 * time.Second)
	cmd := a.onWord(&cobra.Command{
		Use:     "fire [SESSION] CODE",
		Short:   "Run code in a session without waiting",
		Example: "  den fire work 'make test' -j\n  den poll work",
		Args:    args(0, 2),
	}, a.codeIn(&file), func(ctx context.Context, s *session.Session, code string) error {
		known, err := a.knownAnswers(answers)
		if err != nil {
			return err
		}
		r, err := s.Fire(ctx, code, time.Duration(timeout), known...)
		if err != nil {
			return err
		}
		fired := map[string]any{"cell_id": r.CellID, "status": r.Status}
		if seq := s.StartOf(r.CellID); seq > 0 {
			fired["seq"] = seq
		}
		return a.answer(fired, func(w io.Writer) { fmt.Fprintln(w, r.CellID) })
	})
	cmd.Flags().StringVar(&file, "file", "", "take the code from `F`")
	cmd.Flags().VarP(&timeout, "timeout", "t", "after this long 'den poll' reports timeout; the cell keeps running")
	addAnswers(cmd, &answers)
	return cmd
}

func (a *app) pollCmd() *cobra.Command {
	var raw bool
	var timeout duration
	var as string
	cmd := a.onWord(&cobra.Command{
		Use:     "poll [SESSION] [CELL]",
		Short:   "Show the state or result of a cell",
		Example: "  den poll work -j",
		Args:    args(0, 2),
	}, a.pollTarget, func(ctx context.Context, s *session.Session, id string) error {
		poll := s.Poll
		if timeout > 0 {
			poll = func(id string) (cell.Result, error) {
				return s.Await(ctx, id, session.Run{Timeout: time.Duration(timeout)})
			}
		}
		r, err := poll(id)
		if err != nil {
			return err
		}
		if !r.Final() && !r.Asks() {
			if now, err := s.Peek(ctx, r.CellID, session.Run{}); err == nil { // else what the record has
				r.Output = now.Output
			}
		}
		if r.Final() {
			a.looked(s)
		}
		err = a.answerCell(s, r, raw)
		if r.Final() && (err == nil || errors.As(err, &reported{})) {
			a.had(s, r.CellID, as)
		}
		if err != nil {
			return err
		}
		if !a.json && !r.Final() {
			fmt.Fprintf(a.stderr, "cell '%s' is running\n", r.CellID)
		}
		return nil
	})
	cmd.Flags().BoolVar(&raw, "raw", false, "print the bytes as the program wrote them; with -j in base64, as \"raw\"")
	cmd.Flags().VarP(&timeout, "timeout", "t", "wait this long for its end or its question")
	addCaller(cmd, &as)
	return cmd
}

func (a *app) pollTarget(_ context.Context, args []string) (*session.Session, string, error) {
	ref, id := "", ""
	switch {
	case len(args) == 2:
		ref, id = args[0], args[1]
	case len(args) == 1 && cell.CheckID(args[0]) == nil:
		id = args[0]
	case len(args) == 1:
		ref = args[0]
	}
	s, err := a.target(ref)
	return s, id, err
}

func (a *app) intCmd() *cobra.Command {
	o := runOptions{timeout: duration(5 * time.Second)}
	cmd := a.onSession(&cobra.Command{
		Use:   "int [SESSION]",
		Short: "Press Ctrl-C and wait for the running cell's end",
		Long: `Press Ctrl-C once and wait until the cell ends, and print its output; -j adds the program's own
exit code and "left", the processes that outlived the cell. If the program asks something
(exit 13), or runs on (exit 5), 'den int' again presses Ctrl-C again.`,
		Example: "  den int work",
	}, 0, func(ctx context.Context, s *session.Session, _ []string) error {
		req, err := o.request("")
		if err != nil {
			return err
		}
		r, err := s.Interrupt(ctx, req)
		switch {
		case err != nil:
			return err
		case r.CellID == "":
			return a.answer(map[string]string{"status": "sent"}, nil)
		case !r.Final():
			return a.answerCell(s, r, false)
		}
		return a.answer(r, func(w io.Writer) {
			if r.Output != "" {
				fmt.Fprintln(w, r.Output)
			}
			if r.ExitCode != nil {
				name := s.Dir.ID
				if m, err := s.Dir.Load(); err == nil {
					name = m.Name
				}
				fmt.Fprintf(a.stderr, "session '%s': cell '%s' ended with exit code %d\n", name, r.CellID, *r.ExitCode)
			}
			for _, p := range r.Left {
				fmt.Fprintf(a.stderr, "den: still running: %s; 'kill %d' ends it\n", p.Command, p.PID)
			}
		})
	})
	cmd.Flags().VarP(&o.timeout, "timeout", "t", "how long to wait")
	o.addCutFlags(cmd)
	return cmd
}

func (a *app) answerCmd() *cobra.Command {
	o := runOptions{timeout: duration(30 * time.Second)}
	var chords bool
	var question string
	cmd := &cobra.Command{
		Use:   "answer [SESSION] TEXT | --keys [SESSION] CHORD...",
		Short: "Answer what a cell asks and wait until it is done",
		Long: `Type TEXT and Enter, or press the chords, when the active cell asks something ("waiting_for",
exit 13), and wait: until it asks again, is done, or the time is up. The result and the
exit code are those of 'den run'. If the cell asks nothing, nothing is typed (exit 5). With
--question nothing is typed if the cell asks another question by then.`,
		Example: "  den answer work yes\n  den answer work --keys Down Enter -t 5m",
		Args:    args(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runAnswer(cmd, args, chords, question, o)
		},
		ValidArgsFunction: a.completeSession,
	}
	a.addRunFlags(cmd, &o)
	cmd.Flags().BoolVar(&chords, "keys", false, "the words are chords, as for 'den keys'")
	cmd.Flags().StringVar(&question, "question", "", "answer only this question, as 'run' or 'poll' told it")
	cmd.Flags().BoolVar(&o.noWait, "no-wait", false, "return when it is typed; 'den next' tells what comes of it")
	return cmd
}

func (a *app) runAnswer(cmd *cobra.Command, args []string, chords bool, question string, o runOptions) error {
	req, err := a.knowing(o, "")
	if err != nil {
		return err
	}
	isWord := func(word string) bool { return !chords || isChord(word) }
	s, words, err := a.leadingTarget(args, isWord)
	if err != nil {
		return err
	}
	in := wire.Input{Keys: words}
	if chords {
		for _, word := range words {
			if _, err := keys.Parse(word); err != nil {
				return err
			}
		}
	}
	switch {
	case len(words) == 0:
		return fault.Hintf(fault.Errorf(fault.Usage, "no answer was given"), "for example 'den answer work yes'; '' is Enter alone")
	case !chords && len(words) > 1:
		return fault.Hintf(fault.Errorf(fault.Usage, "an answer is one word: %d were given", len(words)), "quote it, as in 'den answer work \"two words\"'")
	case !chords:
		in = wire.Input{Text: &words[0], Enter: true}
	}
	req.Question = question
	r, err := s.Answer(cmd.Context(), in, req)
	if err != nil {
		return err
	}
	return a.answerRun(s, r, o)
}

func isChord(word string) bool {
	_, err := keys.Parse(word)
	return err == nil
}

func (a *app) marksCmd() *cobra.Command {
	timeout := duration(10 * time.Second)
	cmd := a.onSession(&cobra.Command{
		Use:   "marks [SESSION]",
		Short: "Bring shell marks into a shell behind ssh, sudo or docker exec",
		Long: `Type code into the shell that is at its prompt now, so that it prints marks. It may be bash, zsh
or a POSIX shell inside the session's program. Cells are then as exact as in a local
shell, with exit codes, until that shell ends. The cell that started that shell is released.
'den run' does this by itself where it is certain of the shell, unless the session was
made with --marks off.`,
		Example: "  den run work 'ssh host'; den marks work; den run work 'make test' -j",
	}, 0, func(ctx context.Context, s *session.Session, _ []string) error {
		r, err := s.Marks(ctx, time.Duration(timeout))
		return a.result(err, map[string]string{"cell_id": r.CellID, "status": "marked"}, func(w io.Writer) { fmt.Fprintln(w, "marked") })
	})
	cmd.Flags().VarP(&timeout, "timeout", "t", "how long to wait for the shell")
	return cmd
}

func (a *app) releaseCmd() *cobra.Command {
	return a.onSession(&cobra.Command{
		Use:   "release [SESSION]",
		Short: "Give up the running cell and leave its program running",
		Long: `End the active cell without touching its program, so that the session takes code again, and
say what runs in the foreground. Use it for a cell that started a program which does
not end, such as a REPL, ssh or an editor. Later code goes to that program.`,
		Example: "  den run work 'python3 -q'; den release work; den run work 'print(1)'",
	}, 0, func(ctx context.Context, s *session.Session, _ []string) error {
		r, err := s.Release(ctx)
		return a.result(err, r, func(w io.Writer) {
			fmt.Fprintf(w, "released cell %s; in the foreground: %s\n", r.CellID, r.Why)
		})
	})
}

// printResult prints a cell's result: its rendered output, or the bytes.
func (a *app) printResult(s *session.Session, r cell.Result, raw bool) error {
	if !raw {
		return a.answer(r, func(w io.Writer) {
			if r.Output != "" {
				fmt.Fprintln(w, r.Output)
			}
		})
	}
	parts, err := s.RawOutput(r.CellID)
	if err != nil {
		return err
	}
	if !a.json {
		return cell.CopyRaw(a.stdout, parts)
	}
	var b bytes.Buffer
	if err := cell.CopyRaw(&b, parts); err != nil {
		return err
	}
	answer := struct {
		cell.Result
		Raw []byte `json:"raw"`
	}{r, append([]byte{}, b.Bytes()...)}
	return a.answer(answer, func(io.Writer) {})
}
