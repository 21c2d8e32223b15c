package shim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/place/provider/procname"
	"den/internal/process/pty"
	"den/internal/process/tree"

	"golang.org/x/sys/unix"
)

// drainLimit is how long to wait at the end for output that somebody outside
// the tree holds open.
const drainLimit = time.Second

// restAfter is how long a session must be silent before its shim gives memory
// back. Most sessions are silent most of the time.
const restAfter = 2 * time.Second

// shim is one session's process.
type shim struct {
	version  string
	boot     *Bootstrap
	dir      Dir
	lock     *os.File // held until the process ends, never closed
	listener *net.UnixListener
	tree     *tree.Tree
	input    *input
	output   *output
	out      *os.File // the shim's end of the command's output
	activity *tree.Activity
	asked    <-chan os.Signal // SIGTERM and SIGINT
	closed   chan struct{}    // closed when all about the end is on disk
}

// serve runs the session to its end. It owns every goroutine that it starts:
// when it returns, none is left.
func (s *shim) serve(ctx context.Context) error {
	stop := make(chan struct{})
	var workers, serving, reading sync.WaitGroup
	workers.Go(func() { s.tree.Reap(stop) })
	workers.Go(s.input.run)
	serving.Go(func() { newServer(s).Serve(ctx, s.listener) })
	workers.Go(func() { s.endOnSignal(stop) })
	workers.Go(func() { s.activity.Rest(stop, restAfter, nil, s.lock, s.endDeleted) })
	reading.Go(func() { s.output.read(s.out) })

	<-s.tree.Ended()
	err := s.finish(&reading)
	close(s.closed)
	s.listener.Close() // Best effort; it also removes the socket's file.
	serving.Wait()     // clients may take their last answers
	close(stop)
	workers.Wait()
	return err
}

// finish writes down how it ended, ends what is left of the tree, and writes
// the last text.
func (s *shim) finish(reading *sync.WaitGroup) error {
	exit := s.tree.Exit()
	end := &End{ID: s.boot.ID, At: exit.At.UTC().Round(0), Code: exit.Code, Signal: exit.Signal, Active: s.output.lastActive().UTC().Round(0)}
	if err := s.dir.saveEnd(end); err != nil {
		log.Print(err) // tried again below
	}
	s.input.close()
	_, ended := s.tree.End(s.boot.Grace, tree.Terminate)
	if ended != nil {
		log.Print(ended)
	}
	// Nobody of the tree can write any more, so the end of the output is near.
	giveUp := time.AfterFunc(drainLimit, func() {
		s.out.SetReadDeadline(time.Now()) // Best effort: the process's end closes it.
	})
	reading.Wait()
	giveUp.Stop()
	if err := s.output.finish(); err != nil {
		return fmt.Errorf("write the last text: %w", err)
	}
	s.boot.cgroup().Remove()
	end.Active, end.Closed = s.output.lastActive().UTC().Round(0), ended == nil
	return s.dir.saveEnd(end)
}

// stop ends the session for a caller, and returns when all about it is on
// disk.
func (s *shim) stop(grace time.Duration) error {
	s.input.close() // to a program on pipes, this is the hang-up
	if _, err := s.tree.End(grace, tree.Terminate); err != nil {
		return err
	}
	<-s.closed
	return nil
}

// endDeleted ends a session whose files were deleted: nobody can find it any
// more.
func (s *shim) endDeleted() {
	log.Printf("end session '%s': its files were deleted", s.boot.Name)
	if err := s.stop(s.boot.Grace); err != nil {
		log.Print(err)
	}
}

// endOnSignal ends the session on SIGTERM or SIGINT, for example at shutdown.
func (s *shim) endOnSignal(stop <-chan struct{}) {
	tree.EndOnSignal(s.asked, stop, s.boot.Grace, func(_ os.Signal, grace time.Duration) {
		if err := s.stop(grace); err != nil {
			log.Print(err)
		}
	})
}

// Main is the shim process: it reads its bootstrap from stdin, starts the
// command, says on stdout that it runs, and serves until the end.
func Main(ctx context.Context, version string, stdin io.Reader, stdout io.WriteCloser) error {
	prepareProcess()
	s, err := boot(version, stdin)
	ready := Ready{}
	if err != nil {
		ready.Error = rpc.FromError(err)
	}
	if werr := json.NewEncoder(stdout).Encode(ready); werr != nil && err == nil {
		log.Printf("tell the starter: %v", werr) // it went away; the session lives on
	}
	if err != nil {
		return err
	}
	tree.LetGo(stdout)
	return s.serve(ctx)
}

// prepareProcess makes this process what a shim must be: small, and its files
// private.
func prepareProcess() {
	log.SetFlags(log.LstdFlags | log.LUTC | log.Lmsgprefix)
	log.SetPrefix("shim: ")
	debug.SetGCPercent(50)
	runtime.GOMAXPROCS(1)
	callersUmask = unix.Umask(0o077)
}

// callersUmask is of the files that the program makes; set once, before it is
// started. The shim's own are private.
var callersUmask int

// boot takes the session over from its starter and starts the command last,
// when little can go wrong any more.
func boot(version string, stdin io.Reader) (*shim, error) {
	var b Bootstrap
	if err := json.NewDecoder(stdin).Decode(&b); err != nil {
		return nil, fault.Errorf(fault.Protocol, "read bootstrap: %w", err)
	}
	if b.V != BootstrapVersion {
		return nil, fault.Errorf(fault.Protocol, "bootstrap has version %d, this den knows %d", b.V, BootstrapVersion)
	}
	unix.CloseOnExec(LockFD)
	s := &shim{version: version, boot: &b, dir: Dir(b.Dir), lock: os.NewFile(LockFD, "lock"), activity: tree.NewActivity(), closed: make(chan struct{})}
	// From now on, not when serve gets to it: one that comes early waits.
	s.asked = tree.CatchSignals()
	if err := tree.BecomeSubreaper(); err != nil {
		return nil, err // without it, not all processes could be ended
	}
	var err error
	if s.output, err = openOutput(s.dir, s.activity); err != nil {
		return nil, err
	}
	if s.listener, err = rpc.Listen(b.Socket); err != nil {
		return nil, err
	}
	if err := s.begin(); err != nil {
		return nil, errors.Join(err, s.listener.Close())
	}
	return s, nil
}

// begin starts the command and writes the record that makes it a session.
func (s *shim) begin() error {
	c, err := start(s.boot)
	if err != nil {
		return err
	}
	s.tree, s.out, s.input = tree.Adopt(c.pid, s.boot.cgroup()), c.output, newInput(c.input)
	b := s.boot
	// The record first: who watches the lock takes the session for started.
	err = errors.Join(s.dir.saveRecord(&Record{
		ID: b.ID, Name: b.Name, Owner: b.Owner, Starts: b.Starts, Argv: b.Argv, WorkDir: b.WorkDir,
		Socket: b.Socket, PID: c.pid, Cgroup: b.Cgroup, Shim: s.version, Started: time.Now().UTC().Round(0),
	}), WriteLock(s.lock, b.Starts, b.Name))
	if err != nil {
		// The starter is told, and ends what has begun.
		return fault.Errorf(fault.Storage, "record session '%s': %w", b.Name, err)
	}
	return nil
}

// command is a started program and the shim's ends of its pipes.
type command struct {
	pid    int
	input  *os.File
	output *os.File
}

// start runs the program on two pipes, output and errors on the same: what it
// wrote first is read first. It leads a session of its own, so that no signal
// to its group reaches the shim, and it does not outlive the shim.
func start(b *Bootstrap) (_ *command, err error) {
	path, err := pty.LookPath(pty.Command{Argv: b.Argv, Dir: b.WorkDir, Env: b.Env})
	if err != nil {
		return nil, err
	}
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start %q: %w", b.Argv[0], err)
	}
	defer inR.Close()
	outR, outW, err := os.Pipe()
	if err != nil {
		inW.Close()
		return nil, fmt.Errorf("start %q: %w", b.Argv[0], err)
	}
	defer outW.Close()
	if err := pty.CloseOnExec(); err != nil {
		return nil, fmt.Errorf("start %q: close descriptors: %w", b.Argv[0], err)
	}
	attr := &syscall.ProcAttr{
		Dir: b.WorkDir, Env: b.Env,
		Files: []uintptr{inR.Fd(), outW.Fd(), outW.Fd()}, // Fd makes them block, as programs expect
		Sys:   childAttr(),
	}
	pid, err := forkExec(path, b, attr)
	if err != nil {
		inW.Close()
		outR.Close()
		return nil, fault.Hintf(fault.Errorf(fault.Usage, "start %q: %w", b.Argv[0], err),
			"check that it can be executed, and the interpreter that it names")
	}
	return &command{pid: pid, input: inW, output: outR}, nil
}

// forkExec starts the program in the session's cgroup.
func forkExec(path string, b *Bootstrap, attr *syscall.ProcAttr) (pid int, err error) {
	cgroup, err := b.cgroup().Open()
	if err != nil {
		log.Print(err) // its processes are found by scanning then
	}
	if cgroup != nil {
		defer cgroup.Close() // Best effort: it was only read.
	}
	defer unix.Umask(unix.Umask(callersUmask))
	return pty.ForkExec(path, b.Argv, attr, cgroup)
}

// maxClients bounds the connections of a shim.
const maxClients = 64

// newServer answers clients on the session's socket.
func newServer(s *shim) *rpc.Server {
	return rpc.NewServer(rpc.Config{
		Version: Protocol, Den: s.version, ID: s.boot.ID,
		Kind: "shim", Name: fmt.Sprintf("session '%s'", s.boot.Name),
		Handler: s.handle,
		Urgent:  func(method string) bool { return method == MethodStop },
		Limits:  rpc.Limits{Clients: maxClients},
	})
}

// handle answers one request. Nothing that is asked ends with its caller.
func (s *shim) handle(_ context.Context, req *rpc.Call) (any, error) {
	s.activity.Note() // answering needs memory too
	switch req.Method {
	case MethodPeek:
		var p Peek
		if err := req.Decode(&p); err != nil {
			return nil, err
		}
		return Peeked{Text: s.output.peek(p.Lines)}, nil
	case MethodNudge:
		var n Nudge
		if err := req.Decode(&n); err != nil {
			return nil, err
		}
		return struct{}{}, s.input.put(append(n.Text, '\n'))
	case MethodUnread:
		n, err := s.input.unread()
		return Unread{Bytes: n}, err
	case MethodInterrupt:
		return struct{}{}, s.tree.SignalGroup(unix.SIGINT) // Ctrl-C without a terminal
	case MethodStop:
		var p Stop
		if err := req.Decode(&p); err != nil {
			return nil, err
		}
		return struct{}{}, s.stop(p.Grace)
	case MethodActivity:
		return Activity{Last: s.output.lastActive()}, nil
	case MethodAlive:
		var a Alive
		if err := req.Decode(&a); err != nil {
			return nil, err
		}
		alive, err := procname.AnyBears(s.tree.Processes(), a.Names)
		return AliveAnswer{Alive: alive}, err
	}
	return nil, fault.Hintf(fault.Errorf(fault.Protocol, "the shim (den %s) does not know the method %q", s.version, req.Method),
		"it was started by an older den: start the session anew")
}

// Protocol is the version of the messages below, in the hello of each side.
// It changes when an old peer would misunderstand a new one; added fields and
// methods do not change it.
const Protocol = 1

// The methods of a shim's socket.
const (
	MethodPeek      = "peek"
	MethodNudge     = "nudge"
	MethodInterrupt = "interrupt"
	MethodStop      = "stop"
	MethodActivity  = "activity"
	MethodAlive     = "alive"
	MethodUnread    = "unread"
)

// Peek asks for the last lines of the output; 0 means all that is kept.
type Peek struct {
	Lines int `json:"lines"`
}

// Peeked is its answer.
type Peeked struct {
	Text string `json:"text"`
}

// Nudge is a line for the command. It is bytes, not a string: JSON would
// mend what is not UTF-8.
type Nudge struct {
	Text []byte `json:"text"`
}

// Unread tells how many bytes the command has been given and has not read.
type Unread struct {
	Bytes int `json:"bytes"`
}

// Stop ends the session.
type Stop struct {
	Grace time.Duration `json:"grace_ns"` // before what does not end is killed
}

// Activity tells when the command last wrote something: when it was started
// where it never did.
type Activity struct {
	Last time.Time `json:"last"`
}

// Alive asks whether a process bears one of the names.
type Alive struct {
	Names []string `json:"names"`
}

// AliveAnswer is its answer.
type AliveAnswer struct {
	Alive bool `json:"alive"`
}
