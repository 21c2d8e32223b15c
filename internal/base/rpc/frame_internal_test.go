package rpc

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"den/internal/base/fault"
)

func pipe(t *testing.T, max int) (*frames, net.Conn) {
	t.Helper()
	a, b := net.Pipe()
	t.Cleanup(func() { a.Close(); b.Close() })
	return newFrames(a, max), b
}

func TestFramesRoundTrip(t *testing.T) {
	f, raw := pipe(t, MaxRequest)
	other := newFrames(raw, MaxRequest)
	text := strings.Repeat("long\n\x00é", 10_000)
	go func() {
		for range 2 {
			other.write(map[string]any{"method": "x", "params": text})
		}
		raw.Close()
	}()
	for range 2 {
		var req Request
		if _, err := f.read(&req); err != nil {
			t.Fatal(err)
		}
		if req.Method != "x" || len(req.Params) < len(text) {
			t.Fatalf("read %s with %d bytes", req.Method, len(req.Params))
		}
	}
	if _, err := f.read(new(Request)); !errors.Is(err, io.EOF) {
		t.Fatalf("after the end: %v", err)
	}
}

// A message that the other side did not take in time was sent in part: nothing
// follows it, or the two would be read as one.
func TestFramesEndWithHalfAMessage(t *testing.T) {
	f, raw := pipe(t, MaxRequest)
	f.writeLimit = 1 // no time at all
	if err := f.write("a message"); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("a message that nobody reads: %v", err)
	}
	f.writeLimit = 0
	if err := f.raw.SetWriteDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	go func() {
		io.Copy(io.Discard, raw) // Best effort: it ends with the test.
	}()
	if err := f.write("the next"); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the next message: %v", err)
	}
}

func TestFramesRefuseLongAndBadLines(t *testing.T) {
	for name, sent := range map[string]string{
		"long":    strings.Repeat("x", 10_000) + "\n",
		"endless": strings.Repeat("x", 10_000),
		"garbage": "\x00\xff{]\n",
	} {
		f, raw := pipe(t, 5000)
		go func() { io.WriteString(raw, sent); raw.Close() }()
		if _, err := f.read(new(Hello)); fault.KindOf(err) != fault.Protocol {
			t.Errorf("%s: %v", name, err)
		}
	}
	f, raw := pipe(t, 5000)
	go func() { io.WriteString(raw, `{"v":1`); raw.Close() }()
	if _, err := f.read(new(Hello)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("cut: %v", err)
	}
}

func TestErrorsKeepKindAndHint(t *testing.T) {
	err := fault.Hintf(fault.Errorf(fault.Busy, "taken"), "wait")
	got := FromError(err).Err()
	if fault.KindOf(got) != fault.Busy || fault.HintOf(got) != "wait" || got.Error() != "taken" {
		t.Errorf("got %v (%s, %s)", got, fault.KindOf(got), fault.HintOf(got))
	}
	newer := (&Error{Kind: "from_the_future", Message: "x"}).Err()
	if fault.KindOf(newer) != fault.Internal {
		t.Errorf("an unknown kind became %s", fault.KindOf(newer))
	}
}

// Whatever arrives, in whatever pieces, every line is read once, and the budget
// is whole again afterwards.
func FuzzRead(f *testing.F) {
	f.Add([]byte("{\"v\":1}\n"), 1)
	f.Add([]byte("\n\n{\"method\":\"wait\",\"params\":{}}\nx"), 7)
	f.Add([]byte(`{"method":"`+strings.Repeat("y", 5000)+"\"}\n{}\n"), 4096)
	f.Fuzz(func(t *testing.T, sent []byte, piece int) {
		a, b := net.Pipe()
		defer a.Close()
		go func() {
			defer b.Close()
			for rest := sent; len(rest) > 0; {
				n := min(max(piece, 1), len(rest))
				if _, err := b.Write(rest[:n]); err != nil {
					return
				}
				rest = rest[n:]
			}
		}()
		conn := newFrames(a, 10_000)
		conn.budget = newBudget(20_000)
		defer func() {
			if conn.budget.left != 20_000 {
				t.Errorf("%d of the budget are left", conn.budget.left)
			}
		}()
		lines := 0
		for range len(sent) + 2 {
			charge, err := conn.read(new(Request))
			conn.budget.give(charge)
			if err != nil && fault.KindOf(err) != fault.Protocol {
				if short := !strings.Contains(err.Error(), "longer"); short && len(sent) < 4096 && lines != strings.Count(string(sent), "\n") {
					t.Errorf("%d lines of %q", lines, sent)
				}
				return
			}
			lines++
		}
		t.Fatal("more messages than bytes")
	})
}
