package cli

import (
	"strings"

	"den/internal/base/fault"

	"github.com/spf13/cobra"
)

// helpCmd is 'den help'. cobra's own says nothing of an unknown topic in its
// exit code.
func helpCmd(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND|TOPIC]",
		Short:   "Help about any command",
		Long:    "Help about any command, and about what belongs to none: exit-codes, environment.",
		Example: "  den help run\n  den help exit-codes",
		GroupID: groupMachine,
		RunE: func(_ *cobra.Command, words []string) error {
			cmd, rest, err := root.Find(words)
			if err != nil || len(rest) > 0 {
				return fault.Hintf(fault.Errorf(fault.Usage, "no help for '%s'", strings.Join(words, " ")), "'den --help' lists the commands")
			}
			cmd.InitDefaultHelpFlag() // it is listed too
			return cmd.Help()
		},
		ValidArgsFunction: func(_ *cobra.Command, words []string, begin string) ([]string, cobra.ShellCompDirective) {
			cmd, _, err := root.Find(words)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []string
			for _, sub := range cmd.Commands() {
				if strings.HasPrefix(sub.Name(), begin) && !sub.Hidden {
					names = append(names, sub.Name()+"\t"+sub.Short)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// addCompletion adds cobra's 'den completion', which must refuse an unknown
// shell.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			cmd.Args = unknownVerb
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}

// helpTopics returns the pages of 'den help' that belong to no verb.
func helpTopics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "exit-codes", Short: "What den's exit codes mean", Long: exitCodesHelp},
		{Use: "environment", Short: "The environment variables that den reads and sets", Long: environmentHelp},
	}
}

const exitCodesHelp = `den's exit codes. With --json the error object has the same kind.

   0               done
   1  internal     unclassified
   2  usage        unknown verb or flag, bad argument
   3  not_found    no such session
   4  not_running  the session does not accept input (exited, destroying, lost)
   5  busy         a lock is held, a name is taken, input is not read
   6  unreachable  the host does not answer
   7  export       an artifact could not be made
   8  storage      disk: full, unreadable, damaged
   9  protocol     the peer speaks an unsupported protocol version
  10  unsupported  not supported by this terminal or machine
  11  timeout      the condition was not met in time
  12  denied       not allowed
  13  waiting      the cell is not done: the program waits for input
  14  unsure       the cell's program is silent, and nothing says that it is done
 125               with 'run --exit-code', an error of den's own, of any kind
 130               interrupted (Ctrl-C)`

const environmentHelp = `Read:
  DEN_HOME         the Home, unless --home names one; default ~/.den
  DEN_SESSION      the default session of verbs
  DEN_RUN_DIR      a short directory for sockets; default $XDG_RUNTIME_DIR/den, else /tmp/den-UID
  XDG_STATE_HOME   where the registry of Homes is kept (den/homes.json)
  SHELL            what 'den new' starts when no command is given
  NO_COLOR, TERM   whether text on a terminal is coloured
  DEN_KERNEL       the instance of 'den kernel' verbs without a NAME; set in its terminals

Set inside every session:
  DEN_SESSION      the session's name
  DEN_SESSION_ID   its id
  DEN_SESSION_MARK how den finds processes that a killed host left
  DEN_HOME         its Home
  TERM, COLORTERM, TERM_PROGRAM=den, TERM_PROGRAM_VERSION`
