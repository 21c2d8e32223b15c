package ircd_test

import (
	"errors"
	"net"
	"strings"
	"sync"
	"testing"

	"den/internal/chat/irc/ircd"
)

// A reserved nick is for those who may have it, in every spelling and whenever
// they ask for it; who has it when it becomes reserved loses the connection.
func TestReservedNicks(t *testing.T) {
	s, address := start(t, ircd.Config{Dir: t.TempDir()})
	eve := join(t, address, "Bob", "")
	var mu sync.Mutex // guards people
	people := map[string]bool{}
	s.Reserve([]string{"bob"}, func(conn net.Conn) error {
		mu.Lock()
		defer mu.Unlock()
		if people[conn.RemoteAddr().String()] {
			return nil
		}
		return errors.New("it is not\nyours")
	})
	eve.expect("ERROR")

	eve = join(t, address, "eve", v3)
	for gone := false; !gone; { // until the server is done with the connection
		_, got := eve.labeled("WHOIS bob")
		gone = len(got) > 0 && strings.HasPrefix(got[0], "401 ")
	}
	if _, got := eve.labeled("NICK BOB"); len(got) != 1 || got[0] != "433 eve BOB :Nickname is reserved: it is not" {
		t.Errorf("%q", got)
	}
	mallory := dial(t, address)
	mallory.send("NICK bob")
	mallory.expect("433 * bob :Nickname is reserved: it is not")
	mallory.register("mallory", "")

	bob := dial(t, address)
	mu.Lock()
	people[bob.conn.LocalAddr().String()] = true
	mu.Unlock()
	bob.register("bob", "")
	eve.send("PRIVMSG bob :is that you?")
	bob.expect("PRIVMSG bob :is that you?")

	s.Reserve(nil, nil)
	mallory.send("NICK robert")
	mallory.expect("NICK robert")
}
