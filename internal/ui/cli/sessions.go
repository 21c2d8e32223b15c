package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"den/internal/base/build"
	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/screen/keys"
	"den/internal/session"
	"den/internal/session/home"
	"den/internal/session/host"
	"den/internal/session/wire"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

type newOptions struct {
	cols, rows  int
	cwd         string
	env         []string
	labels      []string
	term        string
	prompt      string
	logLimit    string
	logSync     string
	recordInput string
	marks       string
}

func (a *app) newCmd() *cobra.Command {
	var o newOptions
	cmd := &cobra.Command{
		Use:     "new SESSION [CMD...]",
		Aliases: []string{"create"},
		Short:   "Start a program in a new session",
		Long: `Start CMD (default: your shell) in its own terminal. The session lives until the program
exits or 'den kill' ends it; it does not depend on its caller.

den's flags come before CMD. A flag of den's after CMD is refused, unless '--' stands before
CMD: then everything after it belongs to the program.`,
		Example: "  den new work\n  den new py --cols 100 python3 -q\n  den new build -- make -j4 test",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fault.Hintf(fault.Errorf(fault.Usage, "new needs a name for the session"), "for example 'den new work'")
			}
			// Flags may also stand between the name and the command.
			if err := cmd.Flags().Parse(args[1:]); err != nil {
				return cmd.FlagErrorFunc()(cmd, err)
			}
			if err := refuseMisplacedFlag(cmd, args[0]); err != nil {
				return err
			}
			return a.runNew(cmd, args[0], cmd.Flags().Args(), o)
		},
	}
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.IntVar(&o.cols, "cols", session.DefaultCols, "columns of the terminal")
	f.IntVar(&o.rows, "rows", session.DefaultRows, "rows of the terminal")
	f.StringVar(&o.cwd, "cwd", "", "working `DIR` of the program (default: here)")
	f.StringArrayVar(&o.env, "env", nil, "set `K=V` in the program's environment (repeatable)")
	f.StringArrayVar(&o.labels, "label", nil, "attach `K=V` to the session's record (repeatable)")
	f.StringVar(&o.term, "term", session.DefaultTerm, "TERM of the program")
	f.StringVar(&o.prompt, "prompt", "", "the program's prompt, or the path of a hook, that ends cells")
	f.StringVar(&o.marks, "marks", "auto", "bring marks into shells inside the program, as behind ssh: auto, or off: only when 'den marks' is called")
	f.StringVar(&o.logLimit, "log-limit", "256MiB", "size limit of the event log; the oldest part is dropped; 0: no limit")
	f.StringVar(&o.logSync, "log-sync", "rotate", "when the log is synced to disk: rotate or always")
	f.StringVar(&o.recordInput, "record-input", home.RecordAuto, "record what is typed: auto (not while echo is off), all or none")
	return cmd
}

// refuseMisplacedFlag refuses a flag of den's behind the first word of the
// program's command: the program would get it, and den's user would not know.
func refuseMisplacedFlag(cmd *cobra.Command, name string) error {
	command := cmd.Flags().Args()
	if len(command) == 0 || cmd.Flags().ArgsLenAtDash() >= 0 {
		return nil // '--' says that it is the program's
	}
	for _, word := range command[1:] {
		if word == "--" {
			return nil
		}
		if !isFlagOf(cmd, word) {
			continue
		}
		return fault.Hintf(fault.Errorf(fault.Usage, "'%s' behind the command would go to %s", word, command[0]),
			"put den's own flags before it: den new %s %s %s …; if it is %s's: den new %s -- %s", name, word, command[0], command[0], name, strings.Join(command, " "))
	}
	return nil
}

// isFlagOf reports whether a word is one of the command's flags. Every program
// has its own help.
func isFlagOf(cmd *cobra.Command, word string) bool {
	if long, ok := strings.CutPrefix(word, "--"); ok {
		long, _, _ = strings.Cut(long, "=")
		return cmd.Flag(long) != nil && long != "help"
	}
	return len(word) == 2 && word[0] == '-' && word != "-h" && cmd.Flags().ShorthandLookup(word[1:]) != nil
}

func (a *app) runNew(cmd *cobra.Command, name string, command []string, o newOptions) error {
	root, err := a.home()
	if err != nil {
		return err
	}
	spec, err := a.spec(root, name, command, o)
	if err != nil {
		return err
	}
	options := a.options()
	options.Registry = home.NewRegistry(a.getenv)
	_, m, err := session.Create(cmd.Context(), root, spec, options)
	if err != nil {
		return err
	}
	return a.answer(struct {
		Session string      `json:"session"`
		ID      string      `json:"id"`
		Status  home.Status `json:"status"`
		PID     int         `json:"pid"`
		Home    string      `json:"home"`
	}{m.Name, m.ID, m.Status, m.PID, root.Path}, func(w io.Writer) {
		fmt.Fprintf(w, "%s\t%s\tpid %d\n", m.Name, m.Status, m.PID)
	})
}

func (a *app) spec(root home.Home, name string, command []string, o newOptions) (home.Spec, error) {
	var spec home.Spec
	if err := host.CheckSize(o.cols, o.rows); err != nil {
		return spec, err
	}
	if !slices.Contains([]string{home.RecordAuto, home.RecordAll, home.RecordNone}, o.recordInput) {
		return spec, fault.Errorf(fault.Usage, "--record-input is auto, all or none, not '%s'", o.recordInput)
	}
	marks := o.marks
	switch marks {
	case "auto":
		marks = ""
	case home.MarksOff:
	default:
		return spec, fault.Errorf(fault.Usage, "--marks is auto or off, not '%s'", o.marks)
	}
	if o.logSync != "rotate" && o.logSync != "always" {
		return spec, fault.Errorf(fault.Usage, "--log-sync is rotate or always, not '%s'", o.logSync)
	}
	limit, err := parseBytes(o.logLimit)
	if err != nil {
		return spec, fault.Errorf(fault.Usage, "--log-limit: %w", err)
	}
	labels, err := parsePairs("--label", o.labels)
	if err != nil {
		return spec, err
	}
	if _, err := parsePairs("--env", o.env); err != nil {
		return spec, err
	}
	cwd, err := filepath.Abs(o.cwd)
	if err != nil {
		return spec, fmt.Errorf("--cwd: %w", err)
	}
	if fi, err := os.Stat(cwd); err != nil || !fi.IsDir() {
		return spec, fault.Errorf(fault.Usage, "--cwd: %s is not a directory", cwd)
	}
	if len(command) == 0 {
		command = []string{session.Shell(a.getenv)}
	}
	if o.prompt, err = hookPath(o.prompt); err != nil {
		return spec, err
	}
	env := append(session.WithoutTerminal(a.environ), session.TerminalEnv(root, o.term, cwd, build.Version)...)
	return home.Spec{
		Name: name, Command: command, Cwd: cwd, Term: o.term, Cols: o.cols, Rows: o.rows,
		Env: append(env, o.env...), Labels: labels, Prompt: o.prompt, Marks: marks,
		RecordInput: o.recordInput, LogLimit: limit, SyncAlways: o.logSync == "always",
	}, nil
}

// hookPath returns the absolute path of a hook. A prompt without a path
// separator is text and returned unchanged.
func hookPath(prompt string) (string, error) {
	if !strings.ContainsRune(prompt, filepath.Separator) {
		return prompt, nil
	}
	path, err := filepath.Abs(prompt)
	if err != nil {
		return "", fmt.Errorf("--prompt: %w", err)
	}
	fi, err := os.Stat(path)
	if err != nil {
		return "", fault.Errorf(fault.Usage, "--prompt: hook not found: %s", path)
	}
	if !fi.Mode().IsRegular() || unix.Access(path, unix.X_OK) != nil {
		return "", fault.Errorf(fault.Usage, "--prompt: hook not executable: %s", path)
	}
	return path, nil
}

func parsePairs(flag string, pairs []string) (map[string]string, error) {
	m := map[string]string{}
	for _, kv := range pairs {
		k, v, ok := strings.Cut(kv, "=")
		if !ok || k == "" || strings.ContainsRune(kv, 0) {
			return nil, fault.Errorf(fault.Usage, "%s: '%s' is not of the form K=V", flag, kv)
		}
		m[k] = v
	}
	return m, nil
}

func (a *app) killCmd() *cobra.Command {
	grace := duration(3 * time.Second)
	var force bool
	cmd := &cobra.Command{
		Use:     "kill [SESSION...]",
		Aliases: []string{"destroy"},
		Short:   "End sessions and all their processes",
		Long: `End a session, or several at the same time: send its processes SIGHUP, then SIGTERM, then
SIGKILL to those that are left, background processes included. The record and the event log
stay until 'den gc' removes them. With --force a host that does not answer is killed too.
If the host had already died and there is no cgroup, den cannot find a process that cleared
its environment. The answer then says that there may be survivors.`,
		Example: "  den kill work\n  den kill a b c -j\n  den kill work --grace 10s",
		RunE: func(cmd *cobra.Command, names []string) error {
			end := (*session.Session).Kill
			if force {
				end = (*session.Session).ForceKill
			}
			kill := func(s *session.Session) (wire.Killed, error) { return end(s, cmd.Context(), time.Duration(grace)) }
			if len(names) > 1 {
				return a.killEach(names, kill)
			}
			s, _, err := a.optionalTarget(names, 0)
			if err != nil {
				return err
			}
			killed, err := kill(s)
			return a.result(err, killed, func(w io.Writer) { printKilled(w, killed) })
		},
		ValidArgsFunction: a.completeSessions,
	}
	cmd.Flags().BoolVar(&force, "force", false, "kill the session's host if it is frozen")
	cmd.Flags().Var(&grace, "grace", "how long to wait after each signal before the next")
	return cmd
}

func printKilled(w io.Writer, killed wire.Killed) {
	fmt.Fprintln(w, killed.Status)
	if killed.MayHaveSurvivors {
		fmt.Fprintln(w, "it may have survivors: its host was gone, and without a cgroup a process that cleared its environment is not found")
	}
}

// killEach ends several sessions at the same time, and says of each what became of
// it.
func (a *app) killEach(names []string, kill func(*session.Session) (wire.Killed, error)) error {
	type report struct {
		Session string `json:"session"`
		*wire.Killed
		Error any `json:"error,omitempty"`
	}
	root, err := a.home()
	if err != nil {
		return err
	}
	all, errs := make([]report, len(names)), make([]error, len(names))
	var ending sync.WaitGroup
	for i, name := range names {
		ending.Go(func() {
			all[i].Session = name
			s, err := session.Open(root, name, a.options())
			var killed wire.Killed
			if err == nil {
				killed, err = kill(s)
			}
			if err != nil {
				all[i].Error, errs[i] = fault.ObjectOf(err), fmt.Errorf("%s: %w", name, err)
				return
			}
			all[i].Killed = &killed
		})
	}
	ending.Wait()
	failed := errors.Join(errs...)
	return a.answerPartly(failed, map[string]any{"sessions": all}, func(w io.Writer) {
		for _, r := range all {
			if r.Killed != nil {
				fmt.Fprintf(w, "%s: ", r.Session)
				printKilled(w, *r.Killed)
			}
		}
	})
}

func (a *app) typeCmd() *cobra.Command {
	var enter bool
	cmd := a.onSession(&cobra.Command{
		Use:     "type [SESSION] TEXT",
		Short:   "Type literal text",
		Long:    "Type TEXT as a person would: nothing in it is interpreted, and a newline is the Enter key.",
		Example: "  den type work 'make test' --enter",
	}, 1, func(ctx context.Context, s *session.Session, words []string) error {
		return a.answerSeq(s.Input(ctx, wire.Input{Text: &words[0], Enter: enter}))
	})
	cmd.Flags().BoolVar(&enter, "enter", false, "press Enter afterwards")
	return cmd
}

func (a *app) pasteCmd() *cobra.Command {
	return a.onWord(&cobra.Command{
		Use:   "paste [SESSION] [TEXT|-]",
		Short: "Paste text, bracketed if the program has enabled it",
		Long: `Paste TEXT, or stdin ('-' or nothing), as a terminal pastes the clipboard: as a
bracketed paste if the program has enabled that.`,
		Example: "  den paste work \"$(cat script.py)\"\n  den paste work - < script.py",
		Args:    args(0, 2),
	}, func(ctx context.Context, args []string) (*session.Session, string, error) {
		s, rest, err := a.leadingTarget(args, func(string) bool { return len(args) == 1 })
		if err != nil {
			return nil, "", err
		}
		text, err := a.textOrStdin(ctx, rest)
		return s, text, err
	}, func(ctx context.Context, s *session.Session, text string) error {
		return a.answerSeq(s.Input(ctx, wire.Input{Paste: &text}))
	})
}

// textOrStdin returns the one word given, or all of stdin.
func (a *app) textOrStdin(ctx context.Context, args []string) (string, error) {
	if len(args) == 1 && args[0] != "-" {
		return args[0], nil
	}
	raw, err := a.readStdin(ctx, rpc.MaxRequest/2)
	if err != nil {
		return "", err
	}
	if len(raw) > rpc.MaxRequest/2 {
		return "", fault.Errorf(fault.Usage, "stdin is longer than %s; paste it in parts", formatBytes(rpc.MaxRequest/2))
	}
	return string(raw), nil
}

func (a *app) keysCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "keys [SESSION] CHORD...",
		Aliases: []string{"send-keys"},
		Short:   "Press keys, or move and click the mouse",
		Long: `Press each CHORD in order, encoded for the program's current terminal modes.

Keys: a, A, é, Enter, Tab, S-Tab, Esc, Backspace, Space, Up, Home, PgUp, F5, KP5, ...
With modifiers: C-c or Ctrl+C, M-x or Alt+X, S-Up, C-M-Left; repeated: Down*5.
Mouse, rows and columns from 0: Click:ROW,COL RightClick:ROW,COL Drag:ROW,COL-ROW,COL
WheelUp:ROW,COL WheelDown:ROW,COL (if the program has enabled mouse events).`,
		Example: "  den keys work C-c\n  den keys editor Esc : w q Enter\n  den keys menu Down*3 Enter\n  den keys mc Click:0,5",
		Args:    args(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, rest, err := a.leadingTarget(args, isChord)
			if err != nil {
				return err
			}
			if len(rest) == 0 {
				return fault.Errorf(fault.Usage, "keys needs at least one chord, such as Enter or C-c")
			}
			return a.answerSeq(s.Input(cmd.Context(), wire.Input{Keys: rest}))
		},
		ValidArgsFunction: func(cmd *cobra.Command, words []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(words) > 0 {
				return keys.Names(), cobra.ShellCompDirectiveNoFileComp
			}
			return a.completeSession(cmd, words, word)
		},
	}
}

// answerSeq prints the number of the event that a command caused.
func (a *app) answerSeq(seq uint64, err error) error {
	return a.result(err, wire.Seq{Seq: seq}, nil)
}

func (a *app) resizeCmd() *cobra.Command {
	return a.onSession(&cobra.Command{
		Use:     "resize [SESSION] COLS ROWS",
		Short:   "Change the terminal's size",
		Example: "  den resize work 200 50",
	}, 2, func(ctx context.Context, s *session.Session, words []string) error {
		cols, err1 := strconv.Atoi(words[0])
		rows, err2 := strconv.Atoi(words[1])
		if err1 != nil || err2 != nil {
			return fault.Errorf(fault.Usage, "size '%s %s': columns and rows are whole numbers", words[0], words[1])
		}
		return a.answerSeq(s.Resize(ctx, cols, rows))
	})
}

func (a *app) signalCmd() *cobra.Command {
	return a.onSession(&cobra.Command{
		Use:     "signal [SESSION] SIG",
		Short:   "Send a signal to the foreground process group",
		Long:    "Send SIG (INT, TERM, HUP, USR1, KILL, ...) to the foreground process group.",
		Example: "  den signal work INT",
	}, 1, func(ctx context.Context, s *session.Session, words []string) error {
		return a.answerSeq(s.Signal(ctx, words[0]))
	})
}

func (a *app) markCmd() *cobra.Command {
	return a.onSession(&cobra.Command{
		Use:     "mark [SESSION] LABEL",
		Short:   "Put a label into the event log",
		Example: "  den mark work 'before the upgrade'",
	}, 1, func(ctx context.Context, s *session.Session, words []string) error {
		return a.answerSeq(s.Mark(ctx, words[0]))
	})
}

// args checks the number of words; most < 0 means any.
func args(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && (most < 0 || len(args) <= most) {
			return nil
		}
		return fault.Hintf(fault.Errorf(fault.Usage, "%s: %d words given", cmd.CommandPath(), len(args)), "usage: %s", cmd.UseLine())
	}
}

// completeSession completes the first word with the names of active sessions.
func (a *app) completeSession(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return completeFirst(args, func() (names []string, err error) {
		dirs, err := a.dirs()
		for _, d := range dirs {
			if m, err := d.Inspect(); err == nil && m.Status.Active() {
				names = append(names, m.Name)
			}
		}
		return names, err
	})
}

// completeSessions is completeSession for any number of sessions.
func (a *app) completeSessions(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	return a.completeSession(cmd, nil, word)
}

// completeFirst completes the first word with names.
func completeFirst(args []string, names func() ([]string, error)) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	all, err := names()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}
