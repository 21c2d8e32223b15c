package podhost

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"sync"

	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/process/pty"
)

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
