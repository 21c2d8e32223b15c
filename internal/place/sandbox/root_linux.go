package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"den/internal/base/fault"

	"golang.org/x/sys/unix"
)

// ownRoot gives this thread a / that holds what is granted, and nothing else of
// the machine: what has no path there cannot be opened, nor connected to.
func (p Policy) ownRoot(grants []grant, dir string) error {
	if p.Held.Namespaces == direct {
		flags := unix.CLONE_NEWNS | unix.CLONE_NEWIPC
		if p.Network != NetworkAny {
			flags |= unix.CLONE_NEWNET
		}
		if err := unix.Unshare(flags); err != nil {
			return fault.Hintf(fault.Errorf(fault.Unsupported, "make namespaces: %w", err), "'den up' looks anew what this machine can do")
		}
	}
	if p.Network == NetworkLoopback {
		if err := raiseLoopback(); err != nil {
			return fault.Errorf(fault.Internal, "raise the loopback: %w", err)
		}
	}
	b, err := newBuilder(p)
	if err == nil {
		err = b.build(grants)
	}
	if err == nil {
		err = b.pivot()
	}
	if err != nil {
		return fault.Errorf(fault.KindOf(err), "make the sandbox's files: %w", err)
	}
	if err := unix.Chdir(dir); err != nil {
		return fault.Hintf(fault.Errorf(fault.Denied, "agent '%s' may not use %s, where it is started", p.Agent, dir), "sandbox = { write = [\"%s\"] } grants it", dir)
	}
	return nil
}

// builder mounts files below a new root.
type builder struct {
	p    Policy
	path string   // of the new root
	root *os.Root // the same: no link in it leads out
	made map[string]grant
}

func newBuilder(p Policy) (*builder, error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return nil, fmt.Errorf("keep mounts private: %w", err)
	}
	path := p.root()
	if err := unix.Mount("tmpfs", path, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755,size=16m"); err != nil {
		return nil, fmt.Errorf("mount the root: %w", err)
	}
	root, err := os.OpenRoot(path)
	return &builder{p: p, path: path, root: root, made: map[string]grant{}}, err
}

func (b *builder) build(grants []grant) error {
	p := b.p
	all := []grant{
		{path: "/tmp", real: p.tmp(), write: true}, {path: "/var/tmp", real: p.tmp(), write: true},
		{path: "/etc", real: "/etc"}, {path: "/opt", real: "/opt"}, // what may be read of them is not for mounts to say
	}
	if p.Home != "" {
		all = append(all, grant{path: p.Home, real: p.home(), write: true})
	}
	for _, g := range grants {
		if !g.names {
			all = append(all, g)
		}
	}
	for _, socket := range p.Sockets {
		all = append(all, grant{path: socket, real: socket, write: true})
	}
	for _, dir := range p.Hide {
		all = append(all, grant{path: filepath.Clean(dir), names: true})
	}
	var links []grant
	for _, g := range sorted(all) {
		if g.real != g.path && !g.names && !b.isOwn(g) {
			links = append(links, g) // behind what they lead to
			continue
		}
		if err := b.mount(g); err != nil {
			return fmt.Errorf("%s: %w", g.path, err)
		}
	}
	for _, g := range links {
		if err := b.link(g); err != nil {
			return fmt.Errorf("%s: %w", g.path, err)
		}
	}
	if err := b.protect(); err != nil {
		return err
	}
	for _, path := range plainPaths(grants) {
		if err := b.pin(path); err != nil {
			return fmt.Errorf("pin %s: %w", path, err)
		}
	}
	return b.devices()
}

// mount puts one grant in its place. What its surroundings show already is not
// mounted again; an empty directory is mounted only where something shows.
func (b *builder) mount(g grant) error {
	around := b.around(g.path)
	hide := g.names
	switch {
	case hide && (around.path == "" || b.isOwn(around)):
		return nil
	case !hide && around.path != "" && around.write == g.write && !around.names && filepath.Join(around.real, strings.TrimPrefix(g.path, around.path)) == g.real:
		return nil
	}
	if hide {
		if info, err := os.Stat(filepath.Join(around.real, strings.TrimPrefix(g.path, around.path))); err != nil || !info.IsDir() {
			return nil
		}
		b.made[g.path] = g
		target, err := b.target(g.path, true)
		if err != nil {
			return err
		}
		defer unix.Close(target)
		return unix.Mount("tmpfs", fdPath(target), "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755,size=64k")
	}
	source, err := unix.Open(g.real, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil // it went
	}
	if err != nil {
		return err
	}
	defer unix.Close(source)
	b.made[g.path] = g
	return b.bind(source, g.path, !g.write)
}

// link makes a link where the machine has one on the way to what is granted.
func (b *builder) link(g grant) error {
	rel := g.path[1:]
	if _, err := b.root.Lstat(rel); err == nil {
		return nil // its surroundings show it
	}
	if err := b.root.MkdirAll(filepath.Dir(rel), 0o755); err != nil {
		return err
	}
	target, err := filepath.Rel(filepath.Dir(g.path), g.real) // so that it leads nowhere but into the root
	if err != nil {
		return err
	}
	return b.root.Symlink(target, rel)
}

// around is the innermost mount in which a path lies.
func (b *builder) around(path string) grant {
	for dir := filepath.Dir(path); dir != "/" && dir != "."; dir = filepath.Dir(dir) {
		if g, ok := b.made[dir]; ok {
			return g
		}
	}
	return grant{}
}

func (b *builder) isOwn(g grant) bool { return within(g.real, b.p.Private) }

// bind mounts what source is open on.
func (b *builder) bind(source int, path string, readOnly bool) error {
	var info unix.Stat_t
	if err := unix.Fstat(source, &info); err != nil {
		return err
	}
	target, err := b.target(path, info.Mode&unix.S_IFMT == unix.S_IFDIR)
	if err != nil {
		return err
	}
	err = unix.Mount(fdPath(source), fdPath(target), "", unix.MS_BIND|unix.MS_REC, "")
	unix.Close(target)
	if err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	mounted, err := b.open(path) // what is there now
	if err != nil {
		return err
	}
	defer unix.Close(mounted)
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID}
	if readOnly {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	if err := unix.MountSetattr(mounted, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		return fmt.Errorf("mount it read-only: %w", err)
	}
	return nil
}

// target opens the place of a mount, and makes it where it is not there.
func (b *builder) target(path string, dir bool) (int, error) {
	rel := strings.TrimPrefix(path, "/")
	if fd, err := b.open(path); err == nil {
		return fd, nil
	}
	var err error
	if dir {
		err = b.root.MkdirAll(rel, 0o755)
	} else if err = b.root.MkdirAll(filepath.Dir(rel), 0o755); err == nil {
		var f *os.File
		if f, err = b.root.OpenFile(rel, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
			err = f.Close()
		}
	}
	if err != nil {
		return -1, fault.Hintf(fault.Errorf(fault.Denied, "%w (is a link in its way?)", err), "look at it in %s, the agent's own home", b.p.home())
	}
	return b.open(path)
}

// open opens a path of the new root. A link in it may be one of the agent's:
// none is followed.
func (b *builder) open(path string) (int, error) {
	root, err := unix.Open(b.path, unix.O_PATH|unix.O_CLOEXEC|unix.O_DIRECTORY, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(root)
	fd, err := unix.Openat2(root, strings.TrimPrefix(path, "/"), &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
	if errors.Is(err, unix.ELOOP) {
		err = fault.Errorf(fault.Denied, "a link is in its way")
	}
	return fd, err
}

func fdPath(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }

// protect mounts what must stay as it is over itself. The directories on the way
// are mounted over themselves, too: what is a mount cannot be moved away.
func (b *builder) protect() error {
	protect, keep, err := b.p.protected()
	if err != nil {
		return err
	}
	for _, path := range withTargets(append(protect, keep...)) {
		dir := strings.HasSuffix(path, "/")
		path = filepath.Clean(path)
		around, ok := b.made[path]
		if !ok {
			around = b.around(path)
		}
		if !around.write || around.path == path || b.isOwn(around) {
			continue // it is not there, or is only read already
		}
		if err := b.protectOne(around, path, dir); err != nil {
			return fmt.Errorf("protect %s: %w", path, err)
		}
	}
	return nil
}

// withTargets adds where paths lead: of what is granted by a link, that is
// mounted.
func withTargets(paths []string) []string {
	var all []string
	for _, path := range paths {
		all = append(all, path)
		if real := realPath(path); real != filepath.Clean(path) {
			if strings.HasSuffix(path, "/") {
				real += "/"
			}
			all = append(all, real)
		}
	}
	return all
}

// pin mounts over itself what lies in the agent's own directories on the way to
// a path. Landlock adds up the rights of the directories above: no process of
// the agent may move it into one in which links can be made.
func (b *builder) pin(path string) error {
	for _, own := range []string{"/tmp", "/var/tmp", b.p.Home} {
		if own == "" || !below(path, own) {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(path, strings.TrimSuffix(own, "/")+"/"), "/")
		first := filepath.Join(own, name)
		if _, ok := b.made[first]; ok {
			continue // it is a mount
		}
		source, err := b.open(first)
		if err != nil {
			return err
		}
		err = b.bind(source, first, false)
		unix.Close(source)
		if err != nil {
			return err
		}
		b.made[first] = grant{path: first, write: true}
	}
	return nil
}

func (b *builder) protectOne(around grant, path string, dir bool) error {
	if _, err := b.open(path); err != nil {
		if !errors.Is(err, unix.ENOENT) {
			return err
		}
		if err := makeMissing(around, path, dir); err != nil {
			return err
		}
	}
	for _, above := range append(between(path, around.path), path) {
		if g, ok := b.made[above]; ok && (above != path || !g.write) {
			continue
		}
		source, err := b.open(above)
		if err != nil {
			return err
		}
		err = b.bind(source, above, above == path)
		unix.Close(source)
		if err != nil {
			return err
		}
		b.made[above] = grant{path: above, real: filepath.Join(around.real, strings.TrimPrefix(above, around.path)), write: above != path}
	}
	return nil
}

// makeMissing makes an empty directory or file, or settings without any, so that
// the agent cannot.
func makeMissing(around grant, path string, dir bool) error {
	root, err := os.OpenRoot(around.real)
	if err != nil {
		return err
	}
	defer root.Close() // Best effort: what is written is closed.
	rel := strings.TrimPrefix(strings.TrimPrefix(path, around.path), "/")
	if dir {
		return root.MkdirAll(rel, 0o755)
	}
	text := ""
	if strings.HasSuffix(rel, ".json") {
		text = "{}\n"
	}
	return root.WriteFile(rel, []byte(text), 0o600)
}

// between lists the directories from below top down to the one of path.
func between(path, top string) []string {
	var all []string
	for dir := filepath.Dir(path); below(dir, top); dir = filepath.Dir(dir) {
		all = append([]string{dir}, all...)
	}
	return all
}

// devices makes a /dev of its own, with new terminals.
func (b *builder) devices() error {
	for _, dir := range []string{"dev/pts", "dev/shm"} {
		if err := b.root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	for _, path := range devices {
		source, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		target, err := b.target(path, false)
		if err == nil {
			err = unix.Mount(fdPath(source), fdPath(target), "", unix.MS_BIND, "")
			unix.Close(target)
		}
		unix.Close(source)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	if err := unix.Mount("devpts", filepath.Join(b.path, "dev/pts"), "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620"); err != nil {
		return fmt.Errorf("mount terminals: %w", err)
	}
	if err := unix.Mount("tmpfs", filepath.Join(b.path, "dev/shm"), "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777"); err != nil {
		return fmt.Errorf("mount shared memory: %w", err)
	}
	for link, target := range map[string]string{"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"} {
		if err := b.root.Symlink(target, "dev/"+link); err != nil {
			return err
		}
	}
	return nil
}

// pivot makes the new root the root. The machine's is gone then.
func (b *builder) pivot() error {
	if err := unix.MountSetattr(unix.AT_FDCWD, b.path, 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return fmt.Errorf("keep the root as it is: %w", err)
	}
	if err := b.root.Close(); err != nil {
		return err
	}
	if err := unix.Chdir(b.path); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("change the root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the old root: %w", err)
	}
	return unix.Chdir("/")
}

// raiseLoopback brings up the loopback of a new network namespace.
func raiseLoopback() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, request)
}
