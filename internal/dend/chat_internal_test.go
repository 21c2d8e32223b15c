package dend

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/irc"
	"den/internal/workspace"
)

// Where the system does not tell whose a connection is, the server asks for a
// password that only this user can read, and keeps it over restarts.
func TestChatServerAsksForPassword(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "chat")
	ws := &workspace.Workspace{Agents: []workspace.Agent{{Name: "a", Channel: workspace.Channel{Backend: "script", Channels: []string{"#general"}}}}}
	var first string
	for range 2 {
		c := &chatServer{dir: dir, byPassword: true}
		if err := c.ensure(ws); err != nil {
			t.Fatal(err)
		}
		defer c.close()
		info, err := os.Stat(c.passwordFile())
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Fatalf("%v, %v", info, err)
		}
		password, err := c.password()
		if err != nil || password == "" || first != "" && password != first {
			t.Fatalf("%q, %v", password, err)
		}
		first = password
		config := irc.ClientConfig{Address: c.place.Address, Nick: "bob"}
		if client, err := irc.Dial(t.Context(), config); err == nil || !strings.Contains(err.Error(), "assword") {
			if client != nil {
				client.Close()
			}
			t.Errorf("without a password: %v", err)
		}
		config.Password = password
		client, err := irc.Dial(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		client.Close()
		c.close()
	}
}
