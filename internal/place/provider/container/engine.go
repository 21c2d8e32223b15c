package container

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"den/internal/base/fault"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

// engine is podman or docker, behind the one API that both speak. Nothing is
// asked before the first call, so an engine may come up later than we do.
type engine struct {
	configured string // a socket, or "" to look for one
	brand      string // Podman, Docker, or "" for either
	getenv     func(string) string

	mu  sync.Mutex     // guards the field below
	api *client.Client // or nil
}

// traits are what of an engine decides how containers are made.
type traits struct {
	rootless bool
	selinux  bool
}

// connect returns the engine's client.
func (e *engine) connect(ctx context.Context) (*client.Client, error) {
	e.mu.Lock()
	api := e.api
	e.mu.Unlock()
	if api != nil {
		return api, nil
	}
	socket, err := findSocket(ctx, e.configured, e.brand, e.getenv)
	if err != nil {
		return nil, err
	}
	api, err = client.New(client.WithHost("unix://" + socket))
	if err != nil {
		return nil, fault.Errorf(fault.Usage, "use container engine at %s: %w", socket, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.api == nil { // two may come here at once; one client is kept
		e.api = api
	}
	return e.api, nil
}

// close lets go of idle connections.
func (e *engine) close() error {
	e.mu.Lock()
	api := e.api
	e.api = nil
	e.mu.Unlock()
	if api == nil {
		return nil
	}
	return api.Close()
}

// known has the traits of engines by their addresses. podman runs several
// programs each time that it is asked what it is, to tell the packages of its
// parts.
var known sync.Map

// traits asks the engine what it is, once in this process.
func (e *engine) traits(ctx context.Context) (traits, error) {
	api, err := e.connect(ctx)
	if err != nil {
		return traits{}, err
	}
	if t, ok := known.Load(api.DaemonHost()); ok {
		return t.(traits), nil
	}
	info, err := api.Info(ctx, client.InfoOptions{})
	if err != nil {
		return traits{}, engineError("ask what it is", err)
	}
	has := func(name string) bool {
		return slices.ContainsFunc(info.Info.SecurityOptions, func(o string) bool { return o == "name="+name || strings.HasPrefix(o, "name="+name+",") })
	}
	t := traits{rootless: has("rootless"), selinux: has("selinux")}
	known.Store(api.DaemonHost(), t)
	return t, nil
}

// user is who a container's processes are: whoever we are, so that both sides
// can use the files that they share. Under a rootless engine that one is
// called root inside.
func (t traits) user() string {
	if t.rootless {
		return "0:0"
	}
	return strconv.Itoa(os.Getuid()) + ":" + strconv.Itoa(os.Getgid())
}

// engineError says what was asked of the engine and gives the answer a kind.
func engineError(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("container engine: %s: %w", what, err)
	case errors.Is(err, fs.ErrPermission):
		return fault.Hintf(fault.Errorf(fault.Denied, "container engine: %s: %w", what, err), "use an engine of your own user, or join the group of its socket")
	case client.IsErrConnectionFailed(err):
		return fault.Hintf(fault.Errorf(fault.Unreachable, "container engine: %s: %w", what, err), "%s", engineHint)
	case errdefs.IsNotFound(err):
		return fault.Errorf(fault.NotFound, "container engine: %s: %w", what, err)
	case errdefs.IsInvalidArgument(err):
		return fault.Errorf(fault.Usage, "container engine: %s: %w", what, err)
	}
	return fault.Errorf(fault.Internal, "container engine: %s: %w", what, err)
}
