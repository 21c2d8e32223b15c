package podhost

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"sync"
	"time"

	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/place/provider/procname"
	"den/internal/process/pty"
	"den/internal/process/tree"
	"den/internal/session"
	"den/internal/session/home"
)

// How long the files of a session that is over are kept for whoever should fetch
// them: a keeper that was restarted has the time to find them, and one that is
// gone for good does not hold up the node forever. A pod that was told to end has
// less: its node kills it.
const (
	keepFiles     = 10 * time.Minute
	keepFilesTerm = 10 * time.Second
)

// termGrace is how long each way of asking a session to end may take when the
// pod is told to.
const termGrace = 3 * time.Second

// terminationLog is where Kubernetes reads a container's last message.
const terminationLog = "/dev/termination-log"

// first is the pod's first process.
type first struct {
	place    Place
	version  string
	released chan struct{} // closed by the first release
	ended    chan struct{} // closed when the session is over

	// starting is held while a session is made: whoever reaps must not take
	// the exit of a host from its starter.
	starting sync.Mutex

	mu      sync.Mutex // guards the fields below
	release sync.Once
	state   string
	dir     home.Dir
	record  *home.Manifest // of the session, once there is one
	told    bool           // the pod was told to end while it ran
}

// Run serves until the session is over and its files are fetched, or a signal
// ends it. It returns the status of the session's program.
func Run(place Place, version string) (int, error) {
	asked := tree.CatchSignals()
	if err := os.MkdirAll(place.runDir(), 0o700); err != nil {
		return 0, fault.Errorf(fault.Storage, "create run directory: %w", err)
	}
	if err := os.Setenv("DEN_RUN_DIR", place.runDir()); err != nil {
		return 0, err
	}
	l, err := rpc.Listen(place.socket())
	if err != nil {
		return 0, err
	}
	f := &first{place: place, version: version, state: Waiting, released: make(chan struct{}), ended: make(chan struct{})}
	ctx, stop := context.WithCancel(context.Background())
	server := rpc.NewServer(rpc.Config{Version: Version, Den: version, Kind: "pod", Name: "the pod", Handler: f.handle})
	var served sync.WaitGroup
	served.Go(func() { server.Serve(ctx, l) })
	served.Go(func() { f.reap(ctx) })
	f.await(asked)
	stop()
	served.Wait()
	return f.close()
}

// await returns when the pod may end.
func (f *first) await(asked <-chan os.Signal) {
	select {
	case <-f.ended:
		select {
		case <-f.released:
		case <-asked:
		case <-time.After(keepFiles):
		}
	case <-asked:
		if f.tell().State == Waiting {
			return
		}
		if _, err := f.stop(context.Background(), termGrace); err != nil {
			log.Printf("end the session: %v", err)
			return
		}
		select {
		case <-f.released:
		case <-time.After(keepFilesTerm):
		}
	}
}

// close leaves word of how the session ended.
func (f *first) close() (int, error) {
	s := f.status()
	if s.Session == nil {
		return 0, nil
	}
	end := EndOf(s.Session)
	raw, err := json.Marshal(end)
	if err != nil {
		return 0, err
	}
	// Best effort: outside of a pod there is no such file.
	if file, err := os.OpenFile(terminationLog, os.O_WRONLY|os.O_TRUNC, 0); err == nil {
		_, _ = file.Write(raw)
		_ = file.Close()
	}
	if end.Code < 0 {
		return 1, nil
	}
	return end.Code, nil
}

// status is how it is now, with what the session's host has noted of its program.
func (f *first) status() Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := Status{State: f.state, Session: f.record, Told: f.told}
	if f.state != Running {
		return s
	}
	if now, err := f.dir.Load(); err == nil { // else it is not known what was noted
		m := *f.record
		m.Noted = now.Noted
		s.Session = &m
	}
	return s
}

// tell notes that the pod was told to end, and returns how it was then.
func (f *first) tell() Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told = f.state == Running
	return Status{State: f.state, Session: f.record, Told: f.told}
}

func (f *first) handle(ctx context.Context, call *rpc.Call) (any, error) {
	switch call.Method {
	case MethodStart:
		var s Start
		if err := call.Decode(&s); err != nil {
			return nil, err
		}
		return f.start(ctx, s)
	case MethodStatus:
		return f.status(), nil
	case MethodAwait:
		select {
		case <-f.ended:
			return f.status(), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	case MethodStop:
		var s Stop
		if err := call.Decode(&s); err != nil {
			return nil, err
		}
		return f.stop(ctx, s.Grace)
	case MethodAlive:
		var a Alive
		if err := call.Decode(&a); err != nil {
			return nil, err
		}
		return f.alive(a.Names)
	case MethodEndExec:
		var e EndExec
		if err := call.Decode(&e); err != nil {
			return nil, err
		}
		_, err := tree.Sweep(ctx, ExecMark+"="+e.Mark)
		return struct{}{}, err
	case MethodRelease:
		f.release.Do(func() { close(f.released) })
		return struct{}{}, nil
	}
	return nil, fault.Errorf(fault.Protocol, "the pod's den (%s) does not know '%s'", f.version, call.Method)
}

// start starts the one session.
func (f *first) start(ctx context.Context, s Start) (*home.Manifest, error) {
	f.starting.Lock()
	defer f.starting.Unlock()
	if now := f.status(); now.State != Waiting {
		return nil, fault.Errorf(fault.Busy, "a session was started in this pod already")
	}
	if fi, err := os.Stat(s.Dir); err != nil {
		return nil, fault.Errorf(fault.Usage, "working directory: %w", err)
	} else if !fi.IsDir() {
		return nil, fault.Errorf(fault.Usage, "working directory %s is not a directory", s.Dir)
	}
	root := f.place.Home()
	env := append(session.WithoutTerminal(os.Environ()), session.TerminalEnv(root, s.Term, s.Dir, f.version)...)
	for _, kv := range s.Env {
		env = append(env, string(kv))
	}
	d, m, err := root.Create(ctx, home.Spec{
		Name: s.Name, Command: s.Command, Cwd: s.Dir, Env: env, Term: s.Term, Cols: s.Cols, Rows: s.Rows,
		Labels: s.Labels, RecordInput: home.RecordAuto, LogLimit: session.DefaultLogLimit,
	}, f.place.Binary())
	if err != nil {
		return nil, err
	}
	gone, err := d.Gone(context.Background()) // whoever started the session need not be there at its end
	if err != nil {
		return nil, fmt.Errorf("watch the session: %w", err)
	}
	f.mu.Lock()
	f.state, f.dir, f.record = Running, d, m
	f.mu.Unlock()
	go f.watch(d, gone) // ends with the session, or with this process
	return m, nil
}

// watch notes the end of the session.
func (f *first) watch(d home.Dir, gone <-chan struct{}) {
	<-gone
	m, err := d.Reconcile()
	if err == nil {
		_, err = d.Sweep() // what outlived the program, or its host
	}
	if err != nil {
		log.Printf("close the session's record: %v", err)
	}
	f.mu.Lock()
	f.state = Ended
	if m != nil {
		f.record = m
	}
	f.mu.Unlock()
	close(f.ended)
}

// stop ends the session, and returns when it is over.
func (f *first) stop(ctx context.Context, grace time.Duration) (Status, error) {
	now := f.status()
	if now.State == Waiting {
		return now, nil
	}
	s := session.In(f.dir, session.Options{Version: f.version})
	if _, err := s.Kill(ctx, grace); err != nil && fault.KindOf(err) != fault.NotRunning {
		return now, err
	}
	select {
	case <-f.ended:
		return f.status(), nil
	case <-ctx.Done():
		return f.status(), ctx.Err()
	}
}

// alive reports whether a process of the session bears one of the names.
func (f *first) alive(names []string) (bool, error) {
	now := f.status()
	if now.State != Running {
		return false, nil
	}
	return procname.AnyBears(pty.Marked(home.ProgramMark+"="+now.Session.ID), names)
}
