package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"den/internal/base/build"
	"den/internal/base/fault"
	"den/internal/place/provider/subprocess/shim"
	"den/internal/session"
	"den/internal/session/home"
	"den/internal/session/host"

	"github.com/spf13/cobra"
)

// hostCmd groups the commands that act on hosts. The host process itself is
// started under the same word, see Main.
func (a *app) hostCmd() *cobra.Command {
	cmd := parentCmd(&cobra.Command{
		Use:     "host",
		Short:   "Manage the host processes of sessions",
		Example: "  den host upgrade --all",
	})
	var all bool
	upgrade := &cobra.Command{
		Use:   "upgrade [SESSION|--all]",
		Short: "Replace the binary of running hosts with this one",
		Long: `Replace the binary of a session's host, or with --all of all hosts of a Home, with this
one. The program, its terminal, the screen and pending waits are not affected.`,
		Example: "  den host upgrade work\n  den host upgrade --all",
		Args:    args(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all && len(args) > 0 {
				return fault.Errorf(fault.Usage, "give a session or --all, not both")
			}
			return a.runUpgrade(cmd.Context(), args, all)
		},
		ValidArgsFunction: a.completeSession,
	}
	upgrade.Flags().BoolVar(&all, "all", false, "all active sessions of the Home")
	cmd.AddCommand(upgrade)
	return cmd
}

func (a *app) runUpgrade(ctx context.Context, args []string, all bool) error {
	sessions, err := a.upgradeScope(args, all)
	if err != nil {
		return err
	}
	binary, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find den's own binary: %w", err)
	}
	done := []session.Upgraded{}
	var errs []error
	for _, s := range sessions {
		u, err := s.Upgrade(ctx, binary)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		done = append(done, u)
	}
	return a.answerPartly(errors.Join(errs...), map[string]any{"upgraded": done}, func(w io.Writer) {
		for _, u := range done {
			fmt.Fprintf(w, "%s\t%s -> %s\n", u.Session, u.From, u.To)
		}
	})
}

func (a *app) upgradeScope(args []string, all bool) ([]*session.Session, error) {
	if !all {
		s, _, err := a.optionalTarget(args, 0)
		return []*session.Session{s}, err
	}
	dirs, err := a.dirs()
	if err != nil {
		return nil, err
	}
	var active []*session.Session
	for _, d := range dirs {
		if m, err := d.Inspect(); err == nil && m.Status.Commandable() {
			active = append(active, session.In(d, a.options()))
		}
	}
	return active, nil
}

// hostMain runs a session's host process: NAME ID [--resume FD | --guard |
// --from SOCKET].
func (a *app) hostMain(args []string) int {
	var err error
	if len(args) == 4 && args[2] == "--resume" {
		var fd int
		if fd, err = strconv.Atoi(args[3]); err == nil {
			err = host.Resume(context.Background(), build.Version, fd)
		}
	} else if len(args) == 3 && args[2] == host.GuardFlag {
		err = host.Guard(build.Version, a.stdin, os.Stdout)
	} else if len(args) == 4 && args[2] == home.FromFlag {
		err = host.MainFrom(context.Background(), build.Version, args[3])
	} else {
		err = host.Main(context.Background(), build.Version, a.stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(a.stderr, "den host:", err)
	}
	return fault.ExitCode(err)
}

// shimMain runs the process behind an agent's session without a terminal. Only
// den starts it: NAME and ID are for people who list processes.
func (a *app) shimMain() int {
	err := shim.Main(context.Background(), build.Version, a.stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(a.stderr, "den shim:", err)
	}
	return fault.ExitCode(err)
}
