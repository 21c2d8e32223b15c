package sandbox

import (
	"os"
	"strings"

	"den/internal/fault"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// Rights beyond those of the library's own sets. Devices cannot be made.
const (
	makes      = ll.AccessFSMakeDir | ll.AccessFSMakeReg | ll.AccessFSMakeSock | ll.AccessFSMakeFifo | ll.AccessFSMakeSym | ll.AccessFSRemoveDir | ll.AccessFSRemoveFile | ll.AccessFSRefer
	readsFile  = ll.AccessFSExecute | ll.AccessFSReadFile
	writesFile = readsFile | ll.AccessFSWriteFile | ll.AccessFSTruncate
	readsDir   = readsFile | ll.AccessFSReadDir
	writesDir  = readsDir | writesFile | makes | ll.AccessFSResolveUnix
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
		for _, path := range []string{"/tmp", "/var/tmp", "/dev/shm", p.Home} {
			r.add(path, writesDir)
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
