package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"den/internal/agent"
	"den/internal/agent/conversation"
	"den/internal/base/fault"
	"den/internal/keeper"
	"den/internal/place/sandbox"
	"den/internal/place/workspace"
	"den/internal/place/worktree"
	"den/internal/screen/render/redact"

	"github.com/spf13/cobra"
)

func (a *app) explainCmd() *cobra.Command {
	return a.onAgent(&cobra.Command{
		Use:     "explain NAME",
		Short:   "Print an agent's resolved configuration, and where each value came from",
		Example: "  den agent explain greeter",
		Args:    args(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, ws, err := a.workspace()
			if err != nil {
				return err
			}
			ag, err := ws.Agent(args[0])
			if err != nil {
				return err
			}
			return a.explain(cmd.Context(), p, ws, ag)
		},
	})
}

func (a *app) explain(ctx context.Context, p keeper.StateDir, ws *workspace.Workspace, ag *workspace.Agent) error {
	tokens, err := redact.New(nil, true)
	if err != nil {
		return err
	}
	settings := ag.Explain()
	for i := range settings {
		settings[i].Value = redactValue(tokens, settings[i].Value)
	}
	argv := ag.Argv()
	for i := range argv {
		argv[i] = tokens.Text(argv[i])
	}
	names, warning := agent.NewNames(cmp.Or(ag.SessionTemplate, ws.SessionTemplate))
	if warning != nil {
		fmt.Fprintf(a.stderr, "warning: %v\n", warning)
	}
	session := names.Session(ws.Name, ag.Name)
	tree := a.placeTree(p, ws, ag)
	config, err := agent.ConfigOf(ws.Name, session, ag)
	if err != nil {
		return err
	}
	print := agent.FingerprintOf(config)
	how, why := policyOf(ag)
	source, now := stateSource(ag), stateNowOf(ctx, p, ag.Name)
	told := map[string]any{"agent": ag.Name, "session": session, "argv": argv, "settings": settings, "fingerprint": print, "state_from": source, "policy": how}
	if now != nil {
		told["state_now"] = now
	}
	if tree != nil {
		told["worktree"] = map[string]any{"path": tree.Path, "dir": tree.WorkDir, "branch": tree.Branch}
	}
	holds := sandboxHolds(ag)
	if holds != nil {
		told["sandbox"] = holds
	}
	return a.answer(told, func(w io.Writer) {
		var t explained
		for _, s := range settings {
			t.add(s.Key, s.Text(), s.From())
		}
		t.add("session", strconv.Quote(session), "")
		if tree != nil {
			t.add("works in", strconv.Quote(tree.WorkDir), "on branch "+tree.Branch)
		}
		for _, line := range holds {
			what, how, _ := strings.Cut(line, ": ")
			t.add("sandbox, "+what, how, "")
		}
		t.add("state from", strconv.Quote(source[0]), stateFallback(source))
		if now != nil {
			t.add("state from, now", strconv.Quote(now.From), now.Fallback)
		}
		t.add("policy", strconv.Quote(how), why)
		t.add("fingerprint", strconv.Quote(print.Hash), "a change of it restarts the agent")
		t.print(w)
	})
}

// sandboxHolds says what would hold the agent's sandbox on this machine, nil for
// an agent without.
func sandboxHolds(ag *workspace.Agent) []string {
	self, err := os.Executable()
	if !ag.Sandbox.Enabled || err != nil {
		return nil
	}
	p := sandbox.Policy{Agent: ag.Name, WorkDir: ag.Dir, Network: cmp.Or(ag.Network, sandbox.NetworkAny)}
	holds := sandbox.Probe(self)
	if err := holds.Enough(p); err != nil {
		return []string{"refused: " + err.Error()}
	}
	return holds.Tell(p)
}

// explained is a table of values and where they came from. Few values are long:
// those only move what stands in their own line.
type explained [][3]string

const explainedWidth = 40

func (t *explained) add(key, value, from string) { *t = append(*t, [3]string{key, value, from}) }

func (t explained) print(w io.Writer) {
	var keys, values int
	for _, row := range t {
		keys = max(keys, utf8.RuneCountInString(row[0]))
		if n := utf8.RuneCountInString(row[1]); n <= explainedWidth {
			values = max(values, n)
		}
	}
	for _, row := range t {
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("%-*s  %-*s  %s", keys, row[0], values, row[1], row[2]), " "))
	}
}

// placeTree finds where the agent's own git worktree is, and has the agent work
// there. It is nil for an agent that has none, and in a workspace that was never
// up.
func (a *app) placeTree(p keeper.StateDir, ws *workspace.Workspace, ag *workspace.Agent) *worktree.Location {
	reg, err := a.identify(p)
	if err != nil || !ag.Worktree {
		return nil // Best effort: what the file says is printed all the same.
	}
	name := ws.Name
	if ws.NameDerived && reg.Name != "" {
		name = reg.Name // that of the directory in which it was first kept
	}
	place := worktree.Plan(worktree.Spec{Root: reg.Worktrees(), Workspace: name, Agent: ag.Name, Dir: ag.Dir})
	ag.Dir = place.WorkDir
	return &place
}

// stateSource returns the sources of an agent's state, the most reliable
// first.
func stateSource(ag *workspace.Agent) []string {
	name := conversation.SourceName(ag.Preset)
	switch {
	case ag.ByProtocol():
		return []string{conversation.Harness}
	case name == "" || !ag.HasSource():
		return []string{"screen"}
	}
	return []string{name, "screen"}
}

func stateFallback(source []string) string {
	if len(source) == 1 {
		return ""
	}
	return "its screen, where that cannot be read; state_source = \"screen\" uses nothing else"
}

// policyOf says how den's policy decides for an agent, and what that means.
func policyOf(ag *workspace.Agent) (how, why string) {
	switch how, why = ag.PolicyReach(); how {
	case workspace.ByProtocol:
		return how, "den decides what it asks for"
	case workspace.ByHook:
		return how, "its program asks den before it uses a tool"
	case workspace.ByServer:
		return how, "den decides what its program asks for"
	case workspace.ByRules:
		return how, "its program is told the rules for commands and tools when it starts"
	}
	return "none", why
}

// stateNow is what the state of a running agent is read from now.
type stateNow struct {
	From     string `json:"from"`
	Fallback string `json:"fallback,omitempty"` // why it is not a truer source
}

// keeperPatience bounds how long a keeper may take to tell what it reads now.
const keeperPatience = 5 * time.Second

// stateNowOf asks the keeper of the workspace; nil where none runs, or where it
// does not know.
func stateNowOf(ctx context.Context, p keeper.StateDir, agent string) *stateNow {
	ctx, cancel := context.WithTimeout(ctx, keeperPatience)
	defer cancel()
	found, _, err := statusOf(ctx, p, agent)
	if err != nil || found == nil || found.StateFrom == "" {
		return nil // Best effort: what the file says is printed without a keeper, too.
	}
	return &stateNow{From: found.StateFrom, Fallback: found.StateFallback}
}

// redactValue hides tokens in a value of the workspace file, wherever they
// stand.
func redactValue(r *redact.Redactor, v any) any {
	switch v := v.(type) {
	case string:
		return r.Text(v)
	case []any:
		for i := range v {
			v[i] = redactValue(r, v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = redactValue(r, v[k])
		}
	}
	return v
}

func (a *app) agentSandboxCmd() *cobra.Command {
	return a.onAgent(&cobra.Command{
		Use:   "sandbox NAME [PATH...]",
		Short: "Print what an agent's sandbox holds and refused, or what it lets the agent do with files",
		Long: `Print how the sandbox of an agent is enforced on this machine, what is not enforced, and
what was refused since the agent started. With paths, print for each whether the agent may
read and write it, and what allows that.`,
		Example: "  den agent sandbox coder\n  den agent sandbox coder ~/.ssh ./Makefile",
		Args:    args(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := a.policyOf(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.tellSandbox(p, args[1:])
		},
	})
}

// policyOf reads the policy that an agent was last started with.
func (a *app) policyOf(ctx context.Context, name string) (sandbox.Policy, error) {
	p, err := a.stateDir()
	if err != nil {
		return sandbox.Policy{}, err
	}
	reg, err := a.identify(p)
	if err != nil {
		return sandbox.Policy{}, err
	}
	dir := reg.Sandbox(name)
	found, _, err := statusOf(ctx, p, name) // who keeps it knows, also of an agent that has moved
	switch {
	case err != nil:
		return sandbox.Policy{}, err
	case found != nil && found.SandboxDir == "": // it may have had one
		return sandbox.Policy{}, fault.Hintf(fault.Errorf(fault.NotFound, "agent '%s' has no sandbox", found.Name), "sandbox = true gives it one, at its next start")
	case found != nil:
		dir = found.SandboxDir
	}
	policy, err := sandbox.Load(dir)
	if fault.KindOf(err) == fault.NotFound {
		err = fault.Hintf(fault.Errorf(fault.NotFound, "agent '%s' was never started in a sandbox", name), "sandbox = true gives it one, at its next start; 'den agent explain %s' prints what would hold it", name)
	}
	return policy, err
}

func (a *app) tellSandbox(p sandbox.Policy, paths []string) error {
	if len(paths) == 0 {
		holds, denied := p.Held.Tell(p), sandbox.Noted(p.Private)
		told := map[string]any{"agent": p.Agent, "holds": holds, "denied": denied, "write": append([]string{p.WorkDir}, p.Write...), "read": p.Read, "network": p.Network}
		return a.answer(told, func(w io.Writer) {
			fmt.Fprintln(w, strings.Join(holds, "\n"))
			fmt.Fprintln(w, "writes:", strings.Join(append([]string{p.WorkDir}, p.Write...), ", "))
			for _, line := range denied {
				fmt.Fprintln(w, "refused:", line)
			}
		})
	}
	var all []sandbox.Verdict
	for _, path := range paths {
		abs, err := filepath.Abs(path)
		if err != nil {
			return fault.Errorf(fault.Usage, "%s: %w", path, err)
		}
		all = append(all, p.Check(abs, "", a.environ))
	}
	return a.answer(map[string]any{"agent": p.Agent, "paths": all}, func(w io.Writer) {
		for _, v := range all {
			may := "nothing"
			switch {
			case v.Write:
				may = "read and write"
			case v.Read:
				may = "read"
			}
			fmt.Fprintf(w, "%s: %s: %s\n", v.Path, may, v.By)
		}
	})
}
