package cli

import (
	"context"
	"strconv"

	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/session"
	"den/internal/session/wire"

	"github.com/spf13/cobra"
)

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
		ValidArgsFunction: a.completeSession,
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
