package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"den/internal/fault"
	"den/internal/home"
	"den/internal/wire"

	"github.com/spf13/cobra"
)

// hostCmd carries what is done to hosts themselves. The host process is
// started under the same word, see Main.
func (a *app) hostCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "host",
		Short:   "Look after the processes behind sessions",
		Example: "  den host upgrade --all",
		GroupID: groupMachine,
		Args:    unknownVerb,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var all bool
	upgrade := &cobra.Command{
		Use:   "upgrade [SESSION|--all]",
		Short: "Let hosts replace their binary with this one, in place",
		Long: `Let the host of a session, or with --all those of a Home, replace its binary with
this one. The program, its terminal, the screen and the waits go on as if nothing was.`,
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

// upgraded is one host's answer.
type upgraded struct {
	Session string `json:"session"`
	From    string `json:"from"`
	To      string `json:"to"`
}

func (a *app) runUpgrade(ctx context.Context, args []string, all bool) error {
	dirs, err := a.upgradeScope(args, all)
	if err != nil {
		return err
	}
	binary, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find den's own binary: %w", err)
	}
	done := []upgraded{}
	var errs []error
	for _, d := range dirs {
		u, err := a.upgrade(ctx, d, binary)
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

func (a *app) upgradeScope(args []string, all bool) ([]home.Dir, error) {
	if !all {
		d, _, err := a.optionalTarget(args, 0)
		return []home.Dir{d}, err
	}
	root, err := a.home()
	if err != nil {
		return nil, err
	}
	dirs, err := root.All()
	if err != nil {
		return nil, err
	}
	var active []home.Dir
	for _, d := range dirs {
		if m, err := d.Inspect(); err == nil && m.Status.Commandable() {
			active = append(active, d)
		}
	}
	return active, nil
}

// upgrade asks the host and waits until the new one answers. The host checks
// the binary before it begins; one that cannot be run leaves the old at work.
func (a *app) upgrade(ctx context.Context, d home.Dir, binary string) (upgraded, error) {
	var u wire.Upgraded
	if err := a.call(ctx, d, wire.MethodUpgrade, wire.Upgrade{Binary: binary}, &u); err != nil {
		return upgraded{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		// The socket queues the call until the new host takes it, or, if that
		// failed, the old one again.
		var s wire.Status
		err := a.call(ctx, d, wire.MethodStatus, nil, &s)
		if err == nil && s.Upgrades > u.Upgrades {
			return upgraded{Session: s.Session, From: u.From, To: s.HostVersion}, nil
		}
		if err != nil && fault.KindOf(err) != fault.Unreachable {
			return upgraded{}, err
		}
		select {
		case <-ctx.Done():
			return upgraded{}, fault.Hintf(fault.Errorf(fault.Unreachable, "the host of session '%s' did not come back with the new binary", d.ID), "its own words are in %s", d.HostLog())
		case <-time.After(5 * time.Millisecond):
		}
	}
}
