package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"den/internal/base/build"
	"den/internal/base/environment"
	"den/internal/base/fault"
	"den/internal/base/plainjson"
	"den/internal/session"
	"den/internal/session/home"

	"github.com/spf13/cobra"
)

// app is the environment of a command: streams, variables and global flags.
type app struct {
	name    string
	environ []string
	stdin   *os.File
	stdout  io.Writer // for JSON, and for bytes that are meant for a terminal
	text    io.Writer // stdout, for text that others supplied: see plain
	stderr  io.Writer // plain

	inputWanted *os.File // or nil: see wantInput

	json     bool   // --json
	exitCode bool   // --exit-code
	color    string // --color, or "" where a verb has none
	homeFlag string // --home
	file     string // --file: the workspace's
}

func newApp(name string, environ []string, stdin *os.File, stdout, stderr io.Writer) *app {
	return &app{name: name, environ: environ, stdin: stdin, stdout: stdout, text: plain(stdout), stderr: plain(stderr)}
}

func (a *app) getenv(key string) string { return environment.Get(a.environ, key) }

// home returns the Home that the verb is for. One that cannot be used is the
// same error for all verbs.
func (a *app) home() (home.Home, error) {
	root, err := home.ResolveHome(a.homeFlag, a.getenv)
	if err != nil {
		return root, err
	}
	return root, root.CheckReadable()
}

// dirs returns the sessions of the Home.
func (a *app) dirs() ([]home.Dir, error) {
	root, err := a.home()
	if err != nil {
		return nil, err
	}
	return root.All()
}

// reported is an error that was printed already: only its exit code is left.
type reported struct{ error }

func (r reported) Unwrap() error { return r.error }

// report prints an error and returns the process status.
func (a *app) report(err error) int {
	if err == nil {
		return 0
	}
	if status, ok := asExitStatus(err); ok {
		return status
	}
	var printed reported
	if !errors.As(err, &printed) {
		fault.Printer{Program: "den", JSON: a.json, Stdout: a.stdout, Stderr: a.stderr}.Print(err)
	}
	return a.ownExit(err)
}

// printJSON writes the result of a command.
func (a *app) printJSON(v any) error { return plainjson.Encode(a.stdout, v, "") }

// answer prints v with --json, and otherwise lets text print for people.
func (a *app) answer(v any, text func(w io.Writer)) error {
	if a.json {
		return a.printJSON(v)
	}
	if text != nil {
		text(a.text)
	}
	return nil
}

// result is answer for what may have failed.
func (a *app) result(err error, v any, text func(w io.Writer)) error {
	if err != nil {
		return err
	}
	return a.answer(v, text)
}

// answerPartly prints the result of a command that did only some of its work:
// with --json the failures are part of the same object.
func (a *app) answerPartly(failed error, v map[string]any, text func(w io.Writer)) error {
	if failed == nil || !a.json {
		return errors.Join(a.answer(v, text), failed)
	}
	v["error"] = fault.ObjectOf(failed)
	if err := a.printJSON(v); err != nil {
		return err
	}
	return reported{failed}
}

// options say how this den reaches sessions.
func (a *app) options() session.Options {
	return session.Options{Version: build.Version, Warn: func(err error) { fmt.Fprintln(a.stderr, "den:", err) }}
}

// target resolves the session that a verb is for: the word given, else
// DEN_SESSION, else the only active one.
func (a *app) target(ref string) (*session.Session, error) {
	root, err := a.home()
	if err != nil {
		return nil, err
	}
	if ref = cmp.Or(ref, a.getenv("DEN_SESSION")); ref != "" {
		return session.Open(root, ref, a.options())
	}
	d, err := root.Only()
	if err != nil {
		return nil, err
	}
	return session.In(d, a.options()), nil
}

// onSession makes cmd a verb for one session, which may be omitted, followed
// by a number of words.
func (a *app) onSession(cmd *cobra.Command, words int, run func(ctx context.Context, s *session.Session, words []string) error) *cobra.Command {
	cmd.Args = args(words, words+1)
	cmd.ValidArgsFunction = a.completeSession
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, rest, err := a.optionalTarget(args, words)
		if err != nil {
			return err
		}
		return run(cmd.Context(), s, rest)
	}
	return cmd
}

// onWord makes cmd a verb for a session and one word, such as code or the id of a
// cell. split finds them among the words that are given.
func (a *app) onWord(cmd *cobra.Command, split func(ctx context.Context, args []string) (*session.Session, string, error), run func(ctx context.Context, s *session.Session, word string) error) *cobra.Command {
	cmd.ValidArgsFunction = a.completeSession
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, word, err := split(cmd.Context(), args)
		if err != nil {
			return err
		}
		return run(cmd.Context(), s, word)
	}
	return cmd
}

// optionalTarget splits the arguments of a verb whose SESSION may be omitted:
// if there is one more than want, the first is the session.
func (a *app) optionalTarget(args []string, want int) (*session.Session, []string, error) {
	ref := ""
	if len(args) > want {
		ref, args = args[0], args[1:]
	}
	s, err := a.target(ref)
	return s, args, err
}

// leadingTarget is optionalTarget for verbs that take any number of words: the
// first is the session if one has that name, unless it can be one of the words
// and a session is implied.
func (a *app) leadingTarget(args []string, isWord func(string) bool) (*session.Session, []string, error) {
	if len(args) == 0 {
		s, err := a.target("")
		return s, nil, err
	}
	named, err := a.target(args[0])
	if err == nil {
		return named, args[1:], nil
	}
	if isWord(args[0]) {
		if implied, ierr := a.target(""); ierr == nil {
			return implied, args, nil
		}
	}
	return nil, nil, err
}

// exitCodeFlag makes a verb exit with the status of the command that it ran.
const exitCodeFlag = "exit-code"

// ownError is the exit code of den's own errors under --exit-code, as that of
// 'docker run', 'env' and 'timeout': theirs would be taken for the command's
// otherwise. See docs/adr/0032.
const ownError = 125

// exitStatus is an error that makes den exit with the command's own status.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// asExitStatus finds a command's own status in an error.
func asExitStatus(err error) (int, bool) {
	var e exitStatus
	if errors.As(err, &e) {
		return int(e), true
	}
	return 0, false
}

// ownExit returns the exit code for an error of den's own. A command may exit
// with 125 too: a last line on stderr says whose it is.
func (a *app) ownExit(err error) int {
	if !a.exitCode {
		return fault.ExitCode(err)
	}
	if !a.json { // there the object has no exit_code, or is an error
		fmt.Fprintf(a.stderr, "den: exit status %d is den's own (%s)\n", ownError, fault.KindOf(err))
	}
	return ownError
}
