package cli

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"den/internal/base/fault"
	"den/internal/keeper"
	"den/internal/place/podhost"
	"den/internal/session/home"
	"den/internal/ui/dashboard"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

func (a *app) dashboardCmd() *cobra.Command {
	var all, one, web, actions bool
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
		Args:    args(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			if web {
				return a.serveDashboard(actions, args)
			}
			if actions {
				return fault.Errorf(fault.Usage, "--allow-actions is for the page: it needs --web")
			}
			ref := a.getenv("DEN_SESSION")
			if len(args) > 0 {
				ref = args[0]
			}
			return a.runDashboard(ref, len(args) > 0, all, one)
		},
		ValidArgsFunction: a.completeSession,
	}
	cmd.Flags().BoolVar(&all, "all", false, "also show sessions that are over")
	cmd.Flags().BoolVar(&one, "one-home", false, "show one Home at a time, first that of --home; H picks another")
	cmd.Flags().BoolVar(&web, "web", false, "serve a page for browsers instead")
	cmd.Flags().BoolVar(&actions, "allow-actions", false, "with --web: let the page answer, send messages, take over and stop")
	return a.fileFlag(cmd)
}

// serveDashboard executes the binary that serves the page: it is separate, so
// that this one links no HTTP.
func (a *app) serveDashboard(actions bool, addr []string) error {
	root, err := a.home()
	if err != nil {
		return err
	}
	binary, err := a.dend()
	if err != nil {
		return err
	}
	config, err := a.workspaceToShow()
	if err != nil {
		return err
	}
	argv := appendIf(config != "", []string{binary, "web", "--home", root.Path}, "-f", config)
	argv = appendIf(actions, appendIf(a.json, argv, "-j"), "--allow-actions")
	return a.exec(append(argv, addr...))
}

// exec replaces this process by a program. It returns only an error.
func (a *app) exec(argv []string) error {
	return fmt.Errorf("run %s: %w", argv[0], syscall.Exec(argv[0], argv, a.environ))
}

// appendIf adds words to a command line if they apply.
func appendIf(apply bool, argv []string, words ...string) []string {
	if apply {
		argv = append(argv, words...)
	}
	return argv
}

// runDashboard shows the terminal's dashboard.
func (a *app) runDashboard(ref string, named, all, one bool) error {
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
		if one {
			list.Homes = slices.DeleteFunc(list.Homes, func(h dashboard.Home) bool { return !h.Own })
		}
		if !all {
			list = list.Active()
		}
		return a.answer(list, func(io.Writer) {})
	}
	if terminalOf(a.stdout) == nil || !term.IsTerminal(int(a.stdin.Fd())) {
		return fault.Hintf(fault.Errorf(fault.Usage, "show the dashboard: this is not a terminal"), "'den dashboard -j' prints the sessions; 'den snapshot' prints a screen")
	}
	binary, err := a.dend()
	if err != nil {
		return err
	}
	// The dashboard is in the other binary, so that this one starts faster.
	argv := appendIf(all, []string{binary, "tui", "-home", root.Path, "-select", ref}, "-all")
	argv = appendIf(one, argv, "-one-home")
	config, err := a.workspaceToShow()
	if err != nil {
		return err
	}
	a.environ = appendIf(config != "", slices.Clip(a.environ), "DEN_WORKSPACE="+config)
	return a.exec(argv)
}

// workspaceToShow returns the workspace whose agents are shown, or "". It is
// an error only if a named one does not exist.
func (a *app) workspaceToShow() (string, error) {
	p, err := a.stateDir()
	if err != nil {
		if a.file != "" {
			return "", err
		}
		return "", nil
	}
	if _, err := os.Stat(p.Config); a.file != "" && err != nil {
		return "", fault.Errorf(fault.NotFound, "show the agents of a workspace: %w", err)
	}
	return p.Config, nil
}

type mcpOptions struct {
	http            bool
	tokenFile       string
	cwd, shell      string
	useOthers, keep bool
	maxTerminals    int
	maxOutput       string
	logLimit        string
	idle, goneAfter duration
}

func (a *app) mcpCmd() *cobra.Command {
	o := mcpOptions{idle: duration(2 * time.Hour), goneAfter: duration(5 * time.Minute)}
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
			return a.exec(argv)
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
	f.Var(&o.goneAfter, "gone-after", "with --http: a client without an event stream that asks nothing for this long is gone; 0: only --idle counts")
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
		"--log-limit", strconv.FormatInt(log, 10), "--idle", time.Duration(o.idle).String(),
		"--gone-after", time.Duration(o.goneAfter).String())
	if err != nil {
		return nil, err
	}
	argv = appendIf(o.useOthers, appendIf(o.http, argv, "--http"), "--use-others")
	argv = appendIf(a.json, appendIf(o.keep, argv, "--keep"), "-j")
	return append(argv, addr...), nil
}

// elsewhere is a command line for the keeper of a cluster: it names the cluster
// before the verb.
type elsewhere struct {
	where []string // flags and their values
	verb  []string
}

// clusterFlags say which keeper. They stand before the verb, because the verb and
// its own flags are for den there.
var clusterFlags = []struct{ name, usage string }{
	{"context", "run the verb where the keeper of the Kubernetes `CONTEXT` runs; before the verb"},
	{"namespace", "with --context or for the current one: the `NAMESPACE` of the keeper; before the verb"},
	{"keeper", "its `NAME`, if it is not den; before the verb"},
	{"kubeconfig", "the `FILE` that has the context; before the verb (default $KUBECONFIG, else ~/.kube/config)"},
}

func addClusterFlags(f *pflag.FlagSet) {
	for _, c := range clusterFlags {
		f.String(c.name, "", c.usage) // for the help; asElsewhere reads them
	}
}

// asElsewhere reports whether a command line is for the keeper of a cluster.
func asElsewhere(args []string) (e elsewhere, ok bool, err error) {
	for len(args) > 0 {
		word := args[0]
		name, value, inOne := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		switch {
		case isJSONFlag(word):
			e.verb = append(e.verb, word)
		case !strings.HasPrefix(word, "--") || !isClusterFlag(name):
			e.verb = append(e.verb, args...)
			return e, ok, e.check(ok)
		case inOne:
			e.where, ok = append(e.where, "--"+name, value), true
		case len(args) == 1:
			return e, true, fault.Errorf(fault.Usage, "flag needs an argument: %s", word)
		default:
			e.where, ok = append(e.where, word, args[1]), true
			args = args[1:]
		}
		args = args[1:]
	}
	return e, ok, e.check(ok)
}

func isClusterFlag(name string) bool {
	return slices.ContainsFunc(clusterFlags, func(c struct{ name, usage string }) bool { return c.name == name })
}

func (e elsewhere) check(ok bool) error {
	if ok && !slices.ContainsFunc(e.verb, func(w string) bool { return !isJSONFlag(w) }) {
		return fault.Hintf(fault.Errorf(fault.Usage, "no verb was given"), "for example 'den --context CONTEXT ps'")
	}
	return nil
}

// goElsewhere executes the binary that reaches clusters: it is separate, so that
// this one links no HTTP. It returns only an error.
func (a *app) goElsewhere(e elsewhere) error {
	binary, err := a.dend()
	if err != nil {
		return err
	}
	argv := appendIf(slices.ContainsFunc(e.verb, isJSONFlag), append([]string{binary, "remote"}, e.where...), "-j")
	return a.exec(append(append(argv, "--"), e.verb...))
}

// takeInputMark takes note of a caller who sends input only when it is wanted:
// see wantInput. Nothing that is started has the mark.
func (a *app) takeInputMark() {
	fd, err := strconv.Atoi(a.getenv(podhost.InputMark))
	if err != nil {
		return
	}
	syscall.CloseOnExec(fd)
	a.inputWanted = os.NewFile(uintptr(fd), podhost.InputMark)
	a.environ = slices.DeleteFunc(slices.Clone(a.environ), func(kv string) bool { return strings.HasPrefix(kv, podhost.InputMark+"=") })
	os.Unsetenv(podhost.InputMark) // Best effort: it fails for names that are none.
}

// wantInput tells a caller elsewhere that stdin is read from now on.
func (a *app) wantInput() {
	if a.inputWanted != nil {
		_, _ = a.inputWanted.Write([]byte{1}) // Best effort: a caller that left sends nothing.
		_ = a.inputWanted.Close()
		a.inputWanted = nil
	}
}

// dend returns the path of the keeper's binary: next to this one, or on the
// PATH.
func (a *app) dend() (string, error) {
	if path := a.getenv("DEN_DEND"); path != "" {
		return path, nil
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), "dend")
		if _, err := os.Stat(beside); err == nil {
			return beside, nil
		}
	}
	path, err := exec.LookPath("dend")
	if err != nil {
		return "", fault.Hintf(fault.Errorf(fault.NotFound, "dend, the keeper, is neither beside den nor on the PATH"), "'make install' installs both; DEN_DEND names another")
	}
	return filepath.Abs(path)
}

// dendArgv is the command line of one of dend's parts for the Home, with flags.
func (a *app) dendArgv(part string, flags ...string) ([]string, error) {
	return a.dendWords([]string{part}, flags...)
}

func (a *app) dendWords(before []string, flags ...string) ([]string, error) {
	root, err := a.home()
	if err != nil {
		return nil, err
	}
	binary, err := a.dend()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this binary: %w", err)
	}
	return slices.Concat([]string{binary}, before, []string{"--home", root.Path, "--den", self}, flags), nil
}

// become replaces this process by dend, which prints errors as this one does.
func (a *app) become(argv []string) error {
	if a.json {
		argv = slices.Insert(slices.Clone(argv), 1, "-j")
	}
	return a.exec(argv)
}

// keeperArgv is the command line of a workspace's keeper.
func (a *app) keeperArgv(p keeper.StateDir) ([]string, error) {
	return a.dendWords([]string{"-f", p.Config})
}
