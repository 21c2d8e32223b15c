package irctest_test

import (
	"context"
	"path/filepath"
	"testing"

	"den/internal/chat/irc"
	"den/internal/chat/irc/ircd"
)

func serve(t *testing.T, cfg ircd.Config, l ircd.Listener) string {
	t.Helper()
	s, err := ircd.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return l.Addr().String()
}

func TestEmbedded(t *testing.T) {
	accounts, err := ircd.OpenAccounts(filepath.Join(t.TempDir(), "accounts.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := accounts.Set("member", "secret"); err != nil {
		t.Fatal(err)
	}
	l, err := ircd.Listen("127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg := ircd.Config{Dir: t.TempDir(), Accounts: accounts, Limits: ircd.Limits{LineRate: 1e6, LineBurst: 10000}}
	Run(t, Target{Address: serve(t, cfg, l), Login: &irc.Login{Account: "member", Password: "secret"}, History: true, Labels: true})
}

// Without history and accounts it is a plain server.
func TestEmbeddedWithoutState(t *testing.T) {
	l, err := ircd.Listen("127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	Run(t, Target{Address: serve(t, ircd.Config{Limits: ircd.Limits{LineRate: 1e6, LineBurst: 10000}}, l), Labels: true})
}
