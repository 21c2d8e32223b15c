package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"den/internal/base/fault"
	"den/internal/screen"
	"den/internal/screen/keys"
	"den/internal/screen/vt"
	"den/internal/session"
	"den/internal/session/wire"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

func (a *app) attachCmd() *cobra.Command {
	var readOnly bool
	var detach string
	cmd := a.onSession(&cobra.Command{
		Use:   "attach [SESSION]",
		Short: "Attach your terminal to a session",
		Long: `Attach your terminal to a session. Several people may be attached at once. The session
takes a size that fits all of them, and its own size again when the last one leaves.
With --read-only nothing is sent and nothing is resized.

Press the detach keys to leave; the session keeps running.`,
		Example: "  den attach work\n  den attach work --read-only\n  den attach work --detach-keys 'C-b d'",
	}, 0, func(ctx context.Context, s *session.Session, _ []string) error {
		keys, err := newDetachKeys(detach)
		if err != nil {
			return err
		}
		return a.runAttach(ctx, s, readOnly, keys)
	})
	cmd.Flags().BoolVar(&readOnly, "read-only", false, "only watch: send nothing, resize nothing")
	cmd.Flags().StringVar(&detach, "detach-keys", `C-\ C-\`, "the chords that detach")
	return cmd
}

func (a *app) runAttach(ctx context.Context, s *session.Session, readOnly bool, keys *detachKeys) error {
	out := terminalOf(a.stdout)
	if out == nil || !term.IsTerminal(int(a.stdin.Fd())) {
		return fault.Hintf(fault.Errorf(fault.Usage, "attach needs a terminal on stdin and stdout"), "'den snapshot' and 'den watch' need none")
	}
	m, err := s.Dir.Inspect()
	if err != nil {
		return err
	}
	v, err := newViewer(a.stdin, out, s, readOnly)
	if err != nil {
		return err
	}
	a.looked(s)
	end, err := v.run(ctx, keys)
	a.looked(s)
	if rerr := v.restore(); err == nil {
		err = rerr
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stderr, "[%s from session '%s']\n", end, m.Name)
	return nil
}

// viewer is a person's attached terminal. It feeds the session's output to an
// emulator of its own and paints what changed, so that both terminals may be
// of different kinds.
type viewer struct {
	in, out *os.File
	saved   *term.State
	resized chan os.Signal // receives when the terminal's size has changed
	session *session.Attachment

	mu       sync.Mutex // guards the fields below
	painter  *screen.Painter
	emulator *vt.Terminal // or nil before the first frame

	once sync.Once
}

func newViewer(in, out *os.File, s *session.Session, readOnly bool) (*viewer, error) {
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH) // first, so that no change of the size is missed
	cols, rows, err := sizeOf(out)
	if err != nil {
		return nil, fmt.Errorf("ask the terminal for its size: %w", err)
	}
	saved, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, fmt.Errorf("make the terminal raw: %w", err)
	}
	v := &viewer{
		in: in, out: out, saved: saved, resized: resized, painter: screen.NewPainter(cols, rows),
		session: s.Attach(wire.Attach{Cols: cols, Rows: rows, ReadOnly: readOnly}),
	}
	if _, err := out.Write(v.painter.Enter(nil)); err != nil {
		return nil, err
	}
	return v, nil
}

// restore restores the terminal's state, once.
func (v *viewer) restore() (err error) {
	v.once.Do(func() {
		_, err = v.out.Write(v.painter.Leave(nil))
		if rerr := term.Restore(int(v.in.Fd()), v.saved); err == nil {
			err = rerr
		}
	})
	return err
}

// run shows the session until it ends or the person detaches, and returns
// which.
func (v *viewer) run(ctx context.Context, keys *detachKeys) (string, error) {
	defer v.restore()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	detached := make(chan struct{})
	go func() { // ends with the process: a read of a terminal cannot be broken off
		v.readKeys(keys)
		close(detached)
		cancel()
	}()
	go v.followSize(ctx)
	dirty := make(chan struct{}, 1)
	stop := make(chan struct{})
	var painting sync.WaitGroup
	painting.Go(func() { v.paintLoop(dirty, stop) })
	exit, err := v.session.Run(ctx, func(f wire.Frame) {
		v.take(f)
		select {
		case dirty <- struct{}{}:
		default: // a token lies there already
		}
	})
	close(stop)
	painting.Wait()
	select {
	case <-detached:
		return "detached", nil
	default:
	}
	switch {
	case err != nil:
		return "", err
	case exit.Signal != "":
		return "program ended by " + exit.Signal + ", detached", nil
	}
	return fmt.Sprintf("program exited with status %d, detached", exit.Code), nil
}

// take feeds one frame to the emulator.
func (v *viewer) take(f wire.Frame) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if f.Repaint {
		v.emulator = vt.New(vt.Config{Cols: f.Cols, Rows: f.Rows})
	}
	if v.emulator != nil {
		v.emulator.Write(f.Data) // never fails
		v.emulator.TakeReplies() // the host answers the program
	}
}

// paintEvery bounds how often a flood of output is painted.
const paintEvery = 16 * time.Millisecond

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

// sizeOf returns a terminal's size. A terminal that was never given one, such
// as a serial line or a fresh container's, reports 0x0 and is treated as a
// VT100.
func sizeOf(f *os.File) (cols, rows int, err error) {
	cols, rows, err = term.GetSize(int(f.Fd()))
	if err == nil && (cols == 0 || rows == 0) {
		cols, rows = 80, 24
	}
	return cols, rows, err
}

// followSize passes on changes of the terminal's size.
func (v *viewer) followSize(ctx context.Context) {
	defer signal.Stop(v.resized)
	for {
		select {
		case <-ctx.Done():
			return
		case <-v.resized:
		}
		cols, rows, err := sizeOf(v.out)
		if err != nil {
			continue // gone; the next read tells
		}
		v.mu.Lock()
		v.painter.Resize(cols, rows)
		v.mu.Unlock()
		v.session.Resize(cols, rows)
		v.paint()
	}
}

// readKeys sends what is typed until the detach keys are pressed or the
// terminal is gone.
func (v *viewer) readKeys(keys *detachKeys) {
	buf := make([]byte, 4096)
	for {
		n, err := v.in.Read(buf)
		send, leave := keys.filter(buf[:n])
		v.session.Send(send)
		if leave || err != nil && err != io.EOF || n == 0 {
			return
		}
	}
}

// detachKeys finds the detach chords in a person's input. A prefix of them is
// held back until it is clear whether the rest follows.
type detachKeys struct {
	chords [][][]byte // for each chord the ways in which a terminal may send it
	at     int        // chords seen so far
	held   []byte     // their bytes
}

func newDetachKeys(spec string) (*detachKeys, error) {
	d := &detachKeys{}
	for _, word := range strings.Fields(spec) {
		chord, err := keys.Parse(word)
		if err != nil {
			return nil, err
		}
		var ways [][]byte
		for _, m := range []vt.Modes{{}, {AppCursor: true}, {KittyFlags: 1}, {KittyFlags: 8}} {
			if raw, err := chord.Encode(m); err == nil && len(raw) > 0 {
				ways = append(ways, raw)
			}
		}
		if len(ways) == 0 {
			return nil, fault.Errorf(fault.Usage, "--detach-keys: no terminal sends '%s'", word)
		}
		d.chords = append(d.chords, ways)
	}
	if len(d.chords) == 0 {
		return nil, fault.Errorf(fault.Usage, "--detach-keys is empty")
	}
	return d, nil
}

// filter returns what to pass on, and whether to detach.
func (d *detachKeys) filter(in []byte) (send []byte, leave bool) {
	for len(in) > 0 {
		if way := d.match(in); way != nil {
			d.held = append(d.held, way...)
			in = in[len(way):]
			if d.at++; d.at == len(d.chords) {
				return send, true
			}
			continue
		}
		if d.at > 0 { // they were meant for the program after all
			send = append(send, d.held...)
			d.at, d.held = 0, nil
			continue
		}
		send = append(send, in[0])
		in = in[1:]
	}
	return send, false
}

func (d *detachKeys) match(in []byte) []byte {
	for _, way := range d.chords[d.at] {
		if bytes.HasPrefix(in, way) {
			return way
		}
	}
	return nil
}
