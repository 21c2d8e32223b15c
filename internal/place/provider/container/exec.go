package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"den/internal/base/fault"
	"den/internal/place/provider"

	"github.com/moby/moby/api/pkg/stdcopy"
	api "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// execSession stands for a session's id in the labels of a container that runs
// one command before its session starts.
const execSession = "exec"

// Exec runs a command in the session's container, or, before there is one, in
// a container of its own that is made in the same way and then removed. Files
// that it makes stay only where they are shared: in the working directory and
// in mounts.
func (p *Provider) Exec(ctx context.Context, name string, c provider.Config, e provider.ExecSpec) (int, error) {
	if len(e.Argv) == 0 || e.Argv[0] == "" {
		return 0, fault.Errorf(fault.Usage, "run a command beside session '%s': none is given", name)
	}
	if e.Dir == "" {
		e.Dir = c.WorkDir
	}
	code, err := p.exec(ctx, name, c, e)
	if ctx.Err() != nil && err != nil {
		err = ctx.Err()
	}
	if err != nil {
		return 0, fmt.Errorf("run %q beside session '%s': %w", e.Argv[0], name, err)
	}
	return code, nil
}

func (p *Provider) exec(ctx context.Context, name string, c provider.Config, e provider.ExecSpec) (int, error) {
	running, err := p.IsRunning(ctx, name)
	if err != nil {
		return 0, err
	}
	if !running {
		r, err := p.recipe(ctx, name, c, nil)
		if err != nil {
			return 0, err
		}
		return p.execAlone(ctx, r, e)
	}
	all, err := p.containers(ctx, name)
	if err != nil {
		return 0, err
	}
	for _, one := range all {
		if one.running && one.session != execSession {
			return p.execIn(ctx, one.id, e)
		}
	}
	return 0, fault.Errorf(fault.NotRunning, "its container is not running")
}

// execIn runs a command in a container that runs.
func (p *Provider) execIn(ctx context.Context, container string, e provider.ExecSpec) (int, error) {
	engine, err := p.engine.connect(ctx)
	if err != nil {
		return 0, err
	}
	traits, err := p.engine.traits(ctx)
	if err != nil {
		return 0, err
	}
	made, err := engine.ExecCreate(ctx, container, client.ExecCreateOptions{
		User: traits.user(), Cmd: e.Argv, Env: provider.Assignments(e.Env), WorkingDir: e.Dir,
		AttachStdin: e.Stdin != nil, AttachStdout: true, AttachStderr: true,
	})
	if err != nil {
		return 0, engineError("make exec", err)
	}
	streams, err := engine.ExecAttach(ctx, made.ID, client.ExecAttachOptions{})
	if err != nil {
		return 0, engineError("start exec", err)
	}
	err = pass(ctx, streams.HijackedResponse, e)
	if err != nil && !errors.Is(err, errCut) {
		return 0, errors.Join(err, p.killExec(engine, made.ID))
	}
	end, ierr := engine.ExecInspect(ctx, made.ID, client.ExecInspectOptions{})
	if err != nil && (ierr != nil || end.Running) {
		return 0, errors.Join(err, p.killExec(engine, made.ID))
	}
	return end.ExitCode, engineError("inspect exec", ierr)
}

// killExec ends a command in a container for which nobody waits: the engine
// has no way to, and does not end it with its streams.
func (p *Provider) killExec(engine *client.Client, id string) error {
	ctx, cancel := context.WithTimeout(context.Background(), cleanupLimit)
	defer cancel()
	end, err := engine.ExecInspect(ctx, id, client.ExecInspectOptions{})
	if err != nil || !end.Running || end.PID <= 0 {
		return engineError("inspect exec", err)
	}
	if err := syscall.Kill(end.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("kill process %d: %w", end.PID, err)
	}
	return nil
}

// execAlone runs a command in a container of its own.
func (p *Provider) execAlone(ctx context.Context, r recipe, e provider.ExecSpec) (code int, err error) {
	engine, err := p.engine.connect(ctx)
	if err != nil {
		return 0, err
	}
	made, err := createContainer(ctx, engine, client.ContainerCreateOptions{
		Config: &api.Config{
			Image: r.image, User: r.traits.user(), Env: provider.Assignments(e.Env), Labels: p.labelsOf(r.name, execSession),
			Entrypoint: e.Argv[:1], Cmd: e.Argv[1:], WorkingDir: e.Dir,
			AttachStdin: e.Stdin != nil, OpenStdin: e.Stdin != nil, StdinOnce: e.Stdin != nil, AttachStdout: true, AttachStderr: true,
			Healthcheck: &api.HealthConfig{Test: []string{"NONE"}},
		},
		HostConfig: r.hostConfig(binds(r.shared())),
	})
	if made.ID != "" {
		defer func() {
			ctx, cancel := context.WithTimeout(context.Background(), cleanupLimit)
			defer cancel()
			err = errors.Join(err, p.remove(ctx, made.ID))
		}()
	}
	if err != nil {
		return 0, err
	}
	streams, err := engine.ContainerAttach(ctx, made.ID, client.ContainerAttachOptions{Stream: true, Stdin: e.Stdin != nil, Stdout: true, Stderr: true})
	if err != nil {
		return 0, engineError("attach to container", err)
	}
	wait := engine.ContainerWait(ctx, made.ID, client.ContainerWaitOptions{Condition: api.WaitConditionNextExit})
	if _, err := engine.ContainerStart(ctx, made.ID, client.ContainerStartOptions{}); err != nil {
		streams.Close()
		return 0, engineError("start container", err)
	}
	if err := pass(ctx, streams.HijackedResponse, e); err != nil && !errors.Is(err, errCut) {
		return 0, err
	}
	select { // one of the two comes, and both end with the context
	case end := <-wait.Result:
		return int(end.StatusCode), nil
	case err := <-wait.Error:
		return 0, engineError("wait for container", err)
	}
}

// errCut is that the engine closed a command's streams and left some of its
// input unread: most often because the command ended first. All that the engine
// had sent was read.
var errCut = errors.New("the engine cut off its streams")

// pass carries a command's streams until it has closed its output or the
// context ends, and closes them.
func pass(ctx context.Context, streams client.HijackedResponse, e provider.ExecSpec) error {
	defer streams.Close()
	stop := context.AfterFunc(ctx, streams.Close)
	defer stop()
	if e.Stdin != nil {
		// It ends with Stdin, which the caller owns, or with the connection. A
		// command that does not read all of it is none of our business.
		go func() {
			_, _ = io.Copy(streams.Conn, e.Stdin)
			_ = streams.CloseWrite()
		}()
	}
	_, err := stdcopy.StdCopy(provider.OrDiscard(e.Stdout), provider.OrDiscard(e.Stderr), streams.Reader)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, syscall.ECONNRESET) {
		return errCut
	}
	if err != nil {
		return fmt.Errorf("read its output: %w", err)
	}
	return nil
}
