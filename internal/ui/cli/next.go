package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"

	"den/internal/base/fault"
	"den/internal/session"
	"den/internal/session/cell"
	"den/internal/session/home"
	"den/internal/session/news"

	"github.com/spf13/cobra"
)

type nextOptions struct {
	timeout     duration
	all         bool
	text, regex string
	idle        duration
	maxLines    int
	grep        string
	as          string
}

func (a *app) nextCmd() *cobra.Command {
	o := nextOptions{timeout: duration(30 * time.Second)}
	cmd := &cobra.Command{
		Use:   "next [SESSION...]",
		Short: "Wait until any session has something to say, and print it",
		Long: `Print what happened in the sessions and was not told yet, or wait until something does: a
cell asks something or has ended, a message of 'den notify', the session's end, and with
--text, --regex or --idle what these wait for. Without SESSION it is about all sessions of
the Home. Each event is told once, in order, with the output that is new. What 'run',
'answer' or 'int' returned is not told again, nor an end that the caller has from 'poll'
or 'wait'.

It returns at the first event, with all that are there; with --all when no cell runs any
more. If nothing runs that could end or ask, it returns at once (exit 4). What was told is
kept by the name of the caller, --as NAME.`,
		Example: "  den fire a 'make test'; den fire b './install.sh'; den next\n  den next --all -t 10m --max-lines 20\n  den next --text 'listening on' --idle 30s",
		RunE: func(cmd *cobra.Command, names []string) error {
			return a.runNext(cmd.Context(), names, o)
		},
		ValidArgsFunction: a.completeSessions,
	}
	f := cmd.Flags()
	f.VarP(&o.timeout, "timeout", "t", "how long to wait; 0: no limit")
	f.BoolVar(&o.all, "all", false, "wait until no cell runs: each has ended or asks")
	f.StringVar(&o.text, "text", "", "also return when a screen shows `S`, written since it was last told")
	f.StringVar(&o.regex, "regex", "", "also return when a screen matches the regular expression `R` (Go syntax)")
	f.Var(&o.idle, "idle", "also return when a program at work is silent for this long")
	f.IntVar(&o.maxLines, "max-lines", 0, "print at most `N` lines of each output: the first and the last")
	f.StringVar(&o.grep, "grep", "", "print only lines of output that match the regular expression `R`")
	addCaller(cmd, &o.as)
	return cmd
}

// caller is the name under which it is kept what was told.
func (a *app) caller(as string) string { return cmp.Or(as, a.getenv("DEN_SESSION"), "default") }

// had keeps that the caller of this name has an end: of a cell, or with "" of the
// session. 'next' does not tell it again.
func (a *app) had(s *session.Session, id, as string) {
	if s.Dir.Path == "" {
		return
	}
	var ended *cell.Record
	if id != "" {
		rec, err := s.Cells().Load(id)
		if err != nil {
			return
		}
		ended = &rec
	}
	_ = news.Had(s.Dir.Home, a.caller(as), s, ended, time.Now()) // Best effort: else it is told again.
}

// addCaller adds the flag that says who is told.
func addCaller(cmd *cobra.Command, as *string) {
	cmd.Flags().StringVar(as, "as", "", "the `NAME` under which it is kept what was told (default $DEN_SESSION, else \"default\")")
}

// request returns what the flags mean.
func (a *app) nextRequest(o nextOptions) (req news.Request, err error) {
	run := runOptions{maxLines: o.maxLines, grep: o.grep}
	if req.Cut, err = run.request(""); err != nil {
		return req, err
	}
	req.Timeout, req.All, req.Idle, req.Warn = time.Duration(o.timeout), o.all, time.Duration(o.idle), a.options().Warn
	if o.text != "" {
		req.Text = &o.text
	}
	if o.regex != "" {
		if _, err := regexp.Compile(o.regex); err != nil {
			return req, fault.Errorf(fault.Usage, "--regex: %w", err)
		}
		req.Regex = &o.regex
	}
	return req, nil
}

func (a *app) runNext(ctx context.Context, names []string, o nextOptions) error {
	req, err := a.nextRequest(o)
	if err != nil {
		return err
	}
	root, err := a.home()
	if err != nil {
		return err
	}
	sessions, err := a.named(root, names)
	if err != nil {
		return err
	}
	k, err := news.Open(root, a.caller(o.as), time.Now())
	if err != nil {
		return err
	}
	defer k.Close()
	if len(names) == 0 {
		if sessions, err = a.othersOf(root, k.Cursor); err != nil {
			return err
		}
	}
	if len(sessions) == 0 {
		return fault.Hintf(fault.Errorf(fault.NotFound, "no session is active in %s, and of none that is over is there news", root.Path), "start one with 'den new NAME'")
	}
	if err := lockFor(ctx, k, sessions, time.Duration(o.timeout)); err != nil {
		return err
	}
	begun := time.Now()
	told, err := news.Next(ctx, sessions, k.Cursor, req)
	if err != nil {
		return err
	}
	if err := a.printNews(told); err != nil {
		return err // the cursor stays: it was not told
	}
	if err := k.Advance(told.Cursor, root); err != nil {
		return err
	}
	for _, s := range told.Told {
		a.looked(s)
	}
	if err := nothingNew(told, time.Since(begun)); err != nil {
		if !a.json {
			return err
		}
		return reported{err}
	}
	return nil
}

// printNews prints an answer in one piece.
func (a *app) printNews(told news.Answer) error {
	if a.json {
		return a.printJSON(told)
	}
	var text bytes.Buffer
	told.Print(&text)
	if _, err := a.text.Write(text.Bytes()); err != nil {
		return fmt.Errorf("print what happened: %w", err)
	}
	return nil
}

// lockFor locks the sessions, within the time that the caller may wait.
func lockFor(ctx context.Context, k *news.Kept, sessions []*session.Session, limit time.Duration) error {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	return k.Lock(ctx, sessions)
}

// named finds sessions by their names.
func (a *app) named(root home.Home, names []string) (all []*session.Session, err error) {
	for _, name := range names {
		s, err := session.Open(root, name, a.options())
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(all, func(other *session.Session) bool { return other.Dir.ID == s.Dir.ID }) {
			all = append(all, s)
		}
	}
	return all, nil
}

// othersOf returns the sessions of which there may be news, but for the caller's
// own.
func (a *app) othersOf(root home.Home, cur news.Cursor) ([]*session.Session, error) {
	all, err := news.SessionsOf(root, cur, a.options())
	own := a.getenv("DEN_SESSION_ID")
	return slices.DeleteFunc(all, func(s *session.Session) bool { return s.Dir.ID == own }), err
}

// nothingNew returns the error of an answer without events, or nil.
func nothingNew(told news.Answer, took time.Duration) error {
	switch told.Status {
	case news.TimedOut:
		return fault.Errorf(fault.Timeout, "nothing happened within %v; %s", took.Round(time.Second), cmp.Or(told.Now(), "no cell runs"))
	case news.Nothing:
		now := ""
		if told.Now() != "" {
			now = "; still " + told.Now()
		}
		return fault.Hintf(fault.Errorf(fault.NotRunning, "nothing runs that could end or ask%s", now), "'den fire' runs code, 'den answer' answers; --text waits for a text")
	}
	return nil
}
