package box

import (
	"bytes"
	"context"
	"strings"
	"time"

	"den/internal/agent/runner/remote/holder"
	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/provider/container"
	"den/internal/process/supervise"
	"den/internal/session/home"
)

// discardLimit is how long a host that is of no use may take to end.
const discardLimit = 30 * time.Second

// hosts runs the hosts of terminals in the container, beside its own.
type hosts struct{ box *Box }

var _ home.Elsewhere = hosts{}

// Run starts a host. The command that the engine runs ends as soon as the host
// serves, so no process of the engine waits for a terminal.
func (h hosts) Run(ctx context.Context, at home.Place) error {
	var said bytes.Buffer
	code, err := h.box.exec(ctx, provider.ExecSpec{
		Argv: append([]string{container.Den, holder.Verb}, at.Args...), Dir: "/", Env: variables(at.Env), Stdout: &said, Stderr: &said,
	})
	if err != nil {
		return err
	}
	if code != 0 {
		return fault.Errorf(fault.Internal, "den ended in the container with status %d: %s", code, strings.TrimSpace(said.String()))
	}
	<-ctx.Done() // it serves, and has told its creator, who ends this
	return ctx.Err()
}

// Discard ends the host, wherever it is in its start.
func (h hosts) Discard(at home.Place) error {
	ctx, cancel := context.WithTimeout(context.Background(), discardLimit)
	defer cancel()
	_, err := supervise.Sweep(ctx, home.HostMark+"="+at.Dir.ID)
	return err
}

func variables(env []string) map[string]string {
	all := map[string]string{}
	for _, kv := range env {
		if name, value, ok := strings.Cut(kv, "="); ok {
			all[name] = value
		}
	}
	return all
}
