package container

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"den/internal/base/fault"
)

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
