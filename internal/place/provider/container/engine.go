package container

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"den/internal/base/fault"
	"den/internal/base/poll"

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
	case strings.Contains(strings.ToLower(err.Error()), "rlimit"): // of runc and of crun
		return fault.Hintf(fault.Errorf(fault.Denied, "container engine: %s: %w", what, err),
			"it wants to allow more open files or processes than it may have itself: raise the hard limit of its service (LimitNOFILE=, 'ulimit -Hn'), or lower default_ulimits in containers.conf")
	case errdefs.IsNotFound(err):
		return fault.Errorf(fault.NotFound, "container engine: %s: %w", what, err)
	case errdefs.IsInvalidArgument(err):
		return fault.Errorf(fault.Usage, "container engine: %s: %w", what, err)
	}
	return fault.Errorf(fault.Internal, "container engine: %s: %w", what, err)
}

// The sockets at which engines listen when nobody says otherwise.
const (
	podmanSocket = "/run/podman/podman.sock"
	dockerSocket = "/var/run/docker.sock"
)

// knock bounds how long a socket may take to let us in.
const knock = 5 * time.Second

const engineHint = "start one: 'systemctl start podman.socket' or 'podman system service --time=0 unix:///run/podman/podman.sock'; or name its socket with DOCKER_HOST or CONTAINER_HOST"

// The engines that can be asked for by name.
const (
	Podman = "podman"
	Docker = "docker"
)

// findSocket returns the path of the engine's socket: the configured one, else
// that of DOCKER_HOST or CONTAINER_HOST, else the first usual one that answers.
// A brand leaves out what is the other one's.
func findSocket(ctx context.Context, configured, brand string, getenv func(string) string) (string, error) {
	named := []struct{ by, brand, address string }{
		{"the configured engine", brand, configured},
		{"DOCKER_HOST", Docker, getenv("DOCKER_HOST")},
		{"CONTAINER_HOST", Podman, getenv("CONTAINER_HOST")},
	}
	for _, n := range named {
		if n.address != "" && (brand == "" || brand == n.brand) {
			return socketOf(n.by, n.address)
		}
	}
	var tried []error
	for _, path := range usualSockets(brand, getenv) {
		err := answers(ctx, path)
		if err == nil {
			return path, nil
		}
		tried = append(tried, err)
	}
	what := "a container engine"
	if brand != "" {
		what = brand
	}
	return "", fault.Hintf(fault.Errorf(fault.Unreachable, "find %s: %w", what, errors.Join(tried...)), "%s", engineHint)
}

func usualSockets(brand string, getenv func(string) string) []string {
	paths := []string{podmanSocket, dockerSocket}
	if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		paths = append(paths, filepath.Join(dir, "podman", "podman.sock"), filepath.Join(dir, "docker.sock"))
	}
	return slices.DeleteFunc(paths, func(path string) bool { return brand != "" && filepath.Base(path) != brand+".sock" })
}

// socketOf takes a socket's path or its unix:// address. An engine on another
// machine is refused: sessions are reached through files of this one.
func socketOf(by, address string) (string, error) {
	path := strings.TrimPrefix(address, "unix://")
	if !filepath.IsAbs(path) {
		return "", fault.Hintf(fault.Errorf(fault.Usage, "%s is %q: the engine must listen on a unix socket of this machine", by, address),
			"for example unix://%s", podmanSocket)
	}
	return path, nil
}

// answers reports why nobody lets us in at a socket, or nil.
func answers(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, knock)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return err
	}
	return conn.Close()
}

// How long, and how often at the least, removals may disturb a list: on a busy
// machine a few answers take that long.
const (
	listPause = 20 * time.Millisecond
	listLimit = 5 * time.Second
	listTries = 50
)

// RetryWhileRemoving asks for a list until the engine can answer: podman refuses
// the whole list while any container or image, also somebody else's, is being
// removed.
func RetryWhileRemoving(ctx context.Context, ask func() error) error {
	end := time.Now().Add(listLimit)
	for tries := 1; ; tries++ {
		err := ask()
		over := tries >= listTries && time.Now().After(end)
		if err == nil || !removing(err) || over || poll.Pause(ctx, listPause) != nil {
			return err
		}
	}
}

// removing reports whether the engine stumbled over something that goes away.
func removing(err error) bool {
	text := err.Error()
	for _, words := range []string{
		"container not known", "image not known", "no such container", "no such process", "layer not known",
		`locating item named "manifest" for image`, // its files go before its entry
		"size is not known",                        // of an image that is being made or goes away
	} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}
