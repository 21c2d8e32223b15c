package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"den/internal/base/ident"
)

// The words that some keys allow.
var (
	promptModes     = []string{"arg", "flag", "none"}
	stateSources    = []string{"auto", "screen"}
	restartPolicies = []string{RestartAlways, RestartOnFailure, RestartNever}
)

// validate reports what is decoded but cannot be meant.
func validate(w *Workspace, tree *node, r *report) {
	oneOf := func(value string, allowed []string, key string, at Origin) {
		if message := notOneOf(key, value, allowed); message != "" {
			r.add(at, "%s", message)
		}
	}
	if n := tree.get("session"); n != nil {
		oneOf(w.Session.Provider, Kinds(), "session.provider", n.origin)
	}
	for i := range w.Agents {
		a := &w.Agents[i]
		checkAgent(a, r)
		oneOf(a.Drive, drives, "drive", a.at("drive"))
		oneOf(a.RunsIn, Kinds(), "runs_in", a.at("runs_in"))
		oneOf(a.PromptMode, promptModes, "prompt_mode", a.at("prompt_mode"))
		oneOf(a.StateSource, stateSources, "state_source", a.at("state_source"))
		oneOf(a.Restart.Policy, restartPolicies, "restart.policy", a.at("restart.policy"))
		w.Warnings = append(w.Warnings, missingFiles(a)...)
		w.Warnings = append(w.Warnings, unknownCosts(a)...)
		w.Warnings = append(w.Warnings, unobeyed(a)...)
	}
	checkSupervisor(w.Supervisor, tree.get("supervisor"), r)
	w.Warnings = append(w.Warnings, withoutModel(w.Supervisor, tree.get("supervisor"))...)
	checkServer(w.Server, tree.get("server"), r)
	w.Warnings = append(w.Warnings, unread(tree)...)
	checkNames(w, r)
	checkDependencies(w, r)
}

// notOneOf says that a value is none of the allowed words; "" where it is one.
func notOneOf(key, value string, allowed []string) string {
	if slices.Contains(allowed, value) {
		return ""
	}
	return fmt.Sprintf("'%s' is '%s'; it must be one of %s%s", key, value, strings.Join(nonEmpty(allowed), ", "), didYouMean(value, allowed))
}

func nonEmpty(words []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(s string) bool { return s == "" })
}

// at is where a problem with key is shown: at the key, or at the agent.
func (a *Agent) at(key string) Origin {
	if o := a.Origin(key); o.File != "" {
		return o
	}
	if o := a.Origin("name"); o.File != "" {
		return o
	}
	return a.Origin("dir")
}

// Problem is one with a key of the agent.
func (a *Agent) Problem(key, format string, args ...any) Problem {
	return Problem{At: a.at(key), Message: fmt.Sprintf(format, args...)}
}

func checkAgent(a *Agent, r *report) {
	checkName(a, r)
	switch {
	case len(a.StartCommand) == 0 && a.Preset == "":
		r.add(a.at("name"), "agent '%s' has neither 'agent' nor 'start_command': one of them says what runs", a.Name)
	case len(a.StartCommand) == 0:
		r.add(a.at("agent"), "agent '%s': preset '%s' has no 'start_command'", a.Name, a.Preset)
	case a.StartCommand[0] == "":
		r.add(a.at("start_command"), "agent '%s': the command is empty", a.Name)
	}
	if a.PromptMode == "flag" && a.PromptFlag == "" {
		r.add(a.at("prompt_mode"), "agent '%s': prompt_mode \"flag\" needs a 'prompt_flag'", a.Name)
	}
	if a.Hints.ReadyDelayMs < 0 {
		r.add(a.at("ready_delay_ms"), "agent '%s': 'ready_delay_ms' is negative", a.Name)
	}
	if a.Restart.MaxRestarts < 0 {
		r.add(a.at("restart.max_restarts"), "agent '%s': 'max_restarts' is negative", a.Name)
	}
	if a.Restart.BackoffMax < a.Restart.Backoff {
		r.add(a.at("restart.backoff_max"), "agent '%s': 'backoff_max' is shorter than 'backoff'", a.Name)
	}
	if a.StallRestart && a.StallTimeout == 0 {
		r.add(a.at("stall_restart"), "agent '%s': 'stall_restart' needs a 'stall_timeout', which says when it stalls", a.Name)
	}
	for _, c := range a.Hints.CopyFiles {
		if !filepath.IsLocal(c.Dst) {
			r.add(a.at("copy_files"), "agent '%s': copy to '%s' would leave its directory", a.Name, c.Dst)
		}
	}
	checkPool(a, r)
	checkChannel(a, r)
	checkWorktree(a, r)
	checkSandbox(a, r)
}

// checkChannel checks what only agents in channels have.
func checkChannel(a *Agent, r *report) {
	c := &a.Channel
	if c.BufferSize < 0 {
		r.add(a.at("buffer_size"), "agent '%s': 'buffer_size' is negative", a.Name)
	}
	start, end := c.SleepStart, c.SleepEnd
	switch {
	case start == "" && end == "":
		return
	case start == "" || end == "":
		r.add(a.at("sleep_start"), "agent '%s': 'sleep_start' and 'sleep_end' are given together", a.Name)
		return
	case start == end:
		r.add(a.at("sleep_end"), "agent '%s' would always sleep: 'sleep_start' and 'sleep_end' are both %s", a.Name, start)
	}
	for key, value := range map[string]string{"sleep_start": start, "sleep_end": end} {
		if _, err := time.Parse("15:04", value); err != nil {
			r.add(a.at(key), "agent '%s': '%s' is a time of day such as \"23:00\", not \"%s\"", a.Name, key, value)
		}
	}
}

func checkName(a *Agent, r *report) {
	if a.Name == "" {
		r.add(a.at("name"), "an agent has no 'name'")
		return
	}
	for part := range strings.SplitSeq(a.Name, "/") {
		if err := ident.Check("agent", part); err != nil {
			r.add(a.at("name"), "agent '%s': %v", a.Name, err)
			return
		}
	}
}

func checkPool(a *Agent, r *report) {
	p := a.Pool
	if p == nil {
		return
	}
	const most = 1000
	switch {
	case p.Min < 0 || p.Max < 0:
		r.add(a.at("pool.min"), "agent '%s': a pool's 'min' and 'max' are not negative", a.Name)
	case p.Max < p.Min:
		r.add(a.at("pool.max"), "agent '%s': the pool's 'max' (%d) is below its 'min' (%d)", a.Name, p.Max, p.Min)
	case p.Max > most:
		r.add(a.at("pool.max"), "agent '%s': a pool has at most %d agents", a.Name, most)
	}
}

// checkNames refuses two agents of one name, members of pools included.
func checkNames(w *Workspace, r *report) {
	first := map[string]*Agent{}
	for i := range w.Agents {
		a := &w.Agents[i]
		if other, ok := first[a.Name]; ok && a.Name != "" {
			r.add(a.at("name"), "agent '%s' is there already, at %s", a.Name, other.at("name"))
			continue
		}
		first[a.Name] = a
	}
	for i := range w.Agents {
		a := &w.Agents[i]
		if a.Pool == nil {
			continue
		}
		for _, member := range a.Members(a.Pool.Max) {
			if other, ok := first[member]; ok {
				r.add(other.at("name"), "agent '%s' has the name of a member of pool '%s', at %s", member, a.Name, a.at("name"))
			}
		}
	}
}

// Members returns the names of the first n agents of a pool.
func (a *Agent) Members(n int) []string {
	var names []string
	for i := range min(max(n, 0), 1000) {
		names = append(names, memberName(a.Name, i+1))
	}
	return names
}

// checkDependencies gives depends_on qualified names, and refuses circles.
func checkDependencies(w *Workspace, r *report) {
	for i := range w.Agents {
		a := &w.Agents[i]
		for j, name := range a.DependsOn {
			other, err := w.Agent(name)
			if err != nil {
				r.add(a.at("depends_on"), "agent '%s' depends on '%s': %v", a.Name, name, err)
				continue
			}
			a.DependsOn[j] = other.Name
		}
	}
	state := map[string]int{} // 1 while its dependencies are walked, 2 after
	var walk func(name string, way []string)
	walk = func(name string, way []string) {
		a, err := w.Agent(name)
		if err != nil || state[name] == 2 {
			return // reported above, or known to be well
		}
		if state[name] == 1 {
			r.add(a.at("depends_on"), "agents depend on one another in a circle: %s", strings.Join(append(way, name), " → "))
			return
		}
		state[name] = 1
		for _, next := range a.DependsOn {
			walk(next, append(way, name))
		}
		state[name] = 2
	}
	for i := range w.Agents {
		walk(w.Agents[i].Name, nil)
	}
}

// missingFiles warns of what an agent's start will want. It is no error: a
// pre_start command may bring it.
func missingFiles(a *Agent) []string {
	var warnings []string
	check := func(what, path string) {
		if path == "" {
			return
		}
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			warnings = append(warnings, "agent '"+a.Name+"': "+what+" "+path+" is not there")
		}
	}
	check("dir", a.Dir)
	check("prompt_template", a.PromptTemplate)
	check("session_setup_script", a.Hints.SessionSetupScript)
	check("overlay_dir", a.Hints.OverlayDir)
	for _, c := range a.Hints.CopyFiles {
		check("copy_files", c.Src)
	}
	if a.Sandbox.Enabled { // what is not there is not granted
		for _, path := range a.Sandbox.Read {
			check("sandbox.read", path)
		}
		for _, path := range a.Sandbox.Write {
			check("sandbox.write", path)
		}
	}
	return warnings
}
