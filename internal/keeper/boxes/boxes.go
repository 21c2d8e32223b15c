// Package boxes describes the box of an agent: the container or pod of its own
// processes, while its harness runs on this machine.
package boxes

import (
	"maps"
	"os"
	"path/filepath"
	"slices"

	"den/internal/agent/harness"
	"den/internal/agent/harness/ipc"
	"den/internal/agent/runner/remote/holder"
	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/provider/boxed"
	"den/internal/place/provider/container"
	"den/internal/place/provider/factory"
	"den/internal/place/provider/kubernetes"
	"den/internal/place/provider/native"
	"den/internal/place/workspace"
)

// dens are the kinds of places in which an agent can live whose harness runs
// here, and den's path there.
var dens = map[string]string{container.Kind: container.Den, kubernetes.Kind: kubernetes.Den}

// Is reports whether an agent's harness runs on this machine and its own
// processes in a container or in a pod.
func Is(ag *workspace.Agent) bool {
	return ag.ByProtocol() && dens[ag.RunsIn] != ""
}

// engineVariables are those by which a container engine or a cluster is found, and
// which a session does not inherit.
var engineVariables = map[string][]string{
	container.Kind:  {"DOCKER_HOST", "CONTAINER_HOST"},
	kubernetes.Kind: kubernetes.Variables,
}

// Of is what the harness of a boxed agent has to know of its box.
func Of(at factory.Site, ws *workspace.Workspace, ag *workspace.Agent, session string) (*harness.Box, error) {
	b := &harness.Box{
		Session: session, Owner: at.Owner, Home: at.Home.Path,
		Env: append(slices.Concat(slices.Sorted(maps.Keys(ag.Env.Values)), slices.Sorted(maps.Keys(ag.Env.Secrets))), "DEN_AGENT", "DEN_WORKSPACE_NAME", "DEN_POOL_INDEX"),
	}
	table := ws.Session.Tables.Of(ag.RunsIn)
	var problems workspace.Problems
	if ag.RunsIn == kubernetes.Kind {
		var c kubernetes.Cluster
		c, problems = kubernetes.DecodeCluster(table)
		b.Kind, b.Socket = kubernetes.Kind, kubernetes.HarnessSocket
		b.Cluster = &harness.Cluster{Kubeconfig: string(c.Kubeconfig), Context: c.Context, Namespace: c.Namespace}
	} else {
		var engine container.EngineOptions
		engine, problems = container.DecodeEngine(table)
		b.Engine, b.Brand = engine.Socket, engine.Engine
	}
	if len(problems) > 0 {
		return nil, problems.In(ws.Path)
	}
	for _, name := range engineVariables[ag.RunsIn] {
		if value := at.Getenv(name); value != "" {
			if b.EngineEnv == nil {
				b.EngineEnv = map[string]string{}
			}
			b.EngineEnv[name] = value
		}
	}
	return b, nil
}

// WithSocket shares the directory of the socket of a harness, whose state is in
// dir, with the box. It is
// made here: what is mounted must be there before. Nothing of this machine can be
// shared with a pod, in which the socket is another: see harness.Options.Relay.
func WithSocket(options any, dir string, getenv func(string) string) (any, error) {
	spec, ok := options.(container.Spec)
	if _, pod := options.(kubernetes.Spec); !ok && !pod {
		return nil, fault.Errorf(fault.Internal, "a box is described by %T", options)
	}
	socket, err := ipc.BoxSocketPath(dir, getenv)
	if err != nil {
		return nil, err
	}
	dir = filepath.Dir(socket)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fault.Errorf(fault.KindOf(err), "make the directory of the agent's socket: %w", err)
	}
	if !ok {
		return options, nil
	}
	spec.Mounts = append(slices.Clone(spec.Mounts), workspace.Path(dir))
	return spec, nil
}

// Provider is the provider of boxed agents: their harnesses live here, their
// processes there.
func Provider(kind string, here, there provider.Provider) (provider.Provider, error) {
	harnesses, ok := here.(*native.Provider)
	box, also := there.(boxed.Box)
	if !ok || !also {
		return nil, fault.Errorf(fault.Internal, "no harness can run beside such a place: the providers are %T and %T", here, there)
	}
	return boxed.New(harnesses, box, []string{dens[kind], holder.Verb, holder.ModePlace}), nil
}
