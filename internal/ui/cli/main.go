// Package cli implements the command line: each verb parses its arguments, makes
// one call and prints the result.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"den/internal/agent/runner/remote/holder"
	"den/internal/agent/toolhook"
	"den/internal/base/build"
	"den/internal/base/fault"
	"den/internal/place/podhost"
	"den/internal/place/sandbox"
	"den/internal/session/home"
	"den/internal/ui/cli/agenttty"
	"den/internal/ui/cli/k"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// Main runs one command and returns the process status.
func Main(args, environ []string, stdin *os.File, stdout, stderr io.Writer) int {
	a := newApp(args[0], environ, stdin, stdout, stderr)
	hosted := a.getenv(home.HostMark) != "" && len(args) > 3
	switch verb := first(args[1:]); {
	case hosted && verb == "host":
		return a.hostMain(args[2:])
	case hosted && verb == "shim":
		return a.shimMain()
	case verb == holder.Verb:
		return holder.Main(args[2:], stdin, os.Stdout, os.Stderr)
	case verb == sandbox.Verb:
		return sandbox.Main(args[2:], environ, os.Stdout, os.Stderr)
	case verb == podhost.Verb:
		return podhost.Main(args[2:], build.Version, stdin, os.Stdout, os.Stderr)
	case verb == toolhook.Verb:
		return a.permissionHook(args[2:])
	}
	a.takeInputMark()
	if status, ok := a.asOther(args); ok {
		return status
	}
	if words, ok := translated(args); ok {
		args = words
	}
	if there, ok, err := asElsewhere(args[1:]); ok {
		if err == nil {
			err = a.goElsewhere(there)
		}
		a.json = slices.ContainsFunc(args, isJSONFlag)
		return a.report(err)
	}
	ctx, stop := untilSignalled(args[min(1, len(args)-1)])
	defer stop()
	root := newRoot(a, args[1:])
	root.SetArgs(args[1:])
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := execute(ctx, root)
	var by signalled
	if err != nil && errors.As(context.Cause(ctx), &by) {
		if !errors.Is(err, context.Canceled) {
			a.report(err) // what it could not clean up
		}
		if a.exitCode {
			fmt.Fprintln(a.stderr, "den: interrupted") // a command may exit with 130 too
		}
		return by.status()
	}
	if fault.KindOf(err) == fault.Usage { // the flags behind the error were not parsed
		a.json = a.json || slices.ContainsFunc(args, isJSONFlag)
		a.exitCode = a.exitCode || slices.Contains(args, "--"+exitCodeFlag)
	}
	return a.report(err)
}

func isJSONFlag(arg string) bool { return arg == "-j" || arg == "--json" }

// newRoot returns the command tree for a command line. If the first word is a
// verb, only that verb is built: building all takes as long as most verbs run.
func newRoot(a *app, args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "den",
		Short: "Durable terminals for AI agents",
		Long: `den runs programs in terminals that outlive their callers, records everything
they print, and answers questions about their screens.

A first look:
  den new work                          start a shell in a session named work
  den run work 'make test'              run code and print its output
  den type work top --enter             or type into it, press keys,
  den wait work --regex 'ok|FAIL'       wait until the screen matches
  den snapshot work                     read the screen
  den attach work                       attach your own terminal
  den kill work                         end it and all its processes`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          unknownVerb,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if name, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "unknown flag: --"), "="); isClusterFlag(name) {
			return fault.Hintf(fault.Errorf(fault.Usage, "%w", err), "it stands before the verb: 'den --%s ... %s'", name, cmd.Name())
		}
		hint := fmt.Sprintf("'%s --help' lists the flags", cmd.CommandPath())
		if word := unknownFlag(err); word != "" && slices.Contains(typingVerbs, cmd.Name()) {
			hint = fmt.Sprintf("what begins with '-' and is to be typed stands behind '--': '%s SESSION -- %s'; %s", cmd.CommandPath(), word, hint)
		}
		return fault.Hintf(fault.Errorf(fault.Usage, "%w", err), "%s", hint)
	})
	flags := root.PersistentFlags()
	flags.BoolVarP(&a.json, "json", "j", false, "print one JSON object (streams: one per line)")
	flags.StringVar(&a.homeFlag, "home", "", "the Home `DIR` that holds the sessions (default $DEN_HOME, else ~/.den)")
	addClusterFlags(root.Flags())
	root.AddGroup(&cobra.Group{ID: groupSession, Title: "Sessions:"}, &cobra.Group{ID: groupCell, Title: "Cells:"}, &cobra.Group{ID: groupAgent, Title: "Workspaces and agents:"}, &cobra.Group{ID: groupMachine, Title: "This machine:"})
	root.SetHelpCommand(helpCmd(root))
	root.SetCompletionCommandGroupID(groupMachine)
	if len(args) > 0 {
		if i := slices.IndexFunc(verbs(), func(v verb) bool { return v.word == args[0] }); i >= 0 {
			root.AddCommand(verbs()[i].command(a))
			root.CompletionOptions.DisableDefaultCmd = true
			return root
		}
	}
	for _, v := range verbs() {
		root.AddCommand(v.command(a)) // cobra sorts them
	}
	root.AddCommand(helpTopics()...)
	addCompletion(root)
	return root
}

// A verb is a first word of command lines.
type verb struct {
	group string
	word  string
	make  func(*app) *cobra.Command
}

func (v verb) command(a *app) *cobra.Command {
	cmd := v.make(a)
	cmd.GroupID = v.group
	return cmd
}

func verbs() []verb {
	return []verb{
		{groupSession, "new", (*app).newCmd},
		{groupSession, "ls", (*app).lsCmd},
		{groupSession, "status", (*app).statusCmd},
		{groupSession, "kill", (*app).killCmd},
		{groupSession, "type", (*app).typeCmd},
		{groupSession, "paste", (*app).pasteCmd},
		{groupSession, "keys", (*app).keysCmd},
		{groupSession, "resize", (*app).resizeCmd},
		{groupSession, "signal", (*app).signalCmd},
		{groupSession, "mark", (*app).markCmd},
		{groupSession, "wait", (*app).waitCmd},
		{groupSession, "snapshot", (*app).snapshotCmd},
		{groupSession, "attach", (*app).attachCmd},
		{groupSession, "watch", (*app).watchCmd},
		{groupSession, "dashboard", (*app).dashboardCmd},
		{groupSession, "mcp", (*app).mcpCmd},
		{groupSession, "history", (*app).historyCmd},
		{groupSession, "screenshot", (*app).screenshotCmd},
		{groupSession, "export", (*app).exportCmd},
		{groupSession, "test", (*app).testCmd},
		{groupSession, "seen", (*app).seenCmd},
		{groupCell, "run", (*app).runCmd},
		{groupCell, "answer", (*app).answerCmd},
		{groupCell, "fire", (*app).fireCmd},
		{groupCell, "next", (*app).nextCmd},
		{groupCell, "poll", (*app).pollCmd},
		{groupCell, "int", (*app).intCmd},
		{groupCell, "release", (*app).releaseCmd},
		{groupCell, "marks", (*app).marksCmd},
		{groupCell, "notify", (*app).notifyCmd},
		{groupCell, "events", (*app).eventsCmd},
		{groupCell, "batch", (*app).batchCmd},
		{groupAgent, "init", (*app).initCmd},
		{groupAgent, "up", (*app).upCmd},
		{groupAgent, "down", (*app).downCmd},
		{groupAgent, "ps", (*app).psCmd},
		{groupAgent, "reload", (*app).reloadCmd},
		{groupAgent, "agent", (*app).agentCmd},
		{groupAgent, "channel", (*app).channelCmd},
		{groupAgent, "harness", (*app).harnessCmd},
		{groupAgent, "approvals", (*app).approvalsCmd},
		{groupAgent, "permissions", (*app).permissionsCmd},
		{groupAgent, "accounts", (*app).accountsCmd},
		{groupAgent, "attention", (*app).attentionCmd},
		{groupAgent, "kernel", (*app).kernelCmd},
		{groupAgent, "worktree", (*app).worktreeCmd},
		{groupMachine, "gc", (*app).gcCmd},
		{groupMachine, "homes", (*app).homesCmd},
		{groupMachine, "doctor", (*app).doctorCmd},
		{groupMachine, "version", (*app).versionCmd},
		{groupMachine, "skills", (*app).skillsCmd},
		{groupMachine, "host", (*app).hostCmd},
		{groupMachine, "man", (*app).manCmd},
	}
}

// The groups under which help lists the verbs.
const (
	groupSession = "session"
	groupCell    = "cell"
	groupAgent   = "agent"
	groupMachine = "machine"
)

// parentCmd makes cmd the parent of others: alone it prints its help.
func parentCmd(cmd *cobra.Command, verbs ...*cobra.Command) *cobra.Command {
	cmd.Args = unknownVerb
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(verbs...)
	return cmd
}

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

// interruptGrace is how long a verb may take to clean up after a signal, and to
// print what it has. Then the process ends, whatever the verb waits for.
const interruptGrace = 2 * time.Second

// verbStack is the stack that short verbs get along with.
const verbStack = 20 << 10

// looks are verbs that only look and write no file. They mostly take less than
// shortVerb.
var looks = []string{"version", "status", "ls", "history"}

const shortVerb = 5 * time.Millisecond

// signalled is the cause of a context that a signal cancelled.
type signalled syscall.Signal

func (s signalled) Error() string { return "interrupted by " + unix.SignalName(syscall.Signal(s)) }

// status is the exit code of a process that the signal ended, as shells give it.
func (s signalled) status() int { return 128 + int(s) }

// untilSignalled returns a context that the first signal cancels, and a function
// that ends the wait for it. The next signal has its usual effect, and so has
// one that comes within the first moments of a verb that can leave nothing behind:
// to wait for signals takes a thread, and a tenth of the time of such a verb.
func untilSignalled(verb string) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1) // the second has no taker, and needs none
	listen := func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			cancel(signalled(s.(syscall.Signal)))
		case <-ctx.Done():
			signal.Stop(signals)
		}
	}
	notify := func() { signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP) }
	if slices.Contains(looks, verb) {
		ended := make(chan struct{})
		start := time.AfterFunc(shortVerb, func() {
			defer close(ended)
			notify()
			listen()
		})
		return ctx, func() {
			cancel(nil)
			if !start.Stop() {
				<-ended
			}
		}
	}
	notify()
	var listening sync.WaitGroup
	listening.Go(listen)
	return ctx, func() {
		cancel(nil)
		listening.Wait()
	}
}

// execute runs the command. If a signal comes, it returns at the latest after
// interruptGrace: a verb that is still at work then, because it waits for what
// cannot be cancelled, ends with the process.
func execute(ctx context.Context, root *cobra.Command) error {
	ended := make(chan error, 1)
	go func() {
		growStack()
		ended <- root.ExecuteContext(ctx)
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(interruptGrace):
		return ctx.Err()
	}
}

// growStack grows the goroutine's stack to what a verb needs while there is
// little on it to copy. To grow it in steps takes 4 % of the time of a short
// verb.
//
//go:noinline
func growStack() {
	var room [verbStack]byte
	runtime.KeepAlive(&room)
}

// readStdin reads all of stdin, or one byte more than limit.
func (a *app) readStdin(ctx context.Context, limit int64) ([]byte, error) {
	var raw []byte
	err := a.whileReading(ctx, func(stdin io.Reader) (err error) {
		raw, err = io.ReadAll(io.LimitReader(stdin, limit+1))
		return err
	})
	return raw, err
}

// whileReading calls read with stdin and returns when it does, or when the
// context is cancelled. A read cannot be cancelled: its goroutine is then left to
// the end of the process, and nothing may use what it reads.
func (a *app) whileReading(ctx context.Context, read func(io.Reader) error) error {
	a.wantInput()
	done := make(chan error, 1)
	go func() { done <- read(a.stdin) }()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("read stdin: %w", err)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// asOther runs den as k, km or agent-tty, if it was started by one of these
// names.
func (a *app) asOther(args []string) (status int, ok bool) {
	switch filepath.Base(args[0]) {
	case "agent-tty":
		return a.asAgentTTY(args[1:]), true
	case "k":
		return a.k().Main(args[1:]), true
	case "km":
		return a.k().Monitor(args[1:]), true
	}
	return 0, false
}

func (a *app) k() k.Tool {
	return k.Tool{Environ: a.environ, Getenv: a.getenv, Stdout: a.text, Stderr: a.stderr, Version: build.Version}
}

// asAgentTTY runs den as agent-tty, which is coder's tool of that name. k was
// called by that name too: its verbs are taken, and den's own that neither has.
func (a *app) asAgentTTY(words []string) int {
	if root := a.getenv("AGENT_TTY_HOME"); root != "" {
		a.environ = append(slices.Clone(a.environ), "DEN_HOME="+root)
	}
	den := func(stdout, stderr io.Writer, args ...string) int {
		if stdout == nil {
			stdout, stderr = a.stdout, a.stderr
		}
		return Main(append([]string{"den"}, args...), a.environ, a.stdin, stdout, stderr)
	}
	switch {
	case agenttty.Knows(words):
	case slices.Contains(k.Verbs, words[0]):
		return a.k().Main(words)
	case a.isDens(words):
		return den(nil, nil, words...)
	}
	ctx, stop := untilSignalled("agent-tty")
	defer stop()
	status := agenttty.Tool{
		Environ: a.environ, Getenv: a.getenv, Stdout: a.text, Stderr: a.stderr, Version: build.Version, Den: den,
	}.Main(ctx, words)
	var by signalled
	if errors.As(context.Cause(ctx), &by) {
		return by.status()
	}
	return status
}

// isDens reports whether the words are one of den's verbs.
func (a *app) isDens(words []string) bool {
	if strings.HasPrefix(words[0], "-") {
		return false
	}
	cmd, _, err := newRoot(a, words).Find(words)
	return err == nil && cmd.HasParent()
}

// translated translates the words of other tools when den is called by their
// names: those of the harness specification ('culture channel send', 'irc_client
// send'), and agent-kernel. It returns false for other names.
func translated(args []string) ([]string, bool) {
	var words []string
	switch filepath.Base(args[0]) {
	case "agent-kernel":
		return append([]string{"den", "kernel"}, args[1:]...), true
	case "irc_client":
		words = append([]string{"channel"}, args[1:]...)
	case "culture":
		words = slices.Clone(args[1:])
	default:
		return nil, false
	}
	if len(words) > 1 {
		words = cultureWords(words[0], words[1], words[2:])
	}
	return append([]string{"den"}, words...), true
}

// cultureWords translates a noun, a verb and the rest; what is not known stays.
func cultureWords(noun, verb string, rest []string) []string {
	switch {
	case noun == "agent" || noun == "agents":
		return cultureAgentWords(verb, rest)
	case noun == "channel" && verb == "message":
		verb = "send"
	case noun == "channel" && verb == "list":
		verb = "channels"
	}
	return append([]string{noun, verb}, rest...)
}

// cultureAgentVerbs are den's words for a verb on one agent, and on all.
func cultureAgentVerbs() map[string]struct{ one, all string } {
	return map[string]struct{ one, all string }{
		"start":   {"agent start", "up"},
		"stop":    {"agent stop", "down"},
		"status":  {"harness status", "ps"},
		"sleep":   {"harness pause", ""},
		"wake":    {"harness resume", ""},
		"message": {"agent ask", ""},
	}
}

// cultureAgentWords translates a verb on agents. Without a nick, or with --all,
// it is about the workspace.
func cultureAgentWords(verb string, rest []string) []string {
	var args, file []string
	all := false
	for i := 0; i < len(rest); i++ {
		switch value, inOne := strings.CutPrefix(rest[i], "--config="); {
		case inOne:
			file = []string{"--file", value}
		case rest[i] == "--config" && i+1 < len(rest):
			i++
			file = []string{"--file", rest[i]}
		case rest[i] == "--all":
			all = true
		default:
			args = append(args, rest[i])
		}
	}
	known := cultureAgentVerbs()[verb]
	named := !all && len(args) > 0 && !strings.HasPrefix(args[0], "-")
	words := []string{"agent", verb}
	switch {
	case named && known.one != "":
		words = strings.Fields(known.one)
	case !named && known.all != "":
		words = strings.Fields(known.all)
	}
	if words[0] == "harness" {
		file = nil // the nick alone leads to its socket
	}
	return slices.Concat(words, file, args)
}

// typingVerbs are those whose words a program gets.
var typingVerbs = []string{"run", "fire", "answer", "type"}

// unknownFlag returns the word that was taken for a flag, or "".
func unknownFlag(err error) string {
	for _, begin := range []string{"unknown flag: ", "unknown shorthand flag: "} {
		if word, ok := strings.CutPrefix(err.Error(), begin); ok {
			return word[strings.LastIndexByte(word, ' ')+1:] // 'N' in -N
		}
	}
	return ""
}
