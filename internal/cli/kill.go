package cli

import (
	"fmt"
	"io"
	"time"

	"den/internal/fault"
	"den/internal/home"
	"den/internal/wire"

	"github.com/spf13/cobra"
)

func (a *app) killCmd() *cobra.Command {
	grace := duration(3 * time.Second)
	cmd := &cobra.Command{
		Use:     "kill [SESSION]",
		Aliases: []string{"destroy"},
		Short:   "End a session and all its processes",
		Long: `End a session: hang up on its processes, then ask them to terminate, then kill
those that are left, children that went to the background included. The record and
the event log stay until 'den gc' removes them.`,
		Example: "  den kill work\n  den kill work --grace 10s",
		GroupID: groupSession,
		Args:    args(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, _, err := a.optionalTarget(args, 0)
			if err != nil {
				return err
			}
			killed, err := a.kill(cmd, d, time.Duration(grace))
			if err != nil {
				return err
			}
			return a.answer(killed, func(w io.Writer) { fmt.Fprintln(w, killed.Status) })
		},
		ValidArgsFunction: a.completeSession,
	}
	cmd.Flags().Var(&grace, "grace", "how long each step may take before the next, harder one")
	return cmd
}

// kill asks the host; the record of a session that is over is closed here.
func (a *app) kill(cmd *cobra.Command, d home.Dir, grace time.Duration) (wire.Killed, error) {
	var killed wire.Killed
	var err error
	for begun := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		err = a.call(cmd.Context(), d, wire.MethodKill, wire.Kill{Grace: grace}, &killed)
		if fault.KindOf(err) != fault.Busy || time.Since(begun) > 5*time.Second {
			break // not because the host just replaces its binary
		}
	}
	if fault.KindOf(err) != fault.NotRunning {
		return killed, err
	}
	m, err := d.Reconcile()
	if err != nil {
		return killed, err
	}
	if m.Status == home.Lost {
		d.Sweep()
	}
	if m, err = d.Close(m); err != nil {
		return killed, err
	}
	return wire.Killed{Status: string(m.Status)}, nil
}
