package cli

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"den/internal/base/build"
	"den/internal/base/fault"
	"den/internal/keeper"
	"den/internal/place/sandbox"

	"github.com/spf13/cobra"
)

func (a *app) agentSandboxCmd() *cobra.Command {
	var file string
	return longFileFlag(&cobra.Command{
		Use:   "sandbox NAME [PATH...]",
		Short: "Print what an agent's sandbox holds and refused, or what it lets the agent do with files",
		Long: `Print how the sandbox of an agent is enforced on this machine, what is not enforced, and
what was refused since the agent started. With paths, print for each whether the agent may
read and write it, and what allows that.`,
		Example: "  den agent sandbox coder\n  den agent sandbox coder ~/.ssh ./Makefile",
		Args:    args(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := a.policyOf(cmd.Context(), file, args[0])
			if err != nil {
				return err
			}
			return a.tellSandbox(p, args[1:])
		},
		ValidArgsFunction: a.completeAgent,
	}, &file)
}

// policyOf reads the policy that an agent was last started with.
func (a *app) policyOf(ctx context.Context, file, name string) (sandbox.Policy, error) {
	p, err := a.stateDir(file)
	if err != nil {
		return sandbox.Policy{}, err
	}
	root, err := a.home()
	if err != nil {
		return sandbox.Policy{}, err
	}
	reg, err := p.Identify(keeper.Caller{Home: root, Getenv: a.getenv})
	if err != nil {
		return sandbox.Policy{}, err
	}
	dir := reg.Sandbox(name)
	if c, err := p.Dial(ctx, build.Version); err == nil { // who keeps it knows, also of an agent that has moved
		defer c.Close() // Best effort: it was answered.
		var ps keeper.Ps
		if err := c.Call(ctx, keeper.MethodPs, keeper.Agent{}, &ps); err != nil {
			return sandbox.Policy{}, err
		}
		for _, s := range ps.Agents {
			if s.Name != name && !strings.HasSuffix(s.Name, "/"+name) {
				continue
			}
			if s.SandboxDir == "" { // it may have had one
				return sandbox.Policy{}, fault.Hintf(fault.Errorf(fault.NotFound, "agent '%s' has no sandbox", s.Name), "sandbox = true gives it one, at its next start")
			}
			dir = s.SandboxDir
		}
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
