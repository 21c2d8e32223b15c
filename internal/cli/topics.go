package cli

import (
	"github.com/spf13/cobra"
)

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

Set inside every session:
  DEN_SESSION      the session's name
  DEN_SESSION_ID   its id
  DEN_SESSION_MARK by this den finds processes that a killed host left
  DEN_HOME         its Home
  TERM, COLORTERM, TERM_PROGRAM=den, TERM_PROGRAM_VERSION`
