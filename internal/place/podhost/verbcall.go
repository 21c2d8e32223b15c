package podhost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"den/internal/base/fault"
	"den/internal/process/pty"
)

// VerbStreams are those of the caller of a verb.
type VerbStreams struct {
	// In is called when the verb reads its input. The channel is closed at the
	// input's end.
	In       func() <-chan []byte
	Out, Err io.Writer
	Size     <-chan pty.Size // of the terminal, when it changes
}

// RunVerb runs a command line of den at the other end of the connection, and
// returns its exit code. When the context ends it is asked to end. An error means
// that it could not be run, or that the connection broke: then nobody knows how
// far it came (see Broken).
func RunVerb(ctx context.Context, conn net.Conn, v VerbStart, s VerbStreams) (int, error) {
	to := &frames{to: conn}
	if err := to.writeJSON(frameStart, v); err != nil {
		_ = conn.Close() // Best effort: it is broken.
		return 0, broke(err)
	}
	sending, stop := context.WithCancel(ctx)
	want := make(chan struct{}, 1) // the second has nothing new to say
	if v.Terminal != nil {
		want <- struct{}{}
	}
	var sender sync.WaitGroup
	sender.Go(func() { s.send(sending, to, want) })
	defer func() {
		stop()
		_ = conn.Close() // Best effort: all was said; it ends a send that nobody takes.
		sender.Wait()
	}()
	defer context.AfterFunc(ctx, func() {
		_ = conn.Close()                                                 // asks it to end; what it says still comes
		_ = conn.SetReadDeadline(time.Now().Add(verbGrace + lastOutput)) // Best effort, as above.
	})()
	for {
		kind, data, err := readFrame(conn)
		if err != nil {
			return 0, broke(err)
		}
		switch kind {
		case frameWant:
			select {
			case want <- struct{}{}:
			default:
			}
		case frameOut:
			_, err = s.Out.Write(data)
		case frameErr:
			_, err = s.Err.Write(data)
		case frameEnd:
			return ended(data)
		}
		if err != nil {
			return 0, fmt.Errorf("write output: %w", err)
		}
	}
}

func ended(data []byte) (int, error) {
	var end VerbEnd
	if err := json.Unmarshal(data, &end); err != nil {
		return 0, fault.Errorf(fault.Protocol, "the verb's end is not understood: %w", err)
	}
	if end.Error != nil {
		return end.Code, end.Error.Err()
	}
	return end.Code, nil
}

// send passes input on. What cannot be sent is noticed where output is read.
func (s VerbStreams) send(ctx context.Context, to *frames, want <-chan struct{}) {
	var in <-chan []byte
	for {
		select {
		case <-want:
			in, want = s.In(), nil
		case data, ok := <-in:
			if !ok {
				in = nil
				_ = to.write(frameEOF, nil)
				continue
			}
			_ = to.write(frameIn, data)
		case size := <-s.Size:
			_ = to.writeJSON(frameSize, size)
		case <-ctx.Done():
			return
		}
	}
}

// Broken reports whether the connection of a verb ended before the verb did.
func Broken(err error) bool { return errors.As(err, &broken{}) }

// broken is a connection that ended before the verb did.
type broken struct{ error }

func (b broken) Unwrap() error { return b.error }

func broke(err error) error {
	return fault.Hintf(fault.Errorf(fault.Unreachable, "the stream to the keeper's pod broke: %w", broken{err}), "how far it came is not known; look before you do it again")
}
