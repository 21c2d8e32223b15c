// Package cli is the command line: it parses, calls and prints; a file a verb.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"den/internal/fault"
	"den/internal/home"
	"den/internal/host"

	"github.com/spf13/cobra"
)

// Main runs one command and returns the process status.
func Main(args, environ []string, stdin *os.File, stdout, stderr io.Writer) int {
	a := newApp(args[0], environ, stdin, stdout, stderr)
	if a.getenv(home.HostMark) != "" && len(args) > 3 && args[1] == "host" {
		return a.hostMain(args[2:])
	}
	if a.getenv(home.HostMark) != "" && len(args) > 3 && args[1] == "shim" {
		return a.shimMain()
	}
	if status, ok := a.asK(args); ok {
		return status
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	root := newRoot(a)
	root.SetArgs(args[1:])
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return 130
	}
	// A command line that was not understood may have left the flag unread.
	a.json = a.json || fault.KindOf(err) == fault.Usage && slices.ContainsFunc(args, isJSONFlag)
	return a.report(err)
}

func isJSONFlag(arg string) bool { return arg == "-j" || arg == "--json" }

// hostMain is the process behind a session: NAME ID [--resume FD | --from SOCKET].
func (a *app) hostMain(args []string) int {
	var err error
	if len(args) == 4 && args[2] == "--resume" {
		var fd int
		if fd, err = strconv.Atoi(args[3]); err == nil {
			err = host.Resume(context.Background(), Version, fd)
		}
	} else if len(args) == 4 && args[2] == home.FromFlag {
		err = host.MainFrom(context.Background(), Version, args[3])
	} else {
		err = host.Main(context.Background(), Version, a.stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(a.stderr, "den host:", err)
	}
	return fault.ExitCode(err)
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "den",
		Short: "Durable terminals for AI agents",
		Long: `den keeps programs in terminals that outlive their callers, records all that
they print, and answers questions about their screens.

A first look:
  den new work                          start a shell in a session named work
  den run work 'make test'              run code, and print its output when it is done
  den type work top --enter             or type into it, press keys,
  den wait work --regex 'ok|FAIL'       wait until the screen shows it
  den snapshot work                     read the screen
  den attach work                       join it with your own terminal
  den kill work                         end it and all its processes`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          unknownVerb,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fault.Hintf(fault.Errorf(fault.Usage, "%w", err), "'%s --help' lists the flags", cmd.CommandPath())
	})
	flags := root.PersistentFlags()
	flags.BoolVarP(&a.json, "json", "j", false, "print one JSON object (streams: one a line)")
	flags.StringVar(&a.homeFlag, "home", "", "the Home `DIR` that holds the sessions (default $DEN_HOME, else ~/.den)")
	root.AddGroup(&cobra.Group{ID: groupSession, Title: "Sessions:"}, &cobra.Group{ID: groupCell, Title: "Cells:"}, &cobra.Group{ID: groupAgent, Title: "Workspaces and agents:"}, &cobra.Group{ID: groupMachine, Title: "This machine:"})
	root.SetHelpCommandGroupID(groupMachine)
	root.SetCompletionCommandGroupID(groupMachine)
	root.AddCommand(
		a.newCmd(), a.lsCmd(), a.statusCmd(),
		a.typeCmd(), a.pasteCmd(), a.keysCmd(), a.resizeCmd(), a.signalCmd(), a.markCmd(),
		a.waitCmd(), a.snapshotCmd(), a.attachCmd(), a.watchCmd(), a.dashboardCmd(), a.historyCmd(), a.killCmd(),
		a.screenshotCmd(), a.exportCmd(),
		a.runCmd(), a.fireCmd(), a.pollCmd(), a.intCmd(), a.notifyCmd(), a.eventsCmd(), a.batchCmd(),
		a.initCmd(), a.upCmd(), a.downCmd(), a.psCmd(), a.reloadCmd(), a.agentCmd(),
		a.gcCmd(), a.homesCmd(), a.doctorCmd(), a.versionCmd(), a.skillsCmd(), a.hostCmd(), a.manCmd(),
	)
	root.AddCommand(helpTopics()...)
	return root
}

// The groups under which help lists the verbs.
const (
	groupSession = "session"
	groupCell    = "cell"
	groupAgent   = "agent"
	groupMachine = "machine"
)

func unknownVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fault.Errorf(fault.Usage, "unknown command '%s'", args[0])
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return fault.Hintf(err, "did you mean '%s'?", strings.Join(near, "' or '"))
	}
	return fault.Hintf(err, "'den --help' lists the commands")
}
