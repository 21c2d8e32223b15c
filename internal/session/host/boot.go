package host

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/base/ident"
	"den/internal/base/rpc"
	"den/internal/base/wake"
	"den/internal/process/pty"
	"den/internal/process/tree"
	"den/internal/screen/eventlog"
	"den/internal/screen/vt"
	"den/internal/session/cell"
	"den/internal/session/home"
	"den/internal/session/wire"

	"golang.org/x/sys/unix"
)

// Main runs the host process. It reads its bootstrap from stdin, starts the
// program, reports on stdout that it is ready, and serves until the session is
// over.
func Main(ctx context.Context, version string, stdin io.Reader, stdout io.WriteCloser) error {
	configureProcess()
	unix.CloseOnExec(home.LockFD)
	lock := os.NewFile(home.LockFD, "lock")
	return run(ctx, version, stdin, stdout, lock, func() { tree.LetGo(stdout) })
}

// run boots the host, replies to the creator, detaches from it and serves.
func run(ctx context.Context, version string, stdin io.Reader, stdout io.Writer, lock *os.File, letGo func()) error {
	h, err := boot(version, stdin, lock)
	ready := home.Ready{}
	if err != nil {
		ready.Error = rpc.FromError(err)
	}
	if werr := json.NewEncoder(stdout).Encode(ready); werr != nil && err == nil {
		log.Printf("tell the creator: %v", werr) // it went away; the session lives on
	}
	if err != nil {
		return err
	}
	letGo()
	return h.serve(ctx)
}

// configureProcess sets up this process as a host: one thread, little memory,
// private files.
func configureProcess() {
	log.SetFlags(log.LstdFlags | log.LUTC | log.Lmsgprefix)
	log.SetPrefix("host: ")
	debug.SetGCPercent(50)
	runtime.GOMAXPROCS(1) // as tree.Single, which not every starter sets
	callersUmask = unix.Umask(0o077)
}

// callersUmask is of the files that the program makes; set once, before it is
// started. The host's own are private.
var callersUmask int

// boot takes over the session from its creator and starts the program.
func boot(version string, stdin io.Reader, lock *os.File) (*Host, error) {
	var b home.Bootstrap
	if err := json.NewDecoder(stdin).Decode(&b); err != nil {
		return nil, fault.Errorf(fault.Protocol, "read bootstrap: %w", err)
	}
	if b.V != home.BootstrapVersion {
		return nil, fault.Errorf(fault.Protocol, "bootstrap has version %d, this den knows %d", b.V, home.BootstrapVersion)
	}
	if b.Inherit {
		b.Env = append(inheritable(os.Environ()), b.Env...)
	}
	h := newHost(b.Home.Dir(b.ID), version)
	h.asked = tree.CatchSignals()
	h.lock = lock
	h.syncAlways = b.SyncAlways
	m, err := h.dir.Load()
	if err != nil {
		return nil, err
	}
	h.record = m
	if err := tree.BecomeSubreaper(); err != nil {
		return nil, err // without it, not all processes could be ended
	}
	if err := h.begin(b.Env, b.HostPID); err != nil {
		return nil, err
	}
	return h, nil
}

// maxStart bounds what is taken for the time that a host took to start: the clock
// of its creator may be another one, or was set since.
const maxStart = time.Minute

// sinceCreated is how long ago the session was created. The log's times count
// from then, so that events of several sessions can be put in order.
func sinceCreated(now, created time.Time) time.Duration {
	if took := now.Round(0).Sub(created); took > 0 && took < maxStart {
		return took
	}
	return 0
}

func newHost(dir home.Dir, version string) *Host {
	return &Host{
		dir: dir, version: version,
		killing: make(chan struct{}), upgrading: make(chan struct{}), ending: make(chan struct{}), stopCells: make(chan struct{}),
	}
}

// begin opens the terminal, the log and the socket, and starts the program
// last, when nothing else can fail. hostPID is the host's process ID as seen
// from outside its container, or 0 if that is its own.
func (h *Host) begin(env []string, hostPID int) error {
	m := h.record
	tty, err := pty.Open(sizeOf(m.Cols, m.Rows))
	if err != nil {
		return err
	}
	h.tty = tty
	start := time.Now()
	before := sinceCreated(start, m.Created)
	clock := func() time.Duration { return before + time.Since(start) }
	if err := h.open(clock, eventlog.Position{}, newTerminal(m, h.version)); err != nil {
		return err
	}
	listener, err := rpc.Listen(m.Socket)
	if err != nil {
		return err
	}
	h.server = h.newServer(listener)
	argv, env := h.integrate(m.Command, env)
	var cgroup tree.Cgroup
	if hostPID == 0 { // elsewhere, the place is a cgroup already
		hostPID = os.Getpid()
		if mark, err := h.dir.Mark(); err == nil {
			cgroup = tree.NewCgroup(mark)
		}
	}
	pid, err := h.start(pty.Command{Argv: argv, Env: env, Dir: m.Cwd}, cgroup)
	if err != nil {
		cgroup.Remove()
		listener.Close()
		return err
	}
	h.record.Cgroup = cgroup.Path
	h.adopt(pid)
	h.advance(home.Running, func(m *home.Manifest) {
		m.PID, m.HostPID, m.Host = pid, hostPID, h.version
		m.Noted = &home.Noted{} // its end is news from now on
	})
	return nil
}

// start starts the program in the session's cgroup.
func (h *Host) start(c pty.Command, cgroup tree.Cgroup) (pid int, err error) {
	if c.Cgroup, err = cgroup.Open(); err != nil {
		log.Print(err) // its processes are found by scanning then
	}
	if c.Cgroup != nil {
		defer c.Cgroup.Close()
	}
	defer unix.Umask(unix.Umask(callersUmask))
	return h.tty.Start(c)
}

// integrate makes a shell print marks around prompts and commands. A shell
// without support is started unchanged: the end of its cells is detected by
// other means.
func (h *Host) integrate(argv, env []string) (newArgv, newEnv []string) {
	token := ident.New(time.Now())
	in, err := cell.Integrate(argv, env, h.dir.ShellFiles(), token)
	if err != nil {
		log.Printf("integrate shell: %v", err)
		return argv, env
	}
	if in.Shell != "" {
		h.core.shell.Token, h.core.shell.Silent, h.core.shell.Plain = token, in.Shell == "sh", in.NoEditor
	}
	return in.Argv, in.Env
}

func newTerminal(m *home.Manifest, version string) *vt.Terminal {
	return vt.New(vt.Config{Cols: m.Cols, Rows: m.Rows, Scrollback: Scrollback, Version: version})
}

// open creates the log, or continues it after an upgrade.
func (h *Host) open(clock func() time.Duration, after eventlog.Position, term *vt.Terminal) error {
	m := h.record
	sync := eventlog.SyncRotate
	if h.syncAlways {
		sync = eventlog.SyncAlways
	}
	c := &core{
		clock: clock, term: term, tty: h.tty,
		waiters: map[*waiter]struct{}{}, followers: map[*follower]struct{}{}, logNews: map[wake.Signal]struct{}{},
		rest: tree.NewActivity(), moved: wake.New(), paused: wake.New(), held: wake.New(), editor: cell.EditorOf(m.Command[0]),
	}
	w, err := eventlog.Create(h.dir.Log(), eventlog.Options{
		Header:     eventlog.Header{Cols: m.Cols, Rows: m.Rows, Term: m.Term, Title: m.Name, Command: strings.Join(m.Command, " ")},
		LimitBytes: m.LogLimit,
		Sync:       sync,
		Clock:      clock,
		Now:        time.Now,
		Repaint:    func() []byte { return c.term.Dump() },
		After:      after,
	})
	if err != nil {
		return fmt.Errorf("begin event log: %w", err)
	}
	c.log = w
	h.core = c
	h.sizes.setOwn(wire.Resize{Cols: m.Cols, Rows: m.Rows})
	return nil
}

// cgroup returns the cgroup in which the program was started, or the zero
// value. After an upgrade the record was read from a file, so it is checked.
func (h *Host) cgroup() tree.Cgroup {
	c := tree.Cgroup{Path: h.record.Cgroup}
	if mark, err := h.dir.Mark(); err != nil || !c.Belongs(mark) {
		return tree.Cgroup{}
	}
	return c
}

// adopt takes charge of the program.
func (h *Host) adopt(pid int) {
	h.tree, h.closed = tree.Adopt(pid, h.cgroup()), make(chan struct{})
	h.input = newInputQueue(h.tty)
	h.tty.SetRoot(pid, os.Getpid())
	h.cells = &cells{
		h: h, store: cell.Store{Dir: h.dir.Cells()}, interrupting: wake.New(),
		program: cell.Program{KeepsRefused: cell.KeepsRefused(h.record.Command[0]), NoInner: h.record.Marks == home.MarksOff},
	}
	if p := h.record.Prompt; filepath.IsAbs(p) { // 'den new' made it so
		h.cells.hook, h.cells.program.Hook = p, true
	} else {
		h.cells.program.Prompt = strings.TrimRight(p, " ")
	}
}

// MainFrom is Main for a host that is not a child of its creator, such as one
// in a container. Bootstrap, reply and the descriptors that a child would
// inherit are passed over the creator's socket.
func MainFrom(ctx context.Context, version, socket string) error {
	configureProcess()
	conn, lock, err := takeOver(socket)
	if err != nil {
		return err
	}
	return run(ctx, version, conn, conn, lock, func() {
		conn.Close() // Best effort: the creator has had its word.
		tree.LetGo(os.Stdout)
	})
}

// takeOver connects to the creator and receives the session's lock, which is
// never released in between, and the file for this process's log.
func takeOver(socket string) (*net.UnixConn, *os.File, error) {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return nil, nil, fault.Errorf(fault.Unreachable, "reach the creator: %w", err)
	}
	lock, words, err := home.ReceiveFiles(conn)
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	defer words.Close()
	if err := unix.Dup2(int(words.Fd()), 2); err != nil {
		log.Printf("write to the session's host.log: %v", err) // then they stay here
	}
	return conn, lock, nil
}

// inheritable returns environ without the variables that mark a host.
func inheritable(environ []string) []string {
	var env []string
	for _, kv := range environ {
		if !strings.HasPrefix(kv, home.HostMark+"=") {
			env = append(env, kv)
		}
	}
	return env
}
