package daemon

import (
	"context"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"den/internal/agent/harness"
	"den/internal/agent/harness/ipc"
	"den/internal/base/fault"
	"den/internal/place/provider/container"
	"den/internal/place/provider/kubernetes"
	"den/internal/place/workspace"
)

// boxDens are the kinds of places in which an agent can live whose harness runs
// here, and den's path there.
var boxDens = map[string]string{container.Kind: container.Den, kubernetes.Kind: kubernetes.Den}

// isBoxed reports whether an agent's harness runs on this machine and its own
// processes in a container or in a pod.
func isBoxed(ag *workspace.Agent) bool {
	return ag.IsMind() && boxDens[ag.SessionProvider] != ""
}

// boxLimit bounds the end of a container.
const boxLimit = 30 * time.Second

// endBox ends the container beside a session, if there is one.
func (d *daemon) endBox(kind, session string) {
	ctx, cancel := context.WithTimeout(context.Background(), boxLimit)
	defer cancel()
	p, err := d.providers.get(kind)
	if err == nil {
		err = p.Stop(ctx, session)
	}
	if err != nil {
		log.Printf("end the %s of session %s: %v", kind, session, err)
	}
}

// endBoxes ends the containers of agents that have ended: one outlives a
// harness that ended by itself.
func (d *daemon) endBoxes() {
	d.mu.Lock()
	members := slices.Collect(maps.Values(d.members))
	d.mu.Unlock()
	var ending sync.WaitGroup
	for _, m := range members {
		if m.box != "" {
			ending.Go(func() { d.endBox(m.box, m.SessionName()) })
		}
	}
	ending.Wait()
}

// engineVariables are those by which a container engine or a cluster is found, and
// which a session does not inherit.
var engineVariables = map[string][]string{
	container.Kind:  {"DOCKER_HOST", "CONTAINER_HOST"},
	kubernetes.Kind: kubernetes.Variables,
}

// boxOf is what the harness of a boxed agent has to know of its box.
func (d *deps) boxOf(ws *workspace.Workspace, ag *workspace.Agent, session string) (*harness.Box, error) {
	b := &harness.Box{
		Session: session, Owner: d.registration.ID, Home: d.home.Path,
		Env: append(slices.Concat(slices.Sorted(maps.Keys(ag.Env.Values)), slices.Sorted(maps.Keys(ag.Env.Secrets))), "DEN_AGENT", "DEN_WORKSPACE_NAME", "DEN_POOL_INDEX"),
	}
	table := ws.Session.Tables.Of(ag.SessionProvider)
	var problems workspace.Problems
	if ag.SessionProvider == kubernetes.Kind {
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
	for _, name := range engineVariables[ag.SessionProvider] {
		if value := d.getenv(name); value != "" {
			if b.EngineEnv == nil {
				b.EngineEnv = map[string]string{}
			}
			b.EngineEnv[name] = value
		}
	}
	return b, nil
}

// withSocket shares the directory of the harness's socket with the box. It is
// made here: what is mounted must be there before. Nothing of this machine can be
// shared with a pod, in which the socket is another: see place.relay.
func (d *deps) withSocket(options any, key string) (any, error) {
	spec, ok := options.(container.Spec)
	if _, pod := options.(kubernetes.Spec); !ok && !pod {
		return nil, fault.Errorf(fault.Internal, "a box is described by %T", options)
	}
	socket, err := ipc.BoxSocketPath(d.mindDir(key), d.getenv)
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(socket)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fault.Errorf(fault.KindOf(err), "make the directory of the agent's socket: %w", err)
	}
	if !ok {
		return options, nil
	}
	spec.Mounts = append(slices.Clone(spec.Mounts), workspace.Path(dir))
	return spec, nil
}
