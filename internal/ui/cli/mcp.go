package cli

import (
	"fmt"
	"strconv"
	"syscall"
	"time"

	"den/internal/base/fault"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

type mcpOptions struct {
	http            bool
	tokenFile       string
	cwd, shell      string
	useOthers, keep bool
	maxTerminals    int
	maxOutput       string
	logLimit        string
	idle            duration
}

func (a *app) mcpCmd() *cobra.Command {
	o := mcpOptions{idle: duration(2 * time.Hour)}
	cmd := &cobra.Command{
		Use:   "mcp | mcp --http [ADDR]",
		Short: "Serve terminals to MCP clients",
		Long: `Give clients of the Model Context Protocol terminals: tools that run code and know when it
is done or asks something, type, press keys, wait, and read the screen. The client starts
this command and talks with it over stdin and stdout. Each client has a shell of its own;
its terminals are sessions, which end with it unless they are kept.

With --http clients connect to ADDR, by default a free port of 127.0.0.1. The address is
printed; clients need a token, which is read from DEN_MCP_TOKEN or a file.`,
		Example: "  claude mcp add den -- den mcp\n  codex mcp add den -- den mcp\n  den mcp --http 127.0.0.1:7350",
		GroupID: groupSession,
		Args:    args(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			argv, err := a.mcpArgv(o, args)
			if err != nil {
				return err
			}
			if !o.http && term.IsTerminal(int(a.stdin.Fd())) {
				fmt.Fprintln(a.stderr, "den: a client talks here, not a person: 'claude mcp add den -- den mcp' adds den to one; Ctrl-C ends this")
			}
			a.wantInput()
			return fmt.Errorf("run %s: %w", argv[0], syscall.Exec(argv[0], argv, a.environ))
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.http, "http", false, "serve HTTP on this machine instead of stdin and stdout")
	f.StringVar(&o.tokenFile, "token-file", "", "with --http: the `FILE` of the token; it is made if needed (default mcp-token in the Home)")
	f.StringVar(&o.cwd, "cwd", "", "where terminals start, a `DIR` (default: here)")
	f.StringVar(&o.shell, "shell", "", "the `PROGRAM` of terminals for which none is given (default $SHELL)")
	f.BoolVar(&o.useOthers, "use-others", false, "let clients use terminals that are not theirs; they may always look at them")
	f.BoolVar(&o.keep, "keep", false, "leave terminals running when their client goes")
	f.IntVar(&o.maxTerminals, "max-terminals", 8, "terminals of a client at a time; 0: no limit")
	f.StringVar(&o.maxOutput, "max-output", "16KiB", "output in one answer; the rest is in a file; 0: no limit")
	f.StringVar(&o.logLimit, "log-limit", "64MiB", "size limit of a terminal's event log; 0: no limit")
	f.Var(&o.idle, "idle", "close terminals, and clients over HTTP, that were not used for this long; 0: never")
	return cmd
}

// mcpArgv is the command line of the binary that serves: it is separate, so
// that this one links no HTTP.
func (a *app) mcpArgv(o mcpOptions, addr []string) ([]string, error) {
	if len(addr) > 0 && !o.http {
		return nil, fault.Errorf(fault.Usage, "an address needs --http")
	}
	if o.maxTerminals < 0 {
		return nil, fault.Errorf(fault.Usage, "--max-terminals is %d; 0 means no limit", o.maxTerminals)
	}
	output, err := parseBytes(o.maxOutput)
	if err != nil {
		return nil, fault.Errorf(fault.Usage, "--max-output: %w", err)
	}
	log, err := parseBytes(o.logLimit)
	if err != nil {
		return nil, fault.Errorf(fault.Usage, "--log-limit: %w", err)
	}
	argv, err := a.dendArgv("mcp", "--cwd", o.cwd, "--shell", o.shell, "--token-file", o.tokenFile,
		"--max-terminals", strconv.Itoa(o.maxTerminals), "--max-output", strconv.FormatInt(output, 10),
		"--log-limit", strconv.FormatInt(log, 10), "--idle", time.Duration(o.idle).String())
	if err != nil {
		return nil, err
	}
	for _, f := range []struct {
		flag string
		set  bool
	}{{"--http", o.http}, {"--use-others", o.useOthers}, {"--keep", o.keep}, {"-j", a.json}} {
		if f.set {
			argv = append(argv, f.flag)
		}
	}
	return append(argv, addr...), nil
}
