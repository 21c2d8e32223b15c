package home

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"den/internal/base/fault"
	"den/internal/base/filelock"
	"den/internal/base/ident"
	"den/internal/process/tree"
	"golang.org/x/sys/unix"
)

// Elsewhere runs den where this process cannot fork it but shares files and
// sockets: in a container.
type Elsewhere interface {
	// Run runs den with p.Args and p.Env. It returns when den has exited, with
	// an error that says how, or when the context is done. p.Dir.Path and
	// p.RunDir must be visible there under the same paths.
	Run(ctx context.Context, p Place) error
	// Discard stops what Run started, and returns when it is gone.
	Discard(p Place) error
}

// Place describes what a host that runs elsewhere needs.
type Place struct {
	Dir    Dir
	RunDir string   // holds this session's sockets and no other's; may be Dir
	Args   []string // of den
	Env    []string // on top of what there is
}

// CheckSocket refuses a recorded socket that cannot be the session's own: see
// CheckRunPath. That of a host that runs elsewhere is in the session's directory,
// or in a directory of its own with such a name.
func (d Dir) CheckSocket(path string) error {
	if dir, name := filepath.Split(path); name == hostSocket {
		if path == filepath.Join(d.Path, hostSocket) {
			return nil
		}
		path = filepath.Clean(dir)
	}
	return CheckRunPath(path)
}

// FromFlag is the argument of a host that takes its session from a socket.
const FromFlag = "--from"

// CreateElsewhere is Create for a host that e runs. The program's environment
// is that of den there, with spec.Env added.
func (h Home) CreateElsewhere(ctx context.Context, spec Spec, e Elsewhere) (Dir, *Manifest, error) {
	place := func(home Home, id string, getenv func(string) string) (string, error) {
		return ownSocketPath(home.Dir(id), spec.Sockets, getenv)
	}
	return h.create(spec, place, func(d Dir, socket string, boot Bootstrap, lock *os.File) error {
		boot.Inherit = true
		p := Place{
			Dir: d, RunDir: filepath.Dir(socket), Env: []string{HostMark + "=" + d.ID},
			Args: []string{"host", spec.Name, d.ID, FromFlag, filepath.Join(filepath.Dir(socket), bootSocket)},
		}
		if p.RunDir != d.Path {
			if err := os.Mkdir(p.RunDir, 0o700); err != nil {
				return fault.Errorf(fault.KindOf(err), "create run directory: %w", err)
			}
		}
		if err := d.launchElsewhere(ctx, p, e, boot, lock); err != nil {
			return errors.Join(err, e.Discard(p), d.RemoveRunDir(), d.RemoveSockets(spec.Sockets))
		}
		return nil
	})
}

// Sockets of a host that runs elsewhere. They are in the session's own
// directory or, if that path is too long, in a run directory used by no other
// session: the host must not see the sockets of others.
const (
	hostSocket = "s"
	bootSocket = "boot"
)

func ownSocketPath(d Dir, shared string, getenv func(string) string) (string, error) {
	if len(filepath.Join(d.Path, bootSocket)) < maxSocketPath {
		return filepath.Join(d.Path, hostSocket), nil
	}
	dir := d.socketsIn(shared)
	if shared == "" {
		var err error
		if dir, err = socketPath(d.Home, d.ID, getenv); err != nil {
			return "", err
		}
	}
	if longest := filepath.Join(dir, bootSocket); len(longest) >= maxSocketPath {
		return "", fault.Hintf(fault.Errorf(fault.Usage, "socket path %s is %d bytes long; the system's limit is %d", longest, len(longest), maxSocketPath-1),
			"name a short directory of your own with DEN_RUN_DIR")
	}
	return filepath.Join(dir, hostSocket), nil
}

// socketsIn is the directory of the session's sockets in one that its place
// shares. Its name is as those in a run directory: see CheckRunPath.
func (d Dir) socketsIn(shared string) string {
	return filepath.Join(shared, RunName(socketKey(d.Home, d.ID)))
}

// RemoveSockets removes what a session that is over has in the directory that
// its Spec named as Sockets, if any.
func (d Dir) RemoveSockets(shared string) error {
	if shared == "" {
		return nil
	}
	if err := os.RemoveAll(d.socketsIn(shared)); err != nil {
		return fault.Errorf(fault.KindOf(err), "remove the directory of its sockets: %w", err)
	}
	return nil
}

// RemoveRunDir removes the run directory, if any, of a session that ran
// elsewhere and is over. Its path is computed: the record may have been written
// by the program in the container.
func (d Dir) RemoveRunDir() error {
	var errs []error
	for _, dir := range leftInRunDirs(socketKey(d.Home, d.ID), os.Getenv) {
		if fi, err := os.Lstat(dir); err != nil || !fi.IsDir() {
			continue // there is none, or it is the socket of a host of this machine
		}
		if err := os.RemoveAll(dir); err != nil {
			errs = append(errs, fault.Errorf(fault.KindOf(err), "remove run directory: %w", err))
		}
	}
	return errors.Join(errs...)
}

// hostReply is a new host's answer to its creator.
type hostReply struct {
	ready Ready
	err   error // no answer, or an incomplete one
}

// launchElsewhere runs the host by e and hands the session over to it.
func (d Dir) launchElsewhere(ctx context.Context, p Place, e Elsewhere, boot Bootstrap, lock *os.File) error {
	stderr, err := os.OpenFile(d.HostLog(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fault.Errorf(fault.Storage, "start host: %w", err)
	}
	defer stderr.Close()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(p.RunDir, bootSocket), Net: "unix"})
	if err != nil {
		return fmt.Errorf("start host: %w", err)
	}
	defer l.Close()
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	ended, replied := make(chan error, 1), make(chan hostReply, 1) // room for the only value of each
	go func() { ended <- e.Run(running, p) }()
	go func() { replied <- handOver(running, l, boot, lock, stderr) }()
	var w hostReply
	var end error
	select {
	case w = <-replied:
		cancel()
		end = <-ended
	case end = <-ended:
		// It may have replied and ended: a short program.
		l.Close()
		w = <-replied
	}
	switch {
	case w.err == nil && w.ready.Error != nil:
		return w.ready.Error.Err()
	case w.err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("start host: %w", ctx.Err())
	case end != nil && !errors.Is(end, context.Canceled):
		return fmt.Errorf("start host: %w", end)
	}
	return fault.Errorf(fault.Internal, "start host: it ended before it was ready: %w: %s", w.err, tree.LogTail(d.HostLog()))
}

// handOver hands the session over to the first host that connects, and returns
// its reply.
func handOver(ctx context.Context, l *net.UnixListener, boot Bootstrap, lock, words *os.File) hostReply {
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	conn, err := l.AcceptUnix()
	if err != nil {
		return hostReply{err: err}
	}
	defer conn.Close()
	l.Close() // Best effort: nobody else is to call, least of all the program.
	stopConn := context.AfterFunc(ctx, func() { conn.Close() })
	defer stopConn()
	if err := sendFiles(conn, lock, words); err != nil {
		return hostReply{err: err}
	}
	// Its PID inside the container may differ. Later searches for its
	// processes start from here.
	if boot.HostPID, err = peerPID(conn); err != nil {
		return hostReply{err: err}
	}
	if err := json.NewEncoder(conn).Encode(boot); err != nil {
		return hostReply{err: err}
	}
	var w hostReply
	w.err = json.NewDecoder(conn).Decode(&w.ready)
	return w
}

// A lock belongs to an open file description, which can be sent over a socket.
// A host in a container thereby holds the same lock that its creator took,
// without a gap.

// sendFiles sends the lock and the host's log file, attached to one byte.
func sendFiles(conn *net.UnixConn, lock, words *os.File) error {
	rights := unix.UnixRights(int(lock.Fd()), int(words.Fd()))
	if _, _, err := conn.WriteMsgUnix([]byte{0}, rights, nil); err != nil {
		return fmt.Errorf("send the session's lock: %w", err)
	}
	return nil
}

// ReceiveFiles receives what the creator of a session sends to a host that is
// not its child: the session's held lock, and the host's log file.
func ReceiveFiles(conn *net.UnixConn) (lock, words *os.File, err error) {
	oob := make([]byte, unix.CmsgSpace(2*4))
	_, n, _, _, err := conn.ReadMsgUnix(make([]byte, 1), oob)
	if err != nil {
		return nil, nil, fault.Errorf(fault.Unreachable, "take the session's lock: %w", err)
	}
	fds, err := descriptors(oob[:n])
	if err != nil {
		return nil, nil, fault.Errorf(fault.Protocol, "take the session's lock: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "lock"), os.NewFile(uintptr(fds[1]), "host.log"), nil
}

func descriptors(oob []byte) ([]int, error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	var fds []int
	for _, m := range messages {
		rights, err := unix.ParseUnixRights(&m)
		if err != nil {
			return nil, err
		}
		fds = append(fds, rights...)
	}
	for _, fd := range fds {
		unix.CloseOnExec(fd)
	}
	if len(fds) != 2 {
		return nil, fmt.Errorf("%d descriptors came, 2 were expected", len(fds))
	}
	return fds, nil
}

// Adopted is the directory of a session whose host runs on another machine,
// while this process stands in for the host: it holds the session's lock, copies
// its log and serves its socket. When it lets go of the lock without closing the
// record, the session counts as lost until somebody adopts it again.
type Adopted struct {
	Dir    Dir
	Record *Manifest // as it is here
	lock   *os.File
}

// Adopt makes the directory of a session with this record, or takes over the one
// that is there, and gives it its name unless a newer session has that. It waits
// while another process stands in. A session whose record is closed here is
// fault.NotRunning.
func (h Home) Adopt(ctx context.Context, remote *Manifest) (*Adopted, error) {
	if !ident.IsID(remote.ID) {
		return nil, fault.Errorf(fault.Usage, "adopt session %q: that is no id", remote.ID)
	}
	if err := ident.Check("session", remote.Name); err != nil {
		return nil, err
	}
	if err := h.makeDirs(); err != nil {
		return nil, err
	}
	d := h.Dir(remote.ID)
	if err := os.MkdirAll(d.Log(), 0o700); err != nil {
		return nil, fault.Errorf(fault.KindOf(err), "create session directory: %w", err)
	}
	lock, err := filelock.Wait(ctx, d.lock())
	if err != nil {
		return nil, fmt.Errorf("adopt session '%s': %w", d.ID, err)
	}
	a := &Adopted{Dir: d, lock: lock}
	if err := a.begin(remote); err != nil {
		lock.Close() // Best effort: nothing was written to it.
		return nil, err
	}
	return a, nil
}

func (a *Adopted) begin(remote *Manifest) error {
	d := a.Dir
	if old, err := d.Load(); err == nil && old.Status.Final() && old.Status != Lost {
		return fault.Errorf(fault.NotRunning, "session '%s' is %s", old.Name, old.Ending())
	}
	socket, err := socketPath(d.Home, d.ID, os.Getenv)
	if err != nil {
		return err
	}
	a.Record = d.localRecord(remote)
	a.Record.Status, a.Record.Socket = Running, socket
	if err := d.Save(a.Record); err != nil {
		return err
	}
	return d.Home.nameAdopted(a.Record.Name, d)
}

// localRecord is a record of another machine without what has a meaning only
// there: processes and paths of theirs must not be taken for ones of ours.
func (d Dir) localRecord(remote *Manifest) *Manifest {
	m := *remote
	m.raw = nil
	m.PID, m.HostPID, m.Cgroup, m.Socket = 0, 0, "", ""
	return &m
}

// nameAdopted makes names/NAME point to d, unless it points to a newer session.
func (h Home) nameAdopted(name string, d Dir) error {
	link := filepath.Join(h.namesDir(), name)
	lock, err := h.lockNames()
	if err != nil {
		return fault.Errorf(fault.Storage, "claim session name '%s': %w", name, err)
	}
	defer lock.Close() // Best effort: nothing was written.
	old, err := os.Readlink(link)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.Errorf(fault.Storage, "claim session name '%s': %w", name, err)
	}
	if err == nil && filepath.Base(old) >= d.ID { // ids sort by time
		return nil
	}
	if err := relink(filepath.Join("..", "sessions", d.ID), link); err != nil {
		return fault.Errorf(fault.Storage, "claim session name '%s': %w", name, err)
	}
	return nil
}

// Note writes what its host has noted of the program.
func (a *Adopted) Note(n *Noted) error {
	m := *a.Record
	m.Noted = n
	if err := a.Dir.Save(&m); err != nil {
		return err
	}
	a.Record = &m
	return nil
}

// Close writes how the session ended, and lets go.
func (a *Adopted) Close(end *Manifest) error {
	m := a.Dir.localRecord(end)
	err := a.Dir.Save(m)
	return errors.Join(err, a.Leave())
}

// Leave lets go of a session that goes on.
func (a *Adopted) Leave() error { return a.lock.Close() }
