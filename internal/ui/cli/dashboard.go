package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"

	"den/internal/base/fault"
	"den/internal/session/home"
	"den/internal/ui/dashboard"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

func (a *app) dashboardCmd() *cobra.Command {
	var all, web, actions bool
	var file string
	cmd := &cobra.Command{
		Use:   "dashboard [SESSION] | dashboard --web [ADDR]",
		Short: "Watch all sessions, live and in the past",
		Long: `Show the sessions of all Homes known on this machine, and the screen of one, live or in
the past. The dashboard reads the event logs: it never disturbs or resizes a session, and
works for sessions that are over. The arrow keys select a session and move through time;
? lists the keys. With a workspace, w shows its agents; t shows the agents that sleep and
wake, and their ticks. With -j the sessions are printed instead.

With --web a page for browsers is served, on this machine only and behind a token; its
address is printed. ADDR is HOST:PORT, by default a free port of 127.0.0.1. The page shows what
waits for a person; with --allow-actions it can decide and answer what is asked, send messages
to agents, take terminals over and stop things, and ADDR has to be on this machine.`,
		Example: "  den dashboard\n  den dashboard work --all\n  den dashboard --web --allow-actions",
		GroupID: groupSession,
		Args:    args(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			if web {
				return a.serveDashboard(file, actions, args)
			}
			if actions {
				return fault.Errorf(fault.Usage, "--allow-actions is for the page: it needs --web")
			}
			ref := a.getenv("DEN_SESSION")
			if len(args) > 0 {
				ref = args[0]
			}
			return a.runDashboard(file, ref, len(args) > 0, all)
		},
		ValidArgsFunction: a.completeSession,
	}
	cmd.Flags().BoolVar(&all, "all", false, "also show sessions that are over")
	cmd.Flags().BoolVar(&web, "web", false, "serve a page for browsers instead")
	cmd.Flags().BoolVar(&actions, "allow-actions", false, "with --web: let the page answer, send messages, take over and stop")
	return fileFlag(cmd, &file)
}

// serveDashboard executes the binary that serves the page: it is separate, so
// that this one links no HTTP.
func (a *app) serveDashboard(file string, actions bool, addr []string) error {
	root, err := a.home()
	if err != nil {
		return err
	}
	binary, err := a.dend()
	if err != nil {
		return err
	}
	argv := []string{binary, "web", "--home", root.Path}
	config, err := a.workspaceToShow(file)
	if err != nil {
		return err
	}
	if config != "" {
		argv = append(argv, "-f", config)
	}
	if a.json {
		argv = append(argv, "-j")
	}
	if actions {
		argv = append(argv, "--allow-actions")
	}
	return fmt.Errorf("run %s: %w", binary, syscall.Exec(binary, append(argv, addr...), a.environ))
}

// runDashboard shows the terminal's dashboard.
func (a *app) runDashboard(file, ref string, named, all bool) error {
	root, err := a.home()
	if err != nil {
		return err
	}
	if named {
		d, err := root.Find(ref)
		if err != nil {
			return err
		}
		m, err := d.Inspect()
		if err != nil {
			return err
		}
		ref, all = d.ID, all || m.Status.Final()
	}
	model := dashboard.New(dashboard.Options{Home: root, Registry: home.NewRegistry(a.getenv)})
	defer model.Close()
	if a.json {
		list := model.List()
		if !all {
			list = list.Active()
		}
		return a.answer(list, func(io.Writer) {})
	}
	out, ok := a.stdout.(*os.File)
	if !ok || !term.IsTerminal(int(out.Fd())) || !term.IsTerminal(int(a.stdin.Fd())) {
		return fault.Hintf(fault.Errorf(fault.Usage, "show the dashboard: this is not a terminal"), "'den dashboard -j' prints the sessions; 'den snapshot' prints a screen")
	}
	binary, err := a.dend()
	if err != nil {
		return err
	}
	// The dashboard is in the other binary, so that this one starts faster.
	argv := []string{binary, "tui", "-home", root.Path, "-select", ref}
	if all {
		argv = append(argv, "-all")
	}
	config, err := a.workspaceToShow(file)
	if err != nil {
		return err
	}
	environ := a.environ
	if config != "" {
		environ = append(slices.Clip(environ), "DEN_WORKSPACE="+config)
	}
	return fmt.Errorf("run %s: %w", binary, syscall.Exec(binary, argv, environ))
}

// workspaceToShow returns the workspace whose agents are shown, or "". It is
// an error only if a named one does not exist.
func (a *app) workspaceToShow(file string) (string, error) {
	p, err := a.stateDir(file)
	if err != nil {
		if file != "" {
			return "", err
		}
		return "", nil
	}
	if _, err := os.Stat(p.Config); file != "" && err != nil {
		return "", fault.Errorf(fault.NotFound, "show the agents of a workspace: %w", err)
	}
	return p.Config, nil
}
