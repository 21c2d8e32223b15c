package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"den/internal/cell"
	"den/internal/fault"
	"den/internal/home"
	"den/internal/wire"

	"github.com/spf13/cobra"
)

// kTool speaks the command line of k, a small tool whose users may put den in
// its place: its words, its JSON to the byte, and its two exit codes. It calls
// what den's own verbs call. docs/k.md says what is the same and what is not.
type kTool struct{ *app }

// asK answers for den when it was started as k, agent-tty or km.
func (a *app) asK(args []string) (status int, ok bool) {
	switch filepath.Base(args[0]) {
	case "agent-tty":
		if words, ok := a.denWords(args[1:]); ok {
			return Main(append([]string{"den"}, words...), a.environ, a.stdin, a.stdout, a.stderr), true
		}
		return kTool{a}.main(args[1:]), true
	case "k":
		return kTool{a}.main(args[1:]), true
	case "km":
		return kTool{a}.monitor(args[1:]), true
	}
	return 0, false
}

// kVerbs are those of k.
var kVerbs = []string{"new", "fire", "poll", "run", "await", "notify", "int", "kill", "ls", "status", "watch", "history"}

func (k kTool) main(args []string) int {
	if len(args) == 0 || args[0] == "-h" || args[0] == "--help" {
		fmt.Fprint(k.stdout, kHelp)
		return 0
	}
	verb, args := args[0], args[1:]
	if len(args) == 0 && (verb == "new" || verb == "kill" || verb == "fire" || verb == "notify") {
		verb = "" // they need more
	}
	switch verb {
	case "new":
		return k.create(args)
	case "fire":
		return k.fire(args)
	case "poll":
		return k.pollCell(args)
	case "run", "await":
		return k.run(args)
	case "notify":
		return k.notify(args)
	case "int":
		return k.interrupt(args)
	case "kill":
		return k.end(args[0])
	case "ls":
		return k.names()
	case "status":
		return k.health(args)
	case "watch":
		return k.watch(args)
	case "history":
		return k.history(args)
	}
	fmt.Fprint(k.stdout, kHelp)
	return 1
}

// say prints one line and returns the status that goes with it.
func (k kTool) say(status int, format string, v ...any) int {
	if _, err := fmt.Fprintf(k.stdout, format+"\n", v...); err != nil {
		return 1
	}
	return status
}

// kCanceled is cancelled by Ctrl-C, and by the other signals given.
func kCanceled(also ...os.Signal) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), append(also, os.Interrupt)...)
}

var kName = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

// kNameOK reports whether k takes the word for a session's name. Some of
// these den never gives to a session: then there is none of that name.
func kNameOK(name string) bool {
	return kName.MatchString(name) && strings.Trim(name, ".") != "" && !strings.Contains(name, "..")
}

// checked is the word as a session's name; an unfit one is told of.
func (k kTool) checked(name string) (string, bool) {
	if !kNameOK(name) {
		k.say(1, "ERR invalid session name: %s", pyRepr(name))
		return "", false
	}
	return name, true
}

// implied is the first word as a session's name, or the one that stands for
// none: K_SESSION, else the only active session.
func (k kTool) implied(args []string) (string, bool) {
	if len(args) > 0 {
		return k.checked(args[0])
	}
	if name := k.getenv("K_SESSION"); name != "" {
		return k.checked(name)
	}
	if root, err := k.home(); err == nil {
		if d, err := root.Only(); err == nil {
			if m, err := d.Load(); err == nil {
				return m.Name, true
			}
		}
	}
	k.say(1, "ERR: no session found.")
	return "", false
}

// find returns the newest session of a name, whatever its status but
// destroyed: what k has killed is gone.
func (k kTool) find(name string) (home.Dir, *home.Manifest, error) {
	root, err := k.home()
	if err != nil {
		return home.Dir{}, nil, err
	}
	d, err := root.Find(name)
	if err != nil {
		return d, nil, kNoSession(name)
	}
	m, err := d.Reconcile()
	if err != nil {
		return d, nil, err
	}
	if m.Name != name || m.Status == home.Destroyed || m.Status == home.Destroying {
		return d, m, kNoSession(name)
	}
	return d, m, nil
}

// live is find for what needs a program that runs.
func (k kTool) live(name string) (home.Dir, error) {
	d, m, err := k.find(name)
	if err == nil && m.Status.Final() {
		err = kNoSession(name)
	}
	return d, err
}

func kNoSession(name string) error { return fault.Errorf(fault.NotFound, "no session '%s'", name) }

// names is k ls.
func (k kTool) names() int {
	root, err := k.home()
	if err != nil {
		return k.say(1, "ERR %v", err)
	}
	sessions, err := k.list(root, false)
	if err != nil {
		return k.say(1, "ERR %v", err)
	}
	for _, s := range sessions {
		k.say(0, "%s", s.Session)
	}
	if len(sessions) == 0 {
		return k.say(0, "no sessions")
	}
	return 0
}

// health is k status. What den records cannot get lost on the way, so there is
// no pipe to repair, and nothing is typed into the program to find out.
func (k kTool) health(args []string) int {
	name, ok := k.implied(args)
	if !ok {
		return 1
	}
	d, err := k.live(name)
	if err == nil {
		err = k.call(context.Background(), d, wire.MethodStatus, nil, nil)
	}
	if kind := fault.KindOf(err); kind == fault.NotRunning || kind == fault.NotFound {
		err = kNoSession(name)
	}
	if err != nil {
		return k.say(1, "ERR %v", err)
	}
	return k.say(0, "OK %s pipe=ok", name)
}

// kGrace is how long k kill lets the program end by itself.
const kGrace = 3 * time.Second

// end is k kill. There being nothing to kill is fine.
func (k kTool) end(name string) int {
	if _, ok := k.checked(name); !ok {
		return 1
	}
	d, _, err := k.find(name)
	if err == nil {
		cmd := &cobra.Command{}
		cmd.SetContext(context.Background())
		_, err = k.kill(cmd, d, kGrace)
	}
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return k.say(1, "ERR %v", err)
	}
	return k.say(0, "OK killed %s", name)
}

// notify is k notify. The first of several words is the session if there is
// one of that name.
func (k kTool) notify(words []string) int {
	name := ""
	if len(words) > 1 && kNameOK(words[0]) {
		if _, err := k.live(words[0]); err == nil {
			name, words = words[0], words[1:]
		}
	}
	if name == "" {
		var ok bool
		if name, ok = k.implied(nil); !ok {
			return 1
		}
	}
	message := strings.Join(words, " ")
	d, err := k.live(name)
	if err == nil {
		err = k.call(context.Background(), d, wire.MethodNotify, wire.Notify{Message: message, From: kFrom()}, nil)
	}
	if err != nil {
		if kind := fault.KindOf(err); kind == fault.NotFound || kind == fault.NotRunning {
			err = kNoSession(name)
		}
		return k.say(1, "ERR %v", err)
	}
	return k.say(0, "OK notified: %s", message)
}

// kFrom names the sender of a message: the caller's program and this process.
func kFrom() string {
	comm := "?"
	if raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", os.Getppid())); err == nil {
		comm = strings.TrimSpace(string(raw))
	}
	return fmt.Sprintf("%s@k:%d", comm, os.Getpid())
}

// interrupt is k int. A program that does not react is not said to have.
func (k kTool) interrupt(args []string) int {
	name, ok := k.implied(args)
	if !ok {
		return 1
	}
	d, err := k.live(name)
	if err == nil {
		ctx, stop := kCanceled(syscall.SIGTERM)
		defer stop()
		var r cell.Result
		err = k.call(ctx, d, wire.MethodInt, nil, &r)
	}
	if kind := fault.KindOf(err); err != nil && kind != fault.NotFound && kind != fault.NotRunning {
		return k.say(1, "ERR interrupt failed; use k kill")
	}
	return k.say(0, "OK")
}

// pyInt reads a whole number as Python does.
func pyInt(s string) (int, bool) {
	s = strings.TrimSpace(s)
	if !pyIntForm.MatchString(s) {
		return 0, false
	}
	n, err := strconv.Atoi(strings.ReplaceAll(s, "_", ""))
	return n, err == nil
}

var pyIntForm = regexp.MustCompile(`^[+-]?[0-9]+(_[0-9]+)*$`)
