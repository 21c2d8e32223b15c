package podhost

import (
	"io"
	"path"
	"time"

	"den/internal/base/rpc"
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
