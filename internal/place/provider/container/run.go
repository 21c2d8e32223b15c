package container

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/base/poll"
	"den/internal/place/provider"
	"den/internal/session/home"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/stdcopy"
	api "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"
)

// How long the engine may take when nobody waits any more: to answer a create
// that was asked for before, and to remove a container.
const (
	createLimit  = time.Minute
	cleanupLimit = 30 * time.Second
)

// place runs one session's host in a container.
type place struct {
	p      *Provider
	recipe recipe
}

var _ home.Elsewhere = place{}

// Run makes the container, starts it, and returns when it has ended.
func (pl place) Run(ctx context.Context, at home.Place) error {
	engine, err := pl.p.engine.connect(ctx)
	if err != nil {
		return err
	}
	// The name is ours now: what older containers there are of it is over.
	old, err := pl.p.containers(ctx, pl.recipe.name)
	if err != nil {
		return err
	}
	for _, c := range old {
		if err := pl.p.clear(ctx, c); err != nil {
			return err
		}
	}
	made, err := createContainer(ctx, engine, pl.p.create(pl.recipe, at))
	if err != nil {
		return err
	}
	if _, err := engine.ContainerStart(ctx, made.ID, client.ContainerStartOptions{}); err != nil {
		return engineError("start container", err)
	}
	wait := engine.ContainerWait(ctx, made.ID, client.ContainerWaitOptions{Condition: api.WaitConditionNotRunning})
	select { // one of the two comes, and both end with the context
	case end := <-wait.Result:
		return fault.Errorf(fault.Internal, "its container ended with status %d: %s", end.StatusCode, logTail(ctx, engine, made.ID))
	case err := <-wait.Error:
		return engineError("wait for container", err)
	}
}

// createContainer makes a container and waits for the engine's answer also when the
// caller has given up. An engine goes on with a create whose client is gone: a
// removal would come too early and leave the container, or, with podman, come
// between its storage and its record and leave a record that breaks every list.
func createContainer(ctx context.Context, engine *client.Client, o client.ContainerCreateOptions) (client.ContainerCreateResult, error) {
	if ctx.Err() != nil {
		return client.ContainerCreateResult{}, engineError("create container", ctx.Err())
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), createLimit)
	defer cancel()
	made, err := engine.ContainerCreate(limited, o)
	return made, engineError("create container", errors.Join(err, ctx.Err()))
}

// Discard removes the container.
func (pl place) Discard(at home.Place) error {
	// The caller's context may be why we are here.
	ctx, cancel := context.WithTimeout(context.Background(), cleanupLimit)
	defer cancel()
	return pl.p.remove(ctx, containerName(at.Dir.ID))
}

// An engine refuses to remove a container that ends at this very moment, so it
// is asked again until removeLimit.
const (
	removeLimit = 10 * time.Second
	removePause = 10 * time.Millisecond
)

// remove ends a container with all that runs in it, and returns when it is
// gone. One that is not there is nil.
func (p *Provider) remove(ctx context.Context, container string) error {
	engine, err := p.engine.connect(ctx)
	if err != nil {
		return err
	}
	// Podman would ask first, and wait. Best effort: it may have ended.
	_, _ = engine.ContainerKill(ctx, container, client.ContainerKillOptions{Signal: "KILL"})
	for begun := time.Now(); ; {
		_, err := engine.ContainerRemove(ctx, container, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		if err == nil || errdefs.IsNotFound(err) {
			return nil
		}
		if client.IsErrConnectionFailed(err) || time.Since(begun) > removeLimit {
			return engineError("remove container "+container, err)
		}
		if err := poll.Pause(ctx, removePause); err != nil {
			return engineError("remove container "+container, err)
		}
	}
}

// logTail returns the end of a container's output, for an error message. den's own host prints
// nothing there once it serves.
func logTail(ctx context.Context, engine *client.Client, id string) string {
	logs, err := engine.ContainerLogs(ctx, id, client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true, Tail: "20"})
	if err != nil {
		return fmt.Sprintf("what it printed cannot be read: %v", err)
	}
	defer logs.Close() // Best effort: it was only read.
	var said bytes.Buffer
	if _, err := stdcopy.StdCopy(&said, &said, io.LimitReader(logs, 64<<10)); err != nil {
		return fmt.Sprintf("what it printed cannot be read: %v", err)
	}
	if text := strings.TrimSpace(said.String()); text != "" {
		return text
	}
	return "it left no word"
}

// Den is den's path in every session's container.
const Den = "/.den/den"

// The labels by which our containers and images are known. Nothing without
// the first two is ever listed, stopped or removed.
const (
	ownerLabel   = "den.owner"
	homeLabel    = "den.home" // two Homes may have owners of one name
	nameLabel    = "den.name"
	sessionLabel = "den.session"
)

// How "docker stop" and "podman stop" end a container. The host ends in order
// at this signal, in less than this time; an image may name another signal, and
// podman gives containers of its compatible interface no time.
const (
	stopSignal  = "SIGTERM"
	stopSeconds = 10
)

// labels are those of all that this provider makes.
func (p *Provider) labels() map[string]string {
	return map[string]string{ownerLabel: p.Owner, homeLabel: p.Home.Path}
}

// containerName is unique: sessions are.
func containerName(id string) string { return "den-" + id }

// recipe is how a session's container is made.
type recipe struct {
	name   string
	image  string
	config provider.Config
	spec   Spec
	limits api.Resources
	net    api.NetworkMode
	traits traits
}

// labelsOf are those of a container for a session.
func (p *Provider) labelsOf(name, session string) map[string]string {
	labels := p.labels()
	labels[nameLabel], labels[sessionLabel] = name, session
	return labels
}

// hostConfig is what a container gets of the machine.
func (r recipe) hostConfig(mounts []mount.Mount) *api.HostConfig {
	no := false
	host := &api.HostConfig{
		Mounts: mounts, NetworkMode: r.net, Resources: r.limits,
		Init:       &no,    // the host is one
		UsernsMode: "host", // who owns a file must be the same on both sides
	}
	if r.traits.selinux {
		host.SecurityOpt = []string{"label=disable"} // or the shared files could not be shared
	}
	return host
}

// create is the request for the container at a place.
func (p *Provider) create(r recipe, at home.Place) client.ContainerCreateOptions {
	seconds := stopSeconds
	list := []mount.Mount{{Type: mount.TypeBind, Source: p.Binary, Target: Den, ReadOnly: true}}
	return client.ContainerCreateOptions{
		Name: containerName(at.Dir.ID),
		Config: &api.Config{
			Image: r.image, User: r.traits.user(), Env: at.Env, Labels: p.labelsOf(r.name, at.Dir.ID),
			Entrypoint: []string{Den}, Cmd: at.Args,
			StopSignal: stopSignal, StopTimeout: &seconds,
			WorkingDir:  "/", // the image's own need not be there; the program gets its own anyway
			Healthcheck: &api.HealthConfig{Test: []string{"NONE"}},
		},
		HostConfig: r.hostConfig(append(list, binds(append(r.shared(), at.Dir.Path, at.RunDir))...)),
	}
}

// binds share paths with the outside, each once.
func binds(shared []string) []mount.Mount {
	var list []mount.Mount
	for i, path := range shared {
		path = filepath.Clean(path)
		shared[i] = path
		if !slices.Contains(shared[:i], path) {
			list = append(list, mount.Mount{Type: mount.TypeBind, Source: path, Target: path})
		}
	}
	return list
}

// shared are the directories of the caller that the container has too.
func (r recipe) shared() []string {
	paths := []string{r.config.WorkDir}
	for _, m := range r.spec.Mounts {
		paths = append(paths, string(m))
	}
	return paths
}

// checkMounts refuses what cannot be shared, before anything is made.
func checkMounts(paths []string) error {
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			return fault.Errorf(fault.Usage, "mount %q is not an absolute path", path)
		}
		if filepath.Clean(path) == "/" {
			return fault.Errorf(fault.Usage, "the root directory cannot be mounted: it would hide the image")
		}
		if _, err := os.Stat(path); err != nil {
			return fault.Errorf(fault.Usage, "mount: %w", err)
		}
	}
	return nil
}
