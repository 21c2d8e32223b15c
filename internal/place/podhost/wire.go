package podhost

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"path"
	"sync"
	"time"

	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/process/pty"
	"den/internal/session/home"

	"github.com/hashicorp/yamux"
)

// Version is that of the first process's socket and of the stream. Both ends are
// usually of one build, but a pod may be older than the keeper that finds it.
const Version = 1

// Place is den's directory in a pod.
type Place struct{ Dir string }

// Binary is den.
func (p Place) Binary() string { return path.Join(p.Dir, "bin", "den") }

// Home is where the session is.
func (p Place) Home() home.Home { return home.Home{Path: path.Join(p.Dir, "home"), Explicit: true} }

// socket is the first process's.
func (p Place) socket() string { return path.Join(p.Dir, "run", "pod") }

// HarnessSocket is where the harness of an agent that lives in the pod is reached.
func (p Place) HarnessSocket() string { return path.Join(p.Dir, "run", "harness") }

// runDir holds sockets.
func (p Place) runDir() string { return path.Join(p.Dir, "run") }

// The methods of the first process.
const (
	MethodStart   = "start"   // Start to home.Manifest; a second one is fault.Busy
	MethodStatus  = "status"  // to Status
	MethodAwait   = "await"   // to Status, when the session is over
	MethodStop    = "stop"    // Stop to Status, when all processes have ended
	MethodAlive   = "alive"   // Alive to bool
	MethodEndExec = "endexec" // EndExec: kill a command of ModeExec
	MethodRelease = "release" // the files were fetched: the pod may end
)

// Start is the session to start.
type Start struct {
	Name    string            `json:"name"`
	Command []string          `json:"command"`
	Dir     string            `json:"dir"`
	Env     [][]byte          `json:"env"` // NAME=VALUE, on top of the pod's own; JSON text cannot hold every byte
	Cols    int               `json:"cols"`
	Rows    int               `json:"rows"`
	Term    string            `json:"term"`
	Labels  map[string]string `json:"labels,omitempty"`
}

// The states of a pod.
const (
	Waiting = "waiting" // nothing was started
	Running = "running"
	Ended   = "ended"
)

// Status is what the first process knows.
type Status struct {
	State   string         `json:"state"`
	Session *home.Manifest `json:"session,omitempty"`
	// Told says that the pod itself was told to end, and the session with it:
	// by its node, or because somebody deleted the pod.
	Told bool `json:"told,omitempty"`
}

// Stop ends the session; see wire.Kill.
type Stop struct {
	Grace time.Duration `json:"grace_ns"`
}

// Alive asks whether a process of the session bears one of the names.
type Alive struct {
	Names []string `json:"names"`
}

// EndExec names the command to kill by the mark that it was given.
type EndExec struct {
	Mark string `json:"mark"`
}

// The targets of a connection.
const (
	ToPod  = "pod"  // the first process
	ToHost = "host" // the host of the session ID
	// ToStage unpacks the archive that follows below Dir. It is answered by
	// Progress messages, the last with Done.
	ToStage = "stage"
	ToFiles = "files" // answers with an archive of the session's directory
	ToVerb  = "verb"  // runs a command line of den, where a keeper runs; see VerbStart
	ToExec  = "exec"  // runs a Command beside the session; see RunOver
	// ToSocket listens at Path until the connection ends. It is answered by a
	// Progress when it does; each that connects there is a connection to the
	// other end of the stream, without a header.
	ToSocket = "socket"
)

// Header is the first line of every connection.
type Header struct {
	V  int    `json:"v"`
	To string `json:"to"`

	ID      string `json:"id,omitempty"`       // for ToHost and ToFiles
	SkipLog bool   `json:"skip_log,omitempty"` // for ToFiles: without the event log

	Path string `json:"path,omitempty"` // for ToSocket

	Dir  string `json:"dir,omitempty"`  // for ToStage
	Keep bool   `json:"keep,omitempty"` // for ToStage: what is there stays
}

// Progress tells how far staging has come.
type Progress struct {
	Path  string     `json:"path,omitempty"` // is unpacked next
	Done  bool       `json:"done,omitempty"`
	Error *rpc.Error `json:"error,omitempty"` // with Done
}

// How long the other end of a stream may be silent. A ping is sent twice as
// often, so that no proxy on the way takes the stream for idle.
const (
	pingInterval = 15 * time.Second
	silenceLimit = 60 * time.Second
)

// MuxConfig is that of both ends of a stream.
func MuxConfig() *yamux.Config {
	c := yamux.DefaultConfig()
	c.KeepAliveInterval = pingInterval
	c.ConnectionWriteTimeout = silenceLimit
	c.LogOutput = io.Discard // its errors are those of the connections
	return c
}

// End is what the first process leaves in the pod's status: how the session
// ended, for whoever could not ask while the pod lived.
type End struct {
	ID     string    `json:"id"`
	Code   int       `json:"code"` // -1 where it is not known
	Signal string    `json:"signal,omitempty"`
	At     time.Time `json:"at,omitzero"`
	Status string    `json:"status"`
	Seq    uint64    `json:"seq,omitempty"` // of the last event
}

// EndOf reads a record that is closed.
func EndOf(m *home.Manifest) End {
	e := End{ID: m.ID, Code: -1, Signal: m.ExitSignal, At: m.Ended, Status: string(m.Status), Seq: m.FinalSeq}
	if m.ExitCode != nil {
		e.Code = *m.ExitCode
	}
	return e
}

// VerbStart is a command line of den, to run where the connection leads to.
type VerbStart struct {
	Args     [][]byte  `json:"args"`               // behind den's name; JSON text cannot hold every byte
	Env      [][]byte  `json:"env,omitempty"`      // NAME=VALUE, on top of what is there
	Terminal *pty.Size `json:"terminal,omitempty"` // or nil: its streams are pipes
}

// VerbEnd is how it ended. The error says why it could not be run.
type VerbEnd struct {
	Code  int        `json:"code"`
	Error *rpc.Error `json:"error,omitempty"`
}

// The frames of a verb's connection. The end of the connection itself asks the
// verb to end; what it says then still comes.
const (
	frameStart = 's' // to the verb: VerbStart, the first frame
	frameIn    = 'i' // to the verb: input
	frameEOF   = 'e' // to the verb: there is no more input
	frameSize  = 'z' // to the verb: the terminal's size
	frameWant  = 'w' // of the verb: it reads input from now on; on a terminal it always does
	frameOut   = 'o' // of the verb: output
	frameErr   = 'r' // of the verb: errors; a terminal has none of its own
	frameEnd   = 'x' // of the verb: VerbEnd, the last frame
)

// InputMark names the environment variable of a verb whose caller sends input
// only if it is wanted: the number of a descriptor that is told by one byte. So
// den elsewhere takes no more from its caller's input than den here.
const InputMark = "DEN_INPUT_FD"

// inputFD is that descriptor.
const inputFD = 3

// maxFrame bounds a frame. A command line may be this long.
const maxFrame = 4 << 20

// chunk is how much is read of a stream at once.
const chunk = 32 << 10

// frameHead is the length of a frame's head: its kind, and the length of the rest.
const frameHead = 5

// frames writes frames. It is safe for concurrent use.
type frames struct {
	mu sync.Mutex // one frame at a time
	to io.Writer
}

func (f *frames) write(kind byte, data []byte) error {
	if len(data) > maxFrame {
		return fault.Errorf(fault.Usage, "the command line is longer than %d bytes", maxFrame)
	}
	frame := make([]byte, frameHead, frameHead+len(data))
	frame[0] = kind
	binary.BigEndian.PutUint32(frame[1:], uint32(len(data)))
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err := f.to.Write(append(frame, data...))
	return err
}

func (f *frames) writeJSON(kind byte, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return f.write(kind, raw)
}

// as is a writer of frames of one kind.
func (f *frames) as(kind byte) io.Writer { return frameWriter{f, kind} }

type frameWriter struct {
	*frames
	kind byte
}

func (w frameWriter) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		part := p[:min(len(p), chunk)]
		if err := w.write(w.kind, part); err != nil {
			return n, err
		}
		n, p = n+len(part), p[len(part):]
	}
	return n, nil
}

func readFrame(from io.Reader) (kind byte, data []byte, err error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > maxFrame {
		return 0, nil, fault.Errorf(fault.Protocol, "a frame of %d bytes", n)
	}
	data = make([]byte, n)
	_, err = io.ReadFull(from, data)
	return head[0], data, err
}
