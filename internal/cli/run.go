package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"den/internal/cell"
	"den/internal/fault"
	"den/internal/home"
	"den/internal/wire"

	"github.com/spf13/cobra"
)

type runOptions struct {
	timeout     duration
	file        string
	keepWaiting bool
	maxLines    int
	exitCode    bool
	raw         bool
}

func (a *app) runCmd() *cobra.Command {
	o := runOptions{timeout: duration(30 * time.Second)}
	cmd := &cobra.Command{
		Use:     "run [SESSION] CODE",
		Aliases: []string{"await"},
		Short:   "Run code in a session and wait until it is done",
		Long: `Give CODE to the program of a session, wait until the program is done with it, and
print what it printed, as it stands on the screen: without echo and prompt, a progress
bar as its last state, wrapped lines whole.

How the end was known stands in "by": shell (marks of the shell itself, with the exit
code), ready (the kernel says that the program waits for input), prompt, hook,
prompt-learned or quiet. When the program asks something before it is done, the answer
comes at once with "waiting_for" and exit 13: answer with 'den type' or 'den keys', then
'den poll'. A timeout (exit 11) leaves the cell running.`,
		Example: "  den run work 'make test' -t 5m\n  den run py 'print(6*7)' -j\n  den run work --file script.sh",
		GroupID: groupCell,
		Args:    args(0, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, code, err := a.cellCode(args, o.file)
			if err != nil {
				return err
			}
			return a.runRun(cmd, d, code, o)
		},
		ValidArgsFunction: a.completeSession,
	}
	f := cmd.Flags()
	f.VarP(&o.timeout, "timeout", "t", "how long to wait; 0: for ever")
	f.StringVar(&o.file, "file", "", "take the code from `F`")
	f.BoolVar(&o.keepWaiting, "keep-waiting", false, "do not answer when the program asks something")
	f.IntVar(&o.maxLines, "max-lines", 0, "print at most `N` lines: the first and the last")
	f.BoolVar(&o.exitCode, "exit-code", false, "exit with the command's own status")
	f.BoolVar(&o.raw, "raw", false, "print the bytes as the program wrote them; with -j in base64, as \"raw\"")
	return cmd
}

// cellCode splits the words of run and fire: [SESSION] CODE, or [SESSION] with
// the code in a file or on stdin.
func (a *app) cellCode(args []string, file string) (home.Dir, string, error) {
	if file != "" {
		raw, err := os.ReadFile(file)
		if err != nil {
			return home.Dir{}, "", fault.Errorf(fault.Usage, "read code: %w", err)
		}
		d, _, err := a.optionalTarget(args, 0)
		if err != nil {
			return d, "", err
		}
		code, err := typable(string(raw))
		return d, code, err
	}
	if len(args) == 0 {
		return home.Dir{}, "", fault.Hintf(fault.Errorf(fault.Usage, "no code was given"), "for example 'den run work \"make test\"', or '-' for stdin")
	}
	d, rest, err := a.optionalTarget(args, 1)
	if err != nil {
		return d, "", err
	}
	code, err := a.textOrStdin(rest)
	if err != nil {
		return d, "", err
	}
	code, err = typable(code)
	return d, code, err
}

func (a *app) runRun(cmd *cobra.Command, d home.Dir, code string, o runOptions) error {
	if o.maxLines < 0 {
		return fault.Errorf(fault.Usage, "--max-lines is %d; it counts lines, and 0 means all", o.maxLines)
	}
	r, err := a.runCell(cmd.Context(), d, wire.Run{Code: code, Timeout: time.Duration(o.timeout), KeepWaiting: o.keepWaiting})
	if err != nil {
		return err
	}
	if err := cutOutput(d, &r, o.maxLines); err != nil {
		return err
	}
	if err := a.printResult(d, r, o.raw); err != nil {
		return err
	}
	if err := cellError(r); err != nil {
		if !a.json {
			a.explainCell(r, err)
		}
		return reported{err}
	}
	if o.exitCode && r.ExitCode != nil && *r.ExitCode != 0 {
		return exitStatus(*r.ExitCode)
	}
	return nil
}

// cutOutput keeps the two ends of a long output.
func cutOutput(d home.Dir, r *cell.Result, lines int) error {
	if r.Truncated && r.OutputFile != "" && lines > 0 { // the answer is not whole
		text, cut, err := cell.CutFile(r.OutputFile, lines)
		if err != nil {
			return fault.Errorf(fault.Storage, "read the output of cell '%s': %w", r.CellID, err)
		}
		if cut {
			r.Output = text
		}
		return nil
	}
	if text, cut := cell.Cut(r.Output, lines); cut {
		if r.OutputFile == "" {
			r.OutputFile = keepOutput(d, *r)
		}
		r.Output, r.Truncated = text, true
	}
	return nil
}

// runCell runs a cell, over as many binaries of its host as it takes.
func (a *app) runCell(ctx context.Context, d home.Dir, req wire.Run) (cell.Result, error) {
	begun, limit := time.Now(), req.Timeout
	for {
		var r cell.Result
		if err := a.call(ctx, d, wire.MethodRun, req, &r); err != nil {
			return r, err
		}
		if r.WaitingFor != cell.ForHost {
			return r, nil
		}
		req.Cell = r.CellID
		if limit > 0 {
			req.Timeout = max(time.Millisecond, limit-time.Since(begun))
		}
	}
}

// keepOutput puts an output that is printed in part where it can be read whole.
func keepOutput(d home.Dir, r cell.Result) string {
	path := cell.Store{Dir: d.Cells()}.OutputPath(r.CellID)
	if err := os.WriteFile(path, []byte(r.Output+"\n"), 0o600); err != nil {
		return "" // what is left out is still in the log
	}
	return path
}

func (a *app) printCell(r cell.Result) error {
	return a.answer(r, func(w io.Writer) {
		if r.Output != "" {
			fmt.Fprintln(w, r.Output)
		}
	})
}

// cellError is the kind of end, or of no end yet, that a result means.
func cellError(r cell.Result) error {
	switch {
	case r.Status == cell.TimedOut:
		return fault.Errorf(fault.Timeout, "cell '%s' is not done yet", r.CellID)
	case r.Status == cell.Failed:
		return fault.Errorf(fault.Internal, "cell '%s': %s", r.CellID, r.Output)
	case r.WaitingFor != "":
		return fault.Errorf(fault.Waiting, "cell '%s' waits for %s", r.CellID, r.WaitingFor)
	}
	return nil
}

func (a *app) explainCell(r cell.Result, err error) {
	fmt.Fprintf(a.stderr, "den: %v\n", err)
	switch {
	case r.WaitingFor == cell.ForContinuation:
		fmt.Fprintln(a.stderr, "hint: the code is not complete; type the rest with 'den type', or 'den int'")
	case r.WaitingFor != "":
		fmt.Fprintln(a.stderr, "hint: answer with 'den type TEXT --enter' or 'den keys', then 'den poll'")
	case r.Status == cell.TimedOut:
		fmt.Fprintln(a.stderr, "hint: it runs on; 'den poll' tells how it goes, 'den int' interrupts it, 'den kill' ends the session")
	}
}

// exitStatus carries a command's own status to den's exit.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

func (a *app) fireCmd() *cobra.Command {
	var file string
	timeout := duration(300 * time.Second)
	cmd := &cobra.Command{
		Use:     "fire [SESSION] CODE",
		Short:   "Run code in a session without waiting",
		Example: "  den fire work 'make test' -j\n  den poll work",
		GroupID: groupCell,
		Args:    args(0, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, code, err := a.cellCode(args, file)
			if err != nil {
				return err
			}
			var r cell.Result
			if err := a.call(cmd.Context(), d, wire.MethodRun, wire.Run{Code: code, Timeout: time.Duration(timeout), Fire: true}, &r); err != nil {
				return err
			}
			return a.answer(map[string]any{"cell_id": r.CellID, "status": r.Status}, func(w io.Writer) { fmt.Fprintln(w, r.CellID) })
		},
		ValidArgsFunction: a.completeSession,
	}
	cmd.Flags().StringVar(&file, "file", "", "take the code from `F`")
	cmd.Flags().VarP(&timeout, "timeout", "t", "after this long 'den poll' says timeout; the cell runs on")
	return cmd
}

func (a *app) pollCmd() *cobra.Command {
	var raw bool
	cmd := &cobra.Command{
		Use:     "poll [SESSION] [CELL]",
		Short:   "Tell how a cell goes, or how it went",
		Example: "  den poll work -j",
		GroupID: groupCell,
		Args:    args(0, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			d, id, err := a.pollTarget(args)
			if err != nil {
				return err
			}
			r, err := a.poll(d, id)
			if err != nil {
				return err
			}
			if err := a.printResult(d, r, raw); err != nil {
				return err
			}
			if err := cellError(r); err != nil {
				if !a.json {
					a.explainCell(r, err)
				}
				return reported{err}
			}
			if !a.json && !r.Final() {
				fmt.Fprintf(a.stderr, "cell '%s' is running\n", r.CellID)
			}
			return nil
		},
		ValidArgsFunction: a.completeSession,
	}
	cmd.Flags().BoolVar(&raw, "raw", false, "print the bytes as the program wrote them; with -j in base64, as \"raw\"")
	return cmd
}

func (a *app) pollTarget(args []string) (home.Dir, string, error) {
	ref, id := "", ""
	switch {
	case len(args) == 2:
		ref, id = args[0], args[1]
	case len(args) == 1 && cell.CheckID(args[0]) == nil:
		id = args[0]
	case len(args) == 1:
		ref = args[0]
	}
	d, err := a.target(ref)
	return d, id, err
}

// poll reads a cell's record: the same few bytes whatever the log's size.
func (a *app) poll(d home.Dir, id string) (cell.Result, error) {
	rec, err := cell.Store{Dir: d.Cells()}.Load(id)
	if err != nil {
		return cell.Result{}, err
	}
	r := rec.Result
	if r.Final() {
		return r, nil
	}
	r.DurationMS = time.Since(rec.Started).Milliseconds()
	m, err := d.Reconcile()
	if err != nil {
		return r, err
	}
	if m.Status.Final() { // its host died with it
		r.Status, r.WaitingFor = cell.Failed, ""
		r.Output = "the session is " + m.Ending()
	}
	return r, nil
}

func (a *app) intCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "int [SESSION]",
		Short:   "Press Ctrl-C; a running cell ends as interrupted",
		Example: "  den int work",
		GroupID: groupCell,
		Args:    args(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, _, err := a.optionalTarget(args, 0)
			if err != nil {
				return err
			}
			var r cell.Result
			if err := a.call(cmd.Context(), d, wire.MethodInt, nil, &r); err != nil {
				return err
			}
			if r.CellID == "" {
				return a.answer(map[string]string{"status": "sent"}, nil)
			}
			return a.answer(r, func(w io.Writer) { fmt.Fprintln(w, r.Output) })
		},
		ValidArgsFunction: a.completeSession,
	}
}

// asExitStatus finds a command's own status in an error.
func asExitStatus(err error) (int, bool) {
	var e exitStatus
	if errors.As(err, &e) {
		return int(e), true
	}
	return 0, false
}
