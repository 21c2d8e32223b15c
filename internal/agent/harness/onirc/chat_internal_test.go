package onirc

import (
	"testing"

	"den/internal/agent/harness"
	"den/internal/chat/irc"
)

// How a server is reached: den's own takes more lines at once than others, and
// a certificate is checked for the host alone.
func TestClientConfig(t *testing.T) {
	for address, host := range map[string]string{"irc.example.org:6697": "irc.example.org", "[::1]:6697": "::1", "10.0.0.5:6697": "10.0.0.5"} {
		c, err := clientConfig(harness.Config{Nick: "fox", Server: harness.Server{Address: address, TLS: true}}, nil)
		if err != nil || c.TLS.ServerName != host {
			t.Errorf("%s: %+v, %v", address, c.TLS, err)
		}
		if c.Limits.LineRate != 0 || c.Limits.LineBurst != 0 {
			t.Errorf("%s: %v lines a second, %d at once", address, c.Limits.LineRate, c.Limits.LineBurst)
		}
	}
	if _, err := clientConfig(harness.Config{Server: harness.Server{Address: "nowhere", TLS: true}}, nil); err == nil {
		t.Error("an address without a port was taken")
	}
	own, err := clientConfig(harness.Config{Nick: "fox", Server: harness.Server{Address: "127.0.0.1:1", Own: true}}, nil)
	if err != nil || own.TLS != nil || own.Limits.LineRate <= 4 || own.Limits.LineBurst <= 10 {
		t.Errorf("%+v, %v", own.Limits, err)
	}
}

// What one program asks another is not for the agent, on servers that pass it on;
// what somebody does is.
func TestIncoming(t *testing.T) {
	for text, want := range map[string]string{"\x01VERSION\x01": "", "\x01ACTION waves\x01": "/me waves", "hello": "hello"} {
		if m, ok := incoming(irc.Event{Kind: irc.EventMessage, Command: "PRIVMSG", Text: text}); ok != (want != "") || m.Text != want {
			t.Errorf("%q: %q, %v", text, m.Text, ok)
		}
	}
}

// The bounded memory of messages that were cut off forgets the oldest.
func TestHalves(t *testing.T) {
	var h halves
	for i := range maxHalves + 1 {
		h.keep(half{id: "m", target: "#c", text: string(rune('a' + i)), said: i})
	}
	if _, ok := h.take("m", "#c", "a"); ok {
		t.Error("the oldest is still known")
	}
	h.keep(half{id: "m", target: "#c", text: "b", said: 7})
	if got, ok := h.take("m", "#c", "b"); !ok || got.said != 7 {
		t.Errorf("%+v, %v", got, ok)
	}
	if _, ok := h.take("m", "#c", "b"); ok {
		t.Error("it was taken twice")
	}
	if _, ok := h.take("m", "#other", "c"); ok {
		t.Error("a message to another channel was taken for it")
	}
}
