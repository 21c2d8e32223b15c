package chatserver

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/chat/irc"
	"den/internal/place/workspace"
)

// openChat returns a server that runs as a workspace says, and knows an agent.
func openChat(t *testing.T, dir string, s workspace.Server) *Server {
	t.Helper()
	c := idleChat(t, dir)
	if err := c.Ensure(talking(s)); err != nil {
		t.Fatal(err)
	}
	return c
}

// idleChat is openChat before it is started. All of this user are people.
func idleChat(t *testing.T, dir string) *Server {
	t.Helper()
	run, err := os.MkdirTemp("/tmp", "den-r-") // short: a socket goes here
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(run) })
	c := New(dir, func(key string) string {
		if key == "DEN_RUN_DIR" {
			return run
		}
		return ""
	})
	t.Cleanup(c.Close)
	secret, err := c.Secret("coder")
	if err != nil {
		t.Fatal(err)
	}
	c.guests = &guests{agents: map[string]string{"coder": secret}, person: func(net.Conn) error { return nil }}
	return c
}

// Programs of this user reach the server by a socket that is closed to others,
// an agent by its secret too, which is kept over restarts in a file that is
// closed to others; at the port an account is needed, and who has none is told
// so.
func TestChatServerForThisMachine(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "chat")
	var first string
	for range 2 {
		c := openChat(t, dir, workspace.Server{})
		for path, mode := range map[string]os.FileMode{c.place.Socket: 0o600, filepath.Dir(c.place.Socket): 0o700, c.secretFile("coder"): 0o600, filepath.Dir(c.secretFile("coder")): 0o700} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
				t.Errorf("%s: %v, %v", path, info, err)
			}
		}
		secret, err := c.Secret("coder")
		if err != nil || len(secret) < 20 || first != "" && secret != first {
			t.Fatalf("%q, %v", secret, err)
		}
		first = secret
		for _, row := range []struct{ address, nick, password, why string }{
			{c.place.Socket, "bob", "", ""},
			{c.place.Socket, "coder", secret, ""},
			{c.place.Socket, "coder", "guess", "wrong password"},
			{c.place.Address, "bob", "", "'den accounts set NAME' makes an account; this user needs none at " + c.place.Socket},
			{c.place.Address, "coder", secret, "den accounts set"},
			{c.place.Address, "bob", "bob:guess", "wrong password"},
		} {
			err := visit(t, irc.ClientConfig{Address: row.address, Nick: row.nick, Password: row.password})
			if (err == nil) != (row.why == "") || err != nil && !strings.Contains(err.Error(), row.why) {
				t.Errorf("%+v: %v", row, err)
			}
		}
		thief, err := irc.Dial(t.Context(), irc.ClientConfig{Address: c.place.Socket, Nick: "coder"})
		if err != nil {
			t.Fatal(err)
		}
		if thief.Nick() == "coder" {
			t.Error("somebody has the nick of an agent")
		}
		thief.Close()
		if err := c.SetAccount("bob", "long-enough"); err != nil {
			t.Fatal(err)
		}
		for _, config := range []irc.ClientConfig{
			{Address: c.place.Address, Nick: "bob", Password: "bob:long-enough"},
			{Address: c.place.Address, Nick: "bob", Login: &irc.Login{Account: "bob", Password: "long-enough"}},
		} {
			if err := visit(t, config); err != nil {
				t.Errorf("%+v: %v", config, err)
			}
		}
		if err := c.RemoveAccount("bob"); err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
}

// A workspace whose file names the address of another one's server reaches that
// by its socket. A server of somebody else has none.
func TestNeighbours(t *testing.T) {
	first := openChat(t, filepath.Join(t.TempDir(), "chat"), workspace.Server{})
	_, port, err := net.SplitHostPort(first.place.Address)
	if err != nil {
		t.Fatal(err)
	}
	number, err := net.LookupPort("tcp", port)
	if err != nil {
		t.Fatal(err)
	}
	second := idleChat(t, filepath.Join(t.TempDir(), "chat"))
	second.getenv = first.getenv
	if err := second.Ensure(talking(workspace.Server{Port: number})); err != nil {
		t.Fatal(err)
	}
	if second.place.Own || second.place.Socket != first.place.Socket || second.place.Address != first.place.Address {
		t.Errorf("%+v", second.place)
	}
	first.Close()
	other, err := net.Listen("tcp", first.place.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if place := second.neighbour(first.place.Address); place.Socket != "" {
		t.Errorf("%+v", place)
	}
}
