// Package k speaks the command lines of k and km, small tools whose users may
// put den in their place: their words, their JSON to the byte, and their two
// exit codes. docs/k.md says what is the same and what is not.
package k

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"den/internal/base/fault"
	"den/internal/base/lazy"
	"den/internal/session"
	"den/internal/session/cell"
	"den/internal/session/home"
	"den/internal/session/wire"
)

// Tool is k in one process.
type Tool struct {
	Environ        []string
	Getenv         func(string) string
	Stdout, Stderr io.Writer
	Version        string
}

// Verbs are those of k.
var Verbs = []string{"new", "fire", "poll", "run", "await", "notify", "int", "kill", "ls", "status", "watch", "history"}

// Main runs one command of k and returns the process status.
func (k Tool) Main(args []string) int {
	if len(args) == 0 || args[0] == "-h" || args[0] == "--help" {
		fmt.Fprint(k.Stdout, help)
		return 0
	}
	verb, args := args[0], args[1:]
	if len(args) == 0 && (verb == "new" || verb == "kill" || verb == "fire" || verb == "notify") {
		verb = "" // they need more
	}
	run := map[string]func([]string) int{
		"new": k.create, "fire": k.fire, "poll": k.poll, "run": k.run, "await": k.run, "notify": k.notify, "int": k.interrupt,
		"kill": k.kill, "ls": k.list, "status": k.status, "watch": k.watch, "history": k.history,
	}[verb]
	if run == nil {
		fmt.Fprint(k.Stdout, help)
		return 1
	}
	return run(args)
}

// say prints one line and returns the status that goes with it.
func (k Tool) say(status int, format string, v ...any) int {
	if _, err := fmt.Fprintf(k.Stdout, format+"\n", v...); err != nil {
		return 1
	}
	return status
}

func (k Tool) printLine(line string) error {
	_, err := fmt.Fprintln(k.Stdout, line)
	return err
}

// untilInterrupted is cancelled by Ctrl-C, and by the other signals given.
func untilInterrupted(also ...os.Signal) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), append(also, os.Interrupt)...)
}

func (k Tool) home() (home.Home, error) { return home.ResolveHome("", k.Getenv) }

func (k Tool) options() session.Options {
	return session.Options{
		Version: k.Version, Registry: home.NewRegistry(k.Getenv),
		Warn: func(err error) { fmt.Fprintln(k.Stderr, "den:", err) },
	}
}

var namePattern = lazy.Regexp{Expr: `^[A-Za-z0-9_.-]+$`}

// validName reports whether k takes the word for a session's name. Some of
// these den never gives to a session: then there is none of that name.
func validName(name string) bool {
	return namePattern.Get().MatchString(name) && strings.Trim(name, ".") != "" && !strings.Contains(name, "..")
}

// checked is the word as a session's name; an invalid one is reported.
func (k Tool) checked(name string) (string, bool) {
	if !validName(name) {
		k.say(1, "ERR invalid session name: %s", pyRepr(name))
		return "", false
	}
	return name, true
}

// implied is the first word as a session's name, or the one that stands for
// none: K_SESSION, else the only active session.
func (k Tool) implied(args []string) (string, bool) {
	if len(args) > 0 {
		return k.checked(args[0])
	}
	if name := k.Getenv("K_SESSION"); name != "" {
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
func (k Tool) find(name string) (*session.Session, *home.Manifest, error) {
	root, err := k.home()
	if err != nil {
		return nil, nil, err
	}
	s, err := session.Open(root, name, k.options())
	if err != nil {
		return nil, nil, noSession(name)
	}
	m, err := s.Dir.Reconcile()
	if err != nil {
		return s, nil, err
	}
	if m.Name != name || m.Status == home.Destroyed || m.Status == home.Destroying {
		return s, m, noSession(name)
	}
	return s, m, nil
}

// live is find for what needs a program that runs.
func (k Tool) live(name string) (*session.Session, error) {
	s, m, err := k.find(name)
	if err == nil && m.Status.Final() {
		err = noSession(name)
	}
	return s, err
}

func noSession(name string) error { return fault.Errorf(fault.NotFound, "no session '%s'", name) }

// isOver reports whether an error means that there is no such program.
func isOver(err error) bool {
	kind := fault.KindOf(err)
	return kind == fault.NotFound || kind == fault.NotRunning
}

// failed reports an error about a session, in k's words where it is over.
func (k Tool) failed(name string, err error) int {
	if isOver(err) {
		err = noSession(name)
	}
	return k.say(1, "ERR %v", err)
}

// list is k ls.
func (k Tool) list([]string) int {
	root, err := k.home()
	if err != nil {
		return k.say(1, "ERR %v", err)
	}
	dirs, err := root.All()
	if err != nil {
		return k.say(1, "ERR %v", err)
	}
	found := false
	for _, d := range dirs {
		m, err := d.Reconcile()
		switch {
		case err != nil:
			fmt.Fprintln(k.Stderr, "den:", err)
		case m.Status.Active():
			found = true
			k.say(0, "%s", m.Name)
		}
	}
	if !found {
		return k.say(0, "no sessions")
	}
	return 0
}

// status is k status. What den records cannot get lost on the way, so there is
// no pipe to repair, and nothing is typed into the program to find out.
func (k Tool) status(args []string) int {
	name, ok := k.implied(args)
	if !ok {
		return 1
	}
	s, err := k.live(name)
	if err == nil {
		_, err = s.HostStatus(context.Background())
	}
	if err != nil {
		return k.failed(name, err)
	}
	return k.say(0, "OK %s pipe=ok", name)
}

// grace is how long k kill lets the program end by itself.
const grace = 3 * time.Second

// kill is k kill. There being nothing to kill is fine.
func (k Tool) kill(args []string) int {
	name := args[0]
	if _, ok := k.checked(name); !ok {
		return 1
	}
	s, _, err := k.find(name)
	if err == nil {
		_, err = s.Kill(context.Background(), grace)
	}
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return k.say(1, "ERR %v", err)
	}
	return k.say(0, "OK killed %s", name)
}

// notify is k notify. The first of several words is the session if there is
// one of that name.
func (k Tool) notify(words []string) int {
	name := ""
	if len(words) > 1 && validName(words[0]) {
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
	s, err := k.live(name)
	if err == nil {
		_, err = s.Notify(context.Background(), wire.Notify{Message: message, From: sender()})
	}
	if err != nil {
		return k.failed(name, err)
	}
	return k.say(0, "OK notified: %s", message)
}

// sender names the sender of a message: the caller's program and this process.
func sender() string {
	comm := "?"
	if raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", os.Getppid())); err == nil {
		comm = strings.TrimSpace(string(raw))
	}
	return fmt.Sprintf("%s@k:%d", comm, os.Getpid())
}

// interrupt is k int. A program that does not react is not said to have.
func (k Tool) interrupt(args []string) int {
	name, ok := k.implied(args)
	if !ok {
		return 1
	}
	s, err := k.live(name)
	asks := false
	if err == nil {
		ctx, stop := untilInterrupted(syscall.SIGTERM)
		defer stop()
		var r cell.Result
		r, err = s.Interrupt(ctx, session.Run{Timeout: intLimit})
		asks = r.CellID != "" && !r.Final()
	}
	if asks || err != nil && !isOver(err) {
		return k.say(1, "ERR %s", intFailed)
	}
	return k.say(0, "OK")
}

// pyInt reads a whole number as Python does.
func pyInt(s string) (int, bool) {
	s = strings.TrimSpace(s)
	if !pyIntForm.Get().MatchString(s) {
		return 0, false
	}
	n, err := strconv.Atoi(strings.ReplaceAll(s, "_", ""))
	return n, err == nil
}

var pyIntForm = lazy.Regexp{Expr: `^[+-]?[0-9]+(_[0-9]+)*$`}

// help is what k prints without a verb, or with one that it does not know.
const help = `k - terminals that stay, for AI agents (den)

  k new <session> [cmd...] [--prompt="x"]   start (default: bash)
  k new <session> <cmd> --prompt=./hook     start; a program tells when a cell is done
  k fire [-t N] [session] <code>            run code, do not wait (default 300s)
  k poll [session] [cell_id]                how it goes, or went
  k run [-j] [-t N] [session] <code>        run code and wait (default 30s)
  k await ...                               the same as run
  k notify [session] <message>              a message for those who listen
  k int [session]                           Ctrl-C
  k kill <session>                          end the session
  k ls                                      list the sessions
  k status [session]                        is it well?
  k watch [session]                         follow it as lines
  k history [-n N] [session]                its last N x 5 lines (default 5)

session left out: $K_SESSION, else the only one there is.

--prompt:  (not set)   den finds out by itself: shell marks, the kernel, the prompt it has learned
           "(gdb)"     the program's prompt
           ./hook      a program; it gets the lines on stdin, and when it exits the cell is done

JSON:
  fired       {"cell_id": "...", "status": "fired"}
  running     {"cell_id": "...", "status": "running"}
  done        {"cell_id": "...", "status": "done", "output": "..."}
  timeout     {"cell_id": "...", "status": "timeout", "output": ""}
  timeout 2+  {"cell_id": "...", "status": "timeout", "output": "use k int or k kill"}
  error       {"status": "error", "output": "..."}
  cell error  {"cell_id": "...", "status": "error", "output": "..."}
done with an exit code other than 0 has "exit_code" behind the output.

Errors without cell_id: no session 'x', active cell 'x', send failed: ..., no active cell on 'x'.
Errors with cell_id: interrupted, unknown cell, watcher died,
  lock update failed; use k int or k kill, interrupt failed; use k kill.
After a timeout the cell runs on, and no other is taken until it is done: poll, k int or k kill.

km <session> [cell_id] [-1]   events as JSON lines: fired, done, notify, closed, error
`

// monitorHelp is what km prints without a session.
const monitorHelp = `km - the events of a session, one JSON object a line (den)

  km <session> [cell_id] [-1]

  fired   {"cell_id": "...", "session": "...", "status": "fired", "ts": "..."}
  done    {"cell_id": "...", "session": "...", "status": "done", "ts": "..."}
  notify  {"session": "...", "status": "notify", "from": "...", "message": "...", "ts": "..."}
  closed  {"session": "...", "status": "closed", "ts": "..."}
  error   {"session": "...", "status": "error", "message": "...", "ts": "..."}

cell_id: only this cell's fired and done.
-1: exit when a cell is over.
`
