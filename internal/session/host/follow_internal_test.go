package host

import (
	"bytes"
	"testing"
	"testing/synctest"

	"den/internal/screen/vt"
	"den/internal/session/wire"
	"den/internal/testkit/vttest"
)

// show feeds frames to an emulator as a client does.
func show(t *testing.T, term *vt.Terminal, frames []wire.Frame) *vt.Terminal {
	t.Helper()
	for _, f := range frames {
		if f.Repaint {
			term = vt.New(vt.Config{Cols: f.Cols, Rows: f.Rows, Scrollback: 10})
		}
		if term == nil {
			t.Fatal("output before the first repaint")
		}
		term.Write(f.Data)
	}
	return term
}

// A client that falls behind holds a bounded number of bytes and then gets
// the whole screen; whenever it looks, it sees what the session shows.
func TestFollowerIsBoundedAndCatchesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestHost(t)
		f := newFollower()
		h.core.follow(f)
		frames, _ := h.core.take(f)
		client := show(t, nil, frames)
		chunk := bytes.Repeat([]byte("some output\r\n"), 5000)
		for i := range 100 {
			h.core.output(chunk)
			if len(f.pending) > maxBehind {
				t.Fatalf("%d bytes wait for a slow client", len(f.pending))
			}
			if i%37 == 0 {
				h.core.output([]byte("\x1b[31mcolour é"))
				frames, _ = h.core.take(f)
				client = show(t, client, frames)
				if diff := vttest.Diff(h.core.term, client); diff != "" {
					t.Fatal(diff)
				}
			}
		}
		h.core.resize(20, 4)
		frames, done := h.core.take(f)
		client = show(t, client, frames)
		if diff := vttest.Diff(h.core.term, client); diff != "" || done {
			t.Fatal(diff, done)
		}
		h.core.announce(wire.Exit{Code: 1})
		if frames, done = h.core.take(f); !done || frames[len(frames)-1].Exited.Code != 1 {
			t.Errorf("the last frame is %+v", frames)
		}
	})
}
