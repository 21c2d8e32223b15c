package agent

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"time"

	"den/internal/agent/conversation/screen"
	"den/internal/base/fault"
	"den/internal/place/workspace"
)

// SessionConfig is what an agent's session is made of.
type SessionConfig struct {
	Command []string              // without the prompt
	Prompt  string                // of the prompt file, expanded; or ""
	WorkDir string                // absolute
	Env     workspace.Environment // the user's; den adds DEN_AGENT and its like
	Index   int                   // of a pool's member, from 1; 0 for no member

	PromptMode string // arg, flag or none
	PromptFlag string
	Prime      string // a line below the beacon, or ""

	Vendor string // the preset, or ""
	Hints  workspace.Hints
	Nudge  string // typed once the agent is up, or ""
	// DrainNudge is typed when the agent is asked to finish, or "".
	DrainNudge string
	// ProviderOptions are the session provider's own, decoded; see
	// provider.Config.
	ProviderOptions any

	StartupTimeout time.Duration // of each step; 0 means a minute
	Sandboxed      bool
	// SandboxEnv names variables of the keeper that an agent in a sandbox gets,
	// besides those that every session inherits.
	SandboxEnv []string

	// FingerprintExtra is what else makes the agent another one.
	FingerprintExtra map[string]string
}

// maxPrompt is what fits one argument of a program on Linux, with room.
const maxPrompt = 120 << 10

// ConfigOf makes a session's configuration from a resolved agent. It reads the
// prompt file: an edited prompt is a changed agent. ProviderOptions are left to
// the caller: the session provider decodes them.
func ConfigOf(workspaceName, session string, a *workspace.Agent) (SessionConfig, error) {
	c := SessionConfig{
		Command: a.Argv(), WorkDir: a.Dir, Env: a.Env, Index: a.Index,
		PromptMode: a.PromptMode, PromptFlag: a.PromptFlag, Prime: a.Prime,
		Vendor: a.Preset, Hints: a.Hints, Nudge: a.Nudge, DrainNudge: a.DrainNudge, StartupTimeout: a.StartupTimeout,
		Sandboxed: a.Sandbox.Enabled,
	}
	extra := map[string]string{}
	if table := a.Tables.Of(a.RunsIn); !table.IsEmpty() {
		data, err := json.Marshal(table)
		if err != nil {
			return c, fmt.Errorf("agent '%s': %w", a.Name, err)
		}
		extra[a.RunsIn] = string(data)
	}
	if a.Worktree { // to work in a tree of its own is to be another agent
		extra["worktree"] = "true"
	}
	if a.Sandbox.Enabled {
		c.SandboxEnv = a.Sandbox.Env
		data, err := json.Marshal([]any{a.Sandbox, a.Network, a.State})
		if err != nil {
			return c, fmt.Errorf("agent '%s': %w", a.Name, err)
		}
		extra["sandbox"] = string(data)
	}
	for key, value := range a.FingerprintExtra {
		extra["fingerprint_extra."+key] = value
	}
	if len(extra) > 0 {
		c.FingerprintExtra = extra
	}
	if a.PromptTemplate == "" || a.PromptMode == "none" && !a.ByProtocol() {
		return c, nil // a harness needs no way to hand over a prompt on a command line
	}
	text, err := os.ReadFile(a.PromptTemplate)
	if err != nil {
		return c, fault.Hintf(fault.Errorf(fault.NotFound, "agent '%s': read its prompt: %w", a.Name, err),
			"prompt_template is set at %s", a.Origin("prompt_template"))
	}
	c.Prompt, err = expand("prompt_template", string(text), varsOf(workspaceName, a.Name, session, a.Dir, a.Index))
	if err == nil && len(c.Prompt) > maxPrompt {
		err = fault.Hintf(fault.Errorf(fault.Usage, "agent '%s': its prompt has %d bytes, %d fit a command line", a.Name, len(c.Prompt), maxPrompt),
			"let the prompt name a file for the agent to read")
	}
	return c, err
}

func varsOf(workspaceName, agent, session, dir string, index int) vars {
	v := vars{City: workspaceName, Workspace: workspaceName, Agent: agent, Name: path.Base(agent), Session: session, WorkDir: dir, Index: index}
	if d := path.Dir(agent); d != "." {
		v.Dir = d
	}
	return v
}

// argv is the command with its prompt below the beacon. Without a prompt there
// is no beacon: it would be a prompt of its own.
func (c *SessionConfig) argv(beacon string) []string {
	argv := append([]string(nil), c.Command...)
	if c.Prompt == "" || c.PromptMode == "none" {
		return argv
	}
	prompt := beacon + "\n\n" + c.Prompt
	if c.PromptMode == "flag" {
		return appendArgs(argv, c.PromptFlag, prompt)
	}
	return appendArgs(argv, prompt)
}

// appendArgs hands arguments to a command that goes through a shell, too.
func appendArgs(argv []string, args ...string) []string {
	a := workspace.Agent{StartCommand: argv}
	return a.Argv(args...)
}

// screenHints is what a conversation over its screen knows of the agent.
func (c *SessionConfig) screenHints() screen.Hints {
	return screen.Hints{
		Vendor: c.Vendor, ReadyPrompt: c.Hints.ReadyPromptPrefix, ReadyDelay: time.Duration(c.Hints.ReadyDelayMs) * time.Millisecond,
		CodingAgent: c.CodingAgent(), PermissionDialog: c.Hints.EmitsPermissionWarning, StepTimeout: c.StartupTimeout,
	}
}

// secretsDir is where commands that print secrets run: pre_start may be what
// makes the work directory.
func (c *SessionConfig) secretsDir() string {
	if c.Sandboxed {
		return "/" // not where the agent could have written the command
	}
	if info, err := os.Stat(c.WorkDir); err != nil || !info.IsDir() {
		return ""
	}
	return c.WorkDir
}

// CodingAgent reports whether the agent is of a kind that asks questions when it
// comes up.
func (c *SessionConfig) CodingAgent() bool {
	return c.Hints.EmitsPermissionWarning || len(c.Hints.ProcessNames) > 0
}
