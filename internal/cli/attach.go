package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"den/internal/fault"
	"den/internal/home"
	"den/internal/screen"
	"den/internal/session"
	"den/internal/vt"
	"den/internal/wire"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

func (a *app) attachCmd() *cobra.Command {
	var readOnly bool
	var detach string
	cmd := &cobra.Command{
		Use:   "attach [SESSION]",
		Short: "Join a session with your own terminal",
		Long: `Join a session with your own terminal. Several people may be attached at once; the
session takes the size that fits all of them, and its own size again when the last
one leaves. With --read-only nothing is sent and nothing is resized.

Press the detach keys to leave; the session goes on.`,
		Example: "  den attach work\n  den attach work --read-only\n  den attach work --detach-keys 'C-b d'",
		GroupID: groupSession,
		Args:    args(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			keys, err := newDetachKeys(detach)
			if err != nil {
				return err
			}
			d, _, err := a.optionalTarget(args, 0)
			if err != nil {
				return err
			}
			return a.runAttach(cmd.Context(), d, readOnly, keys)
		},
		ValidArgsFunction: a.completeSession,
	}
	cmd.Flags().BoolVar(&readOnly, "read-only", false, "look on: send nothing, resize nothing")
	cmd.Flags().StringVar(&detach, "detach-keys", `C-\ C-\`, "the chords that detach")
	return cmd
}

func (a *app) runAttach(ctx context.Context, d home.Dir, readOnly bool, keys *detachKeys) error {
	out, ok := a.stdout.(*os.File)
	if !ok || !term.IsTerminal(int(out.Fd())) || !term.IsTerminal(int(a.stdin.Fd())) {
		return fault.Hintf(fault.Errorf(fault.Usage, "attach needs a terminal on stdin and stdout"), "'den snapshot' and 'den watch' need none")
	}
	m, err := d.Inspect()
	if err != nil {
		return err
	}
	v, err := newViewer(a.stdin, out)
	if err != nil {
		return err
	}
	end, err := v.run(ctx, readOnly, keys, func(ctx context.Context) (*session.Client, error) { return a.dial(ctx, d) })
	if rerr := v.restore(); err == nil {
		err = rerr
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stderr, "[%s from session '%s']\n", end, m.Name)
	return nil
}

// viewer is a person's terminal while it is attached. It keeps an emulator of
// its own, fed with the session's output, and paints what changed; so it does
// not matter what the terminals on both sides are.
type viewer struct {
	in, out *os.File
	saved   *term.State
	painter *screen.Painter

	mu       sync.Mutex // guards the fields below
	emulator *vt.Terminal
	client   *session.Client // or nil before the host's first word
	unsent   []byte          // what was typed meanwhile
	unknown  [][]byte        // what was sent, and the host did not yet say that it took
	taken    int             // how much of what was sent it said that it took

	once sync.Once
}

func newViewer(in, out *os.File) (*viewer, error) {
	cols, rows, err := term.GetSize(int(out.Fd()))
	if err != nil {
		return nil, fmt.Errorf("ask the terminal for its size: %w", err)
	}
	saved, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, fmt.Errorf("make the terminal raw: %w", err)
	}
	v := &viewer{in: in, out: out, saved: saved, painter: screen.NewPainter(cols, rows)}
	if _, err := out.Write(v.painter.Enter(nil)); err != nil {
		return nil, err
	}
	return v, nil
}

// restore gives the terminal back as it was, once, whatever happened.
func (v *viewer) restore() (err error) {
	v.once.Do(func() {
		_, err = v.out.Write(v.painter.Leave(nil))
		if rerr := term.Restore(int(v.in.Fd()), v.saved); err == nil {
			err = rerr
		}
	})
	return err
}

// run shows the session until it ends or the person leaves, and says which.
func (v *viewer) run(ctx context.Context, readOnly bool, keys *detachKeys, dial func(context.Context) (*session.Client, error)) (string, error) {
	defer v.restore()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	detached := make(chan struct{})
	go v.readKeys(readOnly, keys, detached) // ends with the process: a read of a terminal cannot be broken off
	go v.followSize(ctx, readOnly)
	go func() {
		select {
		case <-detached:
			cancel()
		case <-ctx.Done():
		}
	}()
	for {
		last, err := v.stream(ctx, readOnly, dial)
		select {
		case <-detached:
			return "detached", nil
		default:
		}
		if err != nil {
			return "", err
		}
		switch {
		case last.Exited != nil && last.Exited.Signal != "":
			return "program ended by " + last.Exited.Signal + ", detached", nil
		case last.Exited != nil:
			return fmt.Sprintf("program exited with status %d, detached", last.Exited.Code), nil
		}
		// The host replaced its binary: attach again.
	}
}

// paintEvery bounds how often a flood of output is painted.
const paintEvery = 16 * time.Millisecond

// stream attaches once and paints until the stream's last frame.
func (v *viewer) stream(ctx context.Context, readOnly bool, dial func(context.Context) (*session.Client, error)) (wire.Frame, error) {
	c, err := dial(ctx)
	if err != nil {
		return wire.Frame{}, err
	}
	defer c.Close()
	defer v.disconnect()
	cols, rows, err := term.GetSize(int(v.out.Fd()))
	if err != nil {
		return wire.Frame{}, err
	}
	dirty := make(chan struct{}, 1)
	stop := make(chan struct{})
	var painting sync.WaitGroup
	painting.Go(func() { v.paintLoop(dirty, stop) })
	var last wire.Frame
	err = c.Stream(ctx, wire.MethodAttach, wire.Attach{Cols: cols, Rows: rows, ReadOnly: readOnly}, func(raw json.RawMessage) error {
		last = wire.Frame{}
		if err := json.Unmarshal(raw, &last); err != nil {
			return fault.Errorf(fault.Protocol, "frame is not understood: %w", err)
		}
		v.take(last, c)
		select {
		case dirty <- struct{}{}:
		default: // a token lies there already
		}
		return nil
	})
	close(stop)
	painting.Wait()
	return last, err
}

// take feeds one frame to the emulator. After the first one the host takes
// what is typed.
func (v *viewer) take(f wire.Frame, from *session.Client) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if f.Repaint {
		v.emulator = vt.New(vt.Config{Cols: f.Cols, Rows: f.Rows})
	}
	if v.emulator != nil {
		v.emulator.Write(f.Data) // never fails
		v.emulator.TakeReplies() // the host answers the program
	}
	if n := min(f.Inputs-v.taken, len(v.unknown)); n > 0 {
		v.unknown = v.unknown[n:]
		v.taken += n
	}
	if v.client == nil && !f.Upgrade {
		v.client = from
		v.sendLocked(v.unsent)
		v.unsent = nil
	}
}

// disconnect puts aside what the host did not take before it went: the next
// one gets it.
func (v *viewer) disconnect() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.unsent = append(bytes.Join(v.unknown, nil), v.unsent...)
	v.client, v.unknown, v.taken = nil, nil, 0
}

// maxUnknown bounds what is remembered of sent input; more is not typed in the
// time between two frames.
const maxUnknown = 4096

// maxUnsent bounds what may be typed while there is no host to take it.
const maxUnsent = 64 << 10

func (v *viewer) sendLocked(typed []byte) {
	switch {
	case len(typed) == 0:
	case v.client != nil:
		if len(v.unknown) < maxUnknown {
			v.unknown = append(v.unknown, bytes.Clone(typed))
		}
		v.client.Send(wire.MethodInput, wire.Input{Raw: typed}) // a broken connection shows in the stream
	case len(v.unsent)+len(typed) <= maxUnsent:
		v.unsent = append(v.unsent, typed...)
	}
}

// paintLoop paints when something changed: at once after a pause, so that
// typing feels direct, and at most every paintEvery in a flood.
func (v *viewer) paintLoop(dirty <-chan struct{}, stop <-chan struct{}) {
	for {
		select {
		case <-dirty:
			v.paint()
		case <-stop:
			v.paint()
			return
		}
		select {
		case <-time.After(paintEvery):
		case <-stop:
			v.paint()
			return
		}
	}
}

func (v *viewer) paint() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.emulator == nil || v.emulator.Modes().Sync {
		return
	}
	v.out.Write(v.painter.Paint(nil, v.emulator)) // a terminal that is gone shows in the next read
}

// followSize passes on changes of the terminal's size.
func (v *viewer) followSize(ctx context.Context, readOnly bool) {
	winch := make(chan os.Signal, 1)
	signal.Notify(winch, syscall.SIGWINCH)
	defer signal.Stop(winch)
	for {
		select {
		case <-ctx.Done():
			return
		case <-winch:
		}
		cols, rows, err := term.GetSize(int(v.out.Fd()))
		if err != nil {
			continue // gone; the next read tells
		}
		v.mu.Lock()
		v.painter.Resize(cols, rows)
		client := v.client
		v.mu.Unlock()
		if client != nil && !readOnly {
			client.Send(wire.MethodResize, wire.Resize{Cols: cols, Rows: rows}) // a broken connection shows in the stream
		}
		v.paint()
	}
}

// readKeys sends what is typed until the detach keys are pressed or the
// terminal is gone, and then closes detached.
func (v *viewer) readKeys(readOnly bool, keys *detachKeys, detached chan<- struct{}) {
	defer close(detached)
	buf := make([]byte, 4096)
	for {
		n, err := v.in.Read(buf)
		send, leave := keys.filter(buf[:n])
		if !readOnly {
			v.mu.Lock()
			v.sendLocked(send)
			v.mu.Unlock()
		}
		if leave || err != nil && err != io.EOF || n == 0 {
			return
		}
	}
}
