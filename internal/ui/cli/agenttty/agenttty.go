// Package agenttty speaks the command line of coder's agent-tty 0.5: its
// commands and flags, its JSON envelope and its exit codes, over den's sessions.
// docs/agent-tty.md says what is the same and what is not.
package agenttty

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/base/ident"
	"den/internal/base/plainjson"
	"den/internal/session"
	"den/internal/session/home"

	"github.com/spf13/pflag"
)

// Tool is agent-tty in one process.
type Tool struct {
	Environ        []string
	Getenv         func(string) string
	Stdout, Stderr io.Writer
	Version        string
	// Den runs one of den's own commands and returns its status. A nil writer is
	// this process's own.
	Den func(stdout, stderr io.Writer, args ...string) int
}

// call is one command that is being run.
type call struct {
	Tool
	ctx     context.Context
	command string // as envelopes name it
	json    bool   // --json
	flags   *pflag.FlagSet
	args    []string
}

// outcome is what a command that did not fail has to tell.
type outcome struct {
	result any
	text   string // for people
	status int    // of the process; a wait that timed out is no failure
}

// Main runs one command and returns the process status.
func (t Tool) Main(ctx context.Context, words []string) int {
	name, words := split(words)
	c := &call{Tool: t, ctx: ctx, command: name, json: wantsJSON(words)}
	cmd, ok := commands()[name]
	if !ok {
		return c.noCommand(words)
	}
	c.flags = cmd.flagSet(name)
	if err := c.parse(cmd, words); errors.Is(err, pflag.ErrHelp) {
		return c.help(name)
	} else if err != nil {
		return c.misused(name, err)
	}
	if err := c.checkRoot(); err != nil {
		return c.fail(err)
	}
	out, err := cmd.run(c)
	if err != nil {
		return c.fail(err)
	}
	return c.succeed(out)
}

// noCommand answers words that ask for help, and refuses others.
func (c *call) noCommand(words []string) int {
	topic := c.command
	if topic == help {
		topic, _ = split(slices.DeleteFunc(slices.Clone(words), func(word string) bool { return strings.HasPrefix(word, "-") }))
	}
	_, known := helpOn(topic)
	switch {
	case known && (topic == "" || c.command == help || wantsHelp(words)):
		return c.help(topic)
	case known:
		return c.misused(topic, fmt.Errorf("'%s' needs a command", topic))
	}
	return c.misused("", fmt.Errorf("unknown command '%s'", topic))
}

// help prints the help on a command, on a group of them or on all.
func (c *call) help(topic string) int {
	c.command = cmp.Or(topic, help)
	text, _ := helpOn(topic) // there is one
	return c.succeed(outcome{result: map[string]string{"help": text}, text: text})
}

// misused reports a mistake in the words, with the help on what they are about.
func (c *call) misused(topic string, err error) int {
	if c.json { // the original has no envelope here
		return c.fail(coded(invalidInput, "%v", err))
	}
	text, _ := helpOn(topic) // there is one
	fmt.Fprintf(c.Stderr, "error: %v\n\n%s", err, text)
	return exitUsage
}

// wantsJSON reports whether --json is among the words, also if others cannot be
// understood.
func wantsJSON(words []string) bool {
	words = options(words)
	return slices.Contains(words, "--json") || slices.Contains(words, "--json=true")
}

// parse reads flags and checks the number of words.
func (c *call) parse(cmd command, words []string) error {
	if err := c.flags.Parse(words); err != nil {
		return err
	}
	c.args = c.flags.Args()
	switch n := len(c.args); {
	case n < cmd.least:
		return fmt.Errorf("missing required argument: %s", cmd.words)
	case cmd.most >= 0 && n > cmd.most:
		return fmt.Errorf("too many arguments: expected %d, got %d", cmd.most, n)
	}
	return nil
}

// checkRoot checks the flags that all commands have.
func (c *call) checkRoot() error {
	if path := c.str("home"); c.given("home") && !strings.HasPrefix(path, "/") {
		return coded(invalidInput, "--home must be an absolute path: %q", path)
	}
	if c.num("timeout-ms") < 0 {
		return coded(invalidInput, "--timeout-ms must not be negative")
	}
	for flag, allowed := range map[string][]string{
		"log-level": {"debug", "info", "warn", "error"}, "renderer": {"ghostty-web", "libghostty-vt"}, "profile": profileNames(),
	} {
		if c.given(flag) && !slices.Contains(allowed, c.str(flag)) {
			return coded(invalidInput, "--%s is one of %s, not %q", flag, strings.Join(allowed, ", "), c.str(flag))
		}
	}
	return nil
}

// envelope is what --json prints.
type envelope struct {
	OK        bool     `json:"ok"`
	Command   string   `json:"command"`
	Timestamp string   `json:"timestamp"`
	Result    any      `json:"result,omitempty"`
	Error     *failure `json:"error,omitempty"`
}

type failure struct {
	Code      string         `json:"code"`
	Message   string         `json:"message"`
	Retryable bool           `json:"retryable"`
	Details   map[string]any `json:"details"`
}

func (c *call) succeed(o outcome) int {
	if c.json {
		c.print(envelope{OK: true, Result: o.result})
	} else if o.text != "" {
		fmt.Fprintln(c.Stdout, strings.TrimSuffix(o.text, "\n"))
	}
	return o.status
}

func (c *call) fail(err error) int {
	code := codeOf(err)
	if c.json {
		c.print(envelope{Error: &failure{Code: code, Message: err.Error(), Retryable: retryable(code), Details: map[string]any{}}})
	} else {
		fmt.Fprintf(c.Stderr, "%s: %v\n", code, err)
	}
	return exitOf(code)
}

func (c *call) print(e envelope) {
	e.Command, e.Timestamp = c.command, stamp(time.Now())
	_ = plainjson.Encode(c.Stdout, e, "  ") // to stdout: there is nobody else to tell
}

// stamp is a time as JavaScript writes it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// home returns the Home: --home, else den's own.
func (c *call) home() (home.Home, error) {
	root, err := home.ResolveHome(c.str("home"), c.Getenv)
	if err != nil {
		return root, err
	}
	return root, root.CheckReadable()
}

func (c *call) options() session.Options {
	return session.Options{Version: c.Version, Warn: func(err error) { fmt.Fprintln(c.Stderr, "den:", err) }}
}

// session finds the session that the first word names.
func (c *call) session() (*session.Session, error) {
	root, err := c.home()
	if err != nil {
		return nil, err
	}
	d, err := find(root, c.args[0])
	if err != nil {
		return nil, err
	}
	return session.In(d, c.options()), nil
}

// find finds a session by its id or, unlike the original, by its label or name, or
// by a beginning of its id that no other has. A label that active sessions have
// is not that of one that is over.
func find(root home.Home, ref string) (home.Dir, error) {
	if ident.IsID(ref) {
		return root.Find(ref)
	}
	dirs, err := root.All()
	if err != nil {
		return home.Dir{}, err
	}
	var active, over, begun []home.Dir
	for _, d := range dirs {
		if strings.HasPrefix(d.ID, ref) {
			begun = append(begun, d)
		}
		m, err := d.Inspect()
		switch {
		case err != nil: // damaged: its id finds it, and tells
		case ref != m.Name && ref != labelOf(m):
		case m.Status.Active():
			active = append(active, d)
		default:
			over = append(over, d)
		}
	}
	for _, found := range [][]home.Dir{active, over, begun} {
		switch len(found) {
		case 0:
		case 1:
			return found[0], nil
		default:
			var ids []string
			for _, d := range found {
				ids = append(ids, d.ID)
			}
			return home.Dir{}, coded(invalidInput, "'%s' is more than one session, name one by its id: %s", ref, strings.Join(ids, ", "))
		}
	}
	if err := ident.Check("session", ref); err != nil {
		return home.Dir{}, codedError{invalidSessionID, err}
	}
	return home.Dir{}, fault.Errorf(fault.NotFound, "no session '%s'", ref)
}

// den runs one of den's own commands in the same Home and decodes its JSON. It
// returns den's error as one.
func (c *call) den(v any, args ...string) error {
	root, err := c.home()
	if err != nil {
		return err
	}
	var out, words bytes.Buffer
	status := c.Den(&out, &words, append(args, "-j", "--home", root.Path)...)
	if err := denError(out.Bytes()); err != nil {
		return err
	}
	if err := json.Unmarshal(out.Bytes(), v); err != nil {
		return fmt.Errorf("den %s: exit status %d: %s%w", strings.Join(args, " "), status, words.String(), err)
	}
	return nil
}

// The values of flags. Each flag is defined by its command.

func (c *call) given(name string) bool { return c.flags.Changed(name) }

func (c *call) str(name string) string { v, _ := c.flags.GetString(name); return v } // it is defined

func (c *call) bool(name string) bool { v, _ := c.flags.GetBool(name); return v } // as above

func (c *call) num(name string) int { v, _ := c.flags.GetInt(name); return v } // as above

func (c *call) millis(name string) time.Duration {
	return time.Duration(c.num(name)) * time.Millisecond
}

// The codes of errors, as the original names them.
const (
	internalError       = "INTERNAL_ERROR"
	skillNotFound       = "SKILL_NOT_FOUND"
	invalidSessionID    = "INVALID_SESSION_ID"
	invalidDimensions   = "INVALID_DIMENSIONS"
	invalidSignal       = "INVALID_SIGNAL"
	invalidKeys         = "INVALID_KEYS"
	invalidDuration     = "INVALID_DURATION"
	invalidInput        = "INVALID_INPUT"
	sessionNotFound     = "SESSION_NOT_FOUND"
	sessionNotRunning   = "SESSION_NOT_RUNNING"
	alreadyDestroyed    = "SESSION_ALREADY_DESTROYED"
	hostTimeout         = "HOST_TIMEOUT"
	hostUnreachable     = "HOST_UNREACHABLE"
	exportError         = "EXPORT_ERROR"
	storageReadError    = "STORAGE_READ_ERROR"
	protocolError       = "PROTOCOL_ERROR"
	rpcError            = "RPC_ERROR"
	replayError         = "REPLAY_ERROR"
	waitTimeout         = "WAIT_TIMEOUT"
	exitUsage           = 2
	exitWaitTimeout     = 11
	exitKeepGoingFailed = 1
)

func exits() map[string]int {
	return map[string]int{
		internalError: 1, skillNotFound: 1,
		invalidSessionID: 2, invalidDimensions: 2, invalidSignal: 2, invalidKeys: 2, invalidDuration: 2, invalidInput: 2,
		sessionNotFound: 3, sessionNotRunning: 4, alreadyDestroyed: 4, hostTimeout: 5, hostUnreachable: 6, exportError: 7,
		storageReadError: 8, protocolError: 9, rpcError: 9, replayError: 10, waitTimeout: exitWaitTimeout,
	}
}

// byKind is the code of den's own errors.
func byKind() map[fault.Kind]string {
	return map[fault.Kind]string{
		fault.Usage: invalidInput, fault.NotFound: sessionNotFound, fault.NotRunning: sessionNotRunning,
		fault.Busy: rpcError, fault.Unreachable: hostUnreachable, fault.Export: exportError, fault.Storage: storageReadError,
		fault.Protocol: protocolError, fault.Unsupported: invalidInput, fault.Timeout: hostTimeout, fault.Denied: storageReadError,
	}
}

// codedError is an error whose code its kind does not tell.
type codedError struct {
	code string
	error
}

func (e codedError) Unwrap() error { return e.error }

func coded(code, format string, args ...any) error {
	return codedError{code, fmt.Errorf(format, args...)}
}

// as gives errors of a kind another code.
func as(kind fault.Kind, code string, err error) error {
	if err != nil && fault.KindOf(err) == kind {
		return codedError{code, err}
	}
	return err
}

func codeOf(err error) string {
	var c codedError
	if errors.As(err, &c) {
		return c.code
	}
	return cmp.Or(byKind()[fault.KindOf(err)], internalError)
}

func exitOf(code string) int {
	return cmp.Or(exits()[code], 1)
}

func retryable(code string) bool {
	return code == hostUnreachable || code == hostTimeout || code == rpcError
}

// denError is the error that den printed, or nil.
func denError(out []byte) error {
	var o fault.Object
	if json.Unmarshal(out, &o) != nil || o.Status != "error" || o.Kind == "" {
		return nil
	}
	return fault.Errorf(o.Kind, "%s", o.Output)
}
