package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"den/internal/base/fault"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Rights beyond those of the library's own sets. Devices cannot be made.
const (
	makes      = ll.AccessFSMakeDir | ll.AccessFSMakeReg | ll.AccessFSMakeSock | ll.AccessFSMakeFifo | ll.AccessFSMakeSym | ll.AccessFSRemoveDir | ll.AccessFSRemoveFile | ll.AccessFSRefer
	readsFile  = ll.AccessFSExecute | ll.AccessFSReadFile
	writesFile = readsFile | ll.AccessFSWriteFile | ll.AccessFSTruncate
	readsDir   = readsFile | ll.AccessFSReadDir
	writesDir  = readsDir | writesFile | makes | ll.AccessFSResolveUnix
	// writesPlain has no right to bring in what was made elsewhere (refer): a
	// directory that is moved keeps the links in it.
	writesPlain = readsDir | writesFile | ll.AccessFSMakeDir | ll.AccessFSMakeReg | ll.AccessFSRemoveDir | ll.AccessFSRemoveFile
)

// devices are what programs open of /dev. Terminals come besides.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}

// landlock gives up every file that is not granted, and every process outside.
func (p Policy) landlock(grants []grant) error {
	handled := landlock.AccessFSSet(1<<13 - 1)
	for abi, right := range map[int]landlock.AccessFSSet{2: ll.AccessFSRefer, abiTruncate: ll.AccessFSTruncate, 5: ll.AccessFSIoctlDev, abiSockets: ll.AccessFSResolveUnix} {
		if p.Held.Landlock >= abi {
			handled |= right
		}
	}
	config := landlock.Config{HandledAccessFS: handled}
	if p.Held.Landlock >= abiScopes {
		config.Scoped = ll.ScopeAbstractUnixSocket | ll.ScopeSignal
	}
	r := rules{handled: handled}
	for _, g := range grants {
		switch {
		case g.names:
			r.add(g.real, ll.AccessFSReadDir)
		case g.plain:
			r.add(g.real, writesPlain)
		case g.write:
			r.add(g.real, writesDir)
		default:
			r.add(g.real, readsDir)
		}
	}
	for _, socket := range p.Sockets {
		r.add(socket, ll.AccessFSResolveUnix|ll.AccessFSWriteFile|ll.AccessFSReadFile)
	}
	for _, path := range devices {
		r.add(path, ll.AccessFSReadFile|ll.AccessFSWriteFile|ll.AccessFSIoctlDev)
	}
	if p.Held.Hides() {
		// Everything that is there may be seen.
		r.add("/", ll.AccessFSReadDir)
		r.add("/dev/pts", ll.AccessFSReadDir|ll.AccessFSReadFile|ll.AccessFSWriteFile|ll.AccessFSIoctlDev)
		plain := plainPaths(grants)
		r.addOwn(plain, "/dev/shm")
		r.addOwn(plain, "/tmp", "/var/tmp") // one directory
		if p.Home != "" {
			r.addOwn(plain, p.Home)
		}
	} else {
		r.add(p.tmp(), writesDir)
		r.add(p.home(), writesDir)
		if tty, err := os.Readlink("/proc/self/fd/0"); err == nil && strings.HasPrefix(tty, "/dev/pts/") {
			r.add(tty, ll.AccessFSReadFile|ll.AccessFSWriteFile|ll.AccessFSIoctlDev)
		}
	}
	if err := config.Restrict(r.all...); err != nil {
		return fault.Errorf(fault.Internal, "restrict files: %w", err)
	}
	return nil
}

// rules collects what a kernel is told.
type rules struct {
	handled landlock.AccessFSSet
	all     []landlock.Rule
}

// add grants rights to a path that is there, as far as they can be held. Those
// of directories are not for files.
func (r *rules) add(path string, rights landlock.AccessFSSet) {
	info, err := os.Stat(path)
	if path == "" || err != nil {
		return
	}
	if !info.IsDir() {
		rights &= writesFile | ll.AccessFSIoctlDev | ll.AccessFSResolveUnix
	}
	if rights &= r.handled; rights != 0 {
		r.all = append(r.all, landlock.PathAccess(rights, path))
	}
}

// addOwn grants a directory of the agent's own, by all of its names. What is
// granted there is granted for all that is mounted below, so where that has a
// plain path the right to make links is left to the directories that are there
// now, except the one on the way to it, which is pinned.
func (r *rules) addOwn(plain []string, names ...string) {
	leads := func(name string) bool {
		return slices.ContainsFunc(plain, func(path string) bool {
			return slices.ContainsFunc(names, func(dir string) bool { return within(path, filepath.Join(dir, name)) })
		})
	}
	if !leads("") {
		r.add(names[0], writesDir)
		return
	}
	r.add(names[0], writesDir&^ll.AccessFSMakeSym)
	entries, _ := os.ReadDir(names[0]) // Best effort: without them there are fewer links.
	for _, e := range entries {
		if leads(e.Name()) {
			continue
		}
		// It stays open until the command starts: the agent may put something else in its place.
		if fd, err := unix.Open(filepath.Join(names[0], e.Name()), unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_DIRECTORY, 0); err == nil {
			r.add(fdPath(fd), ll.AccessFSMakeSym)
		}
	}
}
