package container

import (
	"os"
	"path/filepath"
	"slices"

	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/session/home"

	api "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"
)

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
