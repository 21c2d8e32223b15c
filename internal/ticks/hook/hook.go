// Package hook runs the scripts of a data repository at the boundaries of a
// tick. They run where the agent lives: on this machine or in its container.
package hook

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"den/internal/agent/runner"
	"den/internal/ticks/command"
)

// A Phase is a boundary of a tick, and the directory of its hooks.
type Phase string

// The phases.
const (
	PreTick  Phase = "pre-tick"  // before the agent starts
	PreStop  Phase = "pre-stop"  // when the agent wants to end: what is printed are issues
	PostTick Phase = "post-tick" // when the tick is over, however it ended
)

// Limit is how long one hook may take.
func (p Phase) Limit() time.Duration {
	if p == PreStop {
		return 30 * time.Second
	}
	return 60 * time.Second
}

// dir is the directory of all phases in a data repository.
const dir = "system/hooks"

// keep is how much is kept of each output of a hook.
const keep = 64 << 10

// Files is the part of a data repository that hooks need.
type Files interface {
	Path() string
	List(dir string) ([]string, error)
	Executable(name string) (bool, error)
}

// List returns the names of a phase's hooks in the order in which they run:
// executable regular files that are not hidden and no backups. Problems are
// files that could not be looked at.
func List(files Files, p Phase) (names []string, problems []error) {
	all, err := files.List(path.Join(dir, string(p)))
	if err != nil {
		return nil, []error{err}
	}
	for _, name := range all {
		if strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") {
			continue
		}
		switch ok, err := files.Executable(path.Join(dir, string(p), name)); {
		case err != nil:
			problems = append(problems, err)
		case ok:
			names = append(names, name)
		}
	}
	return names, problems
}

// Runner runs the hooks of one data repository.
type Runner struct {
	Files Files
	Spawn runner.Spawner // where the agent lives; the repository has the same path there
	Limit time.Duration  // of each; 0 means that of the phase
	// Starting is called with a hook's name before it is started, so that it can
	// be recorded. Or nil.
	Starting func(name string)
	Skip     []string // hooks that are not run: they were started before a kill
}

// Result is how one hook ended.
type Result struct {
	Name string
	command.Result
	Err error // why it could not be run, or nil
}

// Failure says what went wrong, "" if nothing did.
func (r Result) Failure() string {
	switch {
	case r.Err != nil:
		return fmt.Sprintf("hook %s: %v", r.Name, r.Err)
	case r.TimedOut:
		return fmt.Sprintf("hook %s: it took longer than %s and was ended%s", r.Name, r.Took.Round(time.Second), told(r.Stderr))
	case r.Code != 0:
		return fmt.Sprintf("hook %s: exit code %d%s", r.Name, r.Code, told(strings.TrimSpace(r.Reason+" "+r.Stderr)))
	}
	return ""
}

// maxTold is how much of a hook's errors is repeated.
const maxTold = 1000

func told(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	if len(text) > maxTold {
		text = "…" + strings.ToValidUTF8(text[len(text)-maxTold:], "") // the end says why
	}
	return ": " + text
}

// Run runs the hooks of the event's phase one after the other. One that fails
// or takes too long does not keep the next from running; only the end of the
// context does. Problems are hooks that could not be looked at.
func (r Runner) Run(ctx context.Context, e Event) (results []Result, problems []error) {
	names, problems := List(r.Files, e.Phase)
	env := e.Env(r.Files.Path())
	work := filepath.Join(r.Files.Path(), "sandbox")
	for _, name := range names {
		if slices.Contains(r.Skip, name) {
			continue
		}
		result, err := r.one(ctx, name, command.Spec{
			Argv: []string{filepath.Join(r.Files.Path(), dir, string(e.Phase), name)},
			Dir:  work, Env: env, Limit: cmp.Or(r.Limit, e.Phase.Limit()), Keep: keep,
		})
		results = append(results, Result{name, result, err})
	}
	return results, problems
}

func (r Runner) one(ctx context.Context, name string, spec command.Spec) (command.Result, error) {
	if err := ctx.Err(); err != nil {
		return command.Result{}, err
	}
	if r.Starting != nil {
		r.Starting(name)
	}
	return command.Run(ctx, r.Spawn, spec)
}

const (
	maxIssues = 100
	maxIssue  = 2000 // characters
)

// Issues are the reasons for which the agent cannot end its tick: the lines
// that pre-stop hooks printed. A hook that failed has none, so that a broken
// script does not keep an agent awake for ever.
func Issues(results []Result) []string {
	var issues []string
	for _, r := range results {
		if r.Err != nil || r.TimedOut || r.Code != 0 {
			continue
		}
		for line := range strings.Lines(r.Stdout) {
			if line = strings.TrimSpace(line); line != "" {
				issues = append(issues, first(line, maxIssue))
			}
		}
	}
	if len(issues) > maxIssues {
		more := len(issues) - maxIssues
		issues = append(issues[:maxIssues], fmt.Sprintf("(%d more)", more))
	}
	return issues
}

// An Event is what hooks are told, in their environment.
type Event struct {
	Phase  Phase
	Prefix string // begins the names of the variables
	Tick   int

	LastMessage string // of the agent; not before a tick
	SessionID   string // not before a tick

	Duration time.Duration // after a tick, as are all below
	Log      string        // the path of the transcript
	Normal   bool          // the agent ended its tick itself
	Reason   string        // why the tick ended, in den's words
}

// maxLastMessage is how many characters of the last message hooks get.
const maxLastMessage = 2000

// Env returns the variables of an event.
func (e Event) Env(dataDir string) map[string]string {
	env := map[string]string{"DATA_DIR": dataDir}
	set := func(name, value string) {
		// No variable can have a NUL, and a hook that does not run is worse.
		env[e.Prefix+"_"+name] = strings.ReplaceAll(value, "\x00", "")
	}
	set("TICK", strconv.Itoa(e.Tick))
	if e.Phase == PreTick {
		return env
	}
	set("LAST_MESSAGE", first(e.LastMessage, maxLastMessage))
	set("SESSION_ID", e.SessionID)
	if e.Phase == PreStop {
		return env
	}
	set("TICK_DURATION", fmt.Sprintf("%.1f", e.Duration.Seconds()))
	set("TICK_LOG", e.Log)
	set("TICK_STATUS", map[bool]string{true: "normal", false: "abnormal"}[e.Normal])
	set("TICK_REASON", e.Reason)
	return env
}

// first returns the first n characters of a text.
func first(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}
