package holder

import (
	"encoding/binary"
	"fmt"
	"io"

	"den/internal/base/fault"
)

// Verb is den's word for a holder. It is followed by a mode, or by nothing for
// holding a command.
const Verb = "hold"

// The modes.
const (
	ModePlace = "place" // stay, so that the place stays
	ModeClean = "clean" // MARK: kill the processes that an earlier spawner left
	ModeHost  = "host"  // NAME ID ARGS: start the host of a session, and leave it running
)

// What whoever spawns sends on the holder's standard input: frames of a kind, a
// length in four bytes, and the content.
const (
	FrameCommand = 'c' // a Command, first and once
	FrameInput   = 'i' // a part of the command's input
	FrameEnd     = 'e' // the end of the command's input
	FrameSignal  = 's' // the number of a signal, in one byte
)

// Version is that of the frames and of Command.
const Version = 1

// maxFrame bounds a frame. A command's variables are in one.
const maxFrame = 4 << 20

// Command is what a holder runs. It goes through the stream and not on the
// command line, where every user of the machine could read its variables.
type Command struct {
	V    int               `json:"v"`
	Argv []string          `json:"argv"`
	Dir  string            `json:"dir,omitempty"`
	Env  map[string]string `json:"env,omitempty"`  // on top of what there is
	Path string            `json:"path,omitempty"` // a directory that comes first in the PATH that there is
}

// Started is the line that a holder prints before the command's own output.
type Started struct {
	V     int        `json:"v"`
	Kind  fault.Kind `json:"kind,omitempty"` // why it was not started
	Error string     `json:"error,omitempty"`
}

// Cleaned is what ModeClean prints.
type Cleaned struct {
	Killed int `json:"killed"`
}

// WriteFrame writes one frame, in one call.
func WriteFrame(w io.Writer, kind byte, content []byte) error {
	if len(content) > maxFrame {
		return fault.Errorf(fault.Usage, "a frame of %d bytes is too long, %d fit", len(content), maxFrame)
	}
	frame := make([]byte, 0, 5+len(content))
	frame = append(frame, kind)
	frame = binary.BigEndian.AppendUint32(frame, uint32(len(content)))
	_, err := w.Write(append(frame, content...))
	return err
}

// ReadFrame reads one frame. io.EOF is the end between two of them.
func ReadFrame(r io.Reader) (kind byte, content []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	size := binary.BigEndian.Uint32(head[1:])
	if size > maxFrame {
		return 0, nil, fault.Errorf(fault.Protocol, "a frame of %d bytes is too long", size)
	}
	content = make([]byte, size)
	if _, err := io.ReadFull(r, content); err != nil {
		return 0, nil, fmt.Errorf("read a frame: %w", io.ErrUnexpectedEOF)
	}
	return head[0], content, nil
}
