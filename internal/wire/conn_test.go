package wire_test

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"den/internal/fault"
	"den/internal/wire"
)

func pipe(t *testing.T, max int) (*wire.Conn, net.Conn) {
	t.Helper()
	a, b := net.Pipe()
	t.Cleanup(func() { a.Close(); b.Close() })
	return wire.NewConn(a, max), b
}

func TestConnRoundTrip(t *testing.T) {
	c, raw := pipe(t, wire.MaxRequest)
	other := wire.NewConn(raw, wire.MaxRequest)
	text := strings.Repeat("long\n\x00é", 10_000)
	go func() {
		for range 2 {
			other.Write(wire.Request{Method: wire.MethodInput, Params: wire.Params(wire.Input{Text: &text})})
		}
		raw.Close()
	}()
	for range 2 {
		var req wire.Request
		if err := c.Read(&req); err != nil {
			t.Fatal(err)
		}
		if req.Method != wire.MethodInput || len(req.Params) < len(text) {
			t.Fatalf("read %s with %d bytes", req.Method, len(req.Params))
		}
	}
	var req wire.Request
	if err := c.Read(&req); !errors.Is(err, io.EOF) {
		t.Fatalf("after the end: %v", err)
	}
}

func TestConnRefusesLongAndBadLines(t *testing.T) {
	for name, sent := range map[string]string{
		"long":    strings.Repeat("x", 10_000) + "\n",
		"endless": strings.Repeat("x", 10_000),
		"garbage": "\x00\xff{]\n",
	} {
		c, raw := pipe(t, 5000)
		go func() { io.WriteString(raw, sent); raw.Close() }()
		var v wire.Hello
		if err := c.Read(&v); fault.KindOf(err) != fault.Protocol {
			t.Errorf("%s: %v", name, err)
		}
	}
	c, raw := pipe(t, 5000)
	go func() { io.WriteString(raw, `{"v":1`); raw.Close() }()
	var v wire.Hello
	if err := c.Read(&v); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("cut: %v", err)
	}
}

func TestErrorsKeepKindAndHint(t *testing.T) {
	err := fault.Hintf(fault.Errorf(fault.Busy, "taken"), "wait")
	got := wire.FromError(err).Err()
	if fault.KindOf(got) != fault.Busy || fault.HintOf(got) != "wait" || got.Error() != "taken" {
		t.Errorf("got %v (%s, %s)", got, fault.KindOf(got), fault.HintOf(got))
	}
	newer := (&wire.Error{Kind: "from_the_future", Message: "x"}).Err()
	if fault.KindOf(newer) != fault.Internal {
		t.Errorf("an unknown kind became %s", fault.KindOf(newer))
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("{\"v\":1}\n"))
	f.Add([]byte("\n\n{\"method\":\"wait\",\"params\":{}}\nx"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		a, b := net.Pipe()
		defer a.Close()
		go func() { b.Write(sent); b.Close() }()
		c := wire.NewConn(a, 1000)
		for range len(sent) + 2 {
			var req wire.Request
			if err := c.Read(&req); err != nil {
				if fault.KindOf(err) == fault.Protocol {
					continue
				}
				return
			}
		}
		t.Fatal("more messages than bytes")
	})
}
