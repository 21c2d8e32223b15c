package ircd_test

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"den/internal/chat/irc/ircd"
)

// A crowd is who a test sends to a server, under nicks that any of them may
// take.
type crowd struct {
	t        *testing.T
	r        *rand.Rand
	dir      string
	accounts *ircd.Accounts
	address  string
	stop     func()

	mu     sync.Mutex // guards people
	people map[string]bool

	here []*visitor
	said map[string][2]string // whose and for whom a private line was, by its text
	seen int                  // private lines of others' connections that were read by whom they are for
	all  int                  // connections so far
}

// A visitor is a connection, and whose it is.
type visitor struct {
	*peer
	kind string // account, agent, person or stranger
	name string // of the account or agent
	id   int
}

// identity is whose private lines the visitor may read.
func (v *visitor) identity() string {
	switch v.kind {
	case "person":
		return "person " + strings.ToLower(v.nick)
	case "stranger":
		return fmt.Sprint("stranger ", v.id)
	}
	return v.name
}

// agentSecrets are of two agents, whose nicks nobody else gets.
var agentSecrets = map[string]string{"coder": "SECRETOFCODER", "tester": "SECRETOFTESTER"}

func (c *crowd) open() {
	l, err := ircd.Listen("127.0.0.1:0", nil)
	if err != nil {
		c.t.Fatal(err)
	}
	s, stop := serveUntil(c.t, ircd.Config{Dir: c.dir, Accounts: c.accounts}, l)
	s.SetResidents(agentSecrets)
	s.Reserve(nil, func(conn net.Conn) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.people[conn.RemoteAddr().String()] {
			return nil
		}
		return fmt.Errorf("an agent")
	})
	c.address, c.stop, c.here = l.Addr().String(), stop, nil
}

var nicks = []string{"alice", "bob", "carol", "coder", "tester", "dave"}

// enter connects somebody under some nick.
func (c *crowd) enter() {
	c.all++
	v := &visitor{peer: dial(c.t, c.address), id: c.all, kind: []string{"account", "agent", "person", "stranger"}[c.r.Intn(4)]}
	v.send("CAP REQ :%s sasl", v3)
	switch v.kind {
	case "account":
		v.name = []string{"alice", "bob"}[c.r.Intn(2)]
		if c.r.Intn(2) == 0 {
			v.send("PASS %s:password", v.name)
		} else {
			v.send("AUTHENTICATE PLAIN\r\nAUTHENTICATE %s", base64.StdEncoding.EncodeToString([]byte("\x00"+v.name+"\x00password")))
		}
		v.expect("900 *")
	case "agent":
		v.name = []string{"coder", "tester"}[c.r.Intn(2)]
		v.send("PASS %s", agentSecrets[v.name])
	case "person":
		c.mu.Lock()
		c.people[v.conn.LocalAddr().String()] = true
		c.mu.Unlock()
	}
	v.send("USER u 0 * :u\r\nCAP END")
	for _, i := range c.r.Perm(len(nicks) + 1) {
		nick := fmt.Sprint("guest", c.all)
		if i < len(nicks) {
			nick = nicks[i]
		}
		v.send("NICK %s", nick)
		for answer := ""; answer == ""; {
			switch m := v.read(); m.Command {
			case "001":
				v.nick = nick
				answer = "taken"
			case "433":
				answer = "refused"
			}
		}
		if v.nick != "" {
			break
		}
	}
	if v.nick == "" {
		c.t.Fatal("no nick was free")
	}
	v.expect("422 " + v.nick)
	// A second connection of the same account or agent replaces the first.
	c.here = slices.DeleteFunc(c.here, func(o *visitor) bool { return strings.EqualFold(o.nick, v.nick) })
	c.here = append(c.here, v)
}

func (c *crowd) leave(v *visitor) {
	v.send("QUIT")
	v.gone()
	c.here = slices.DeleteFunc(c.here, func(o *visitor) bool { return o == v })
}

func (c *crowd) rename(v *visitor) {
	nick := nicks[c.r.Intn(len(nicks))]
	if _, got := v.labeled("NICK %s", nick); len(got) == 1 && strings.HasPrefix(got[0], "NICK ") {
		c.here = slices.DeleteFunc(c.here, func(o *visitor) bool { return o != v && o.nick == nick })
		v.nick = nick
	}
}

// speak says something in private to a nick, whoever has it.
func (c *crowd) speak(v *visitor) {
	to, text := nicks[c.r.Intn(len(nicks))], fmt.Sprint("line-", len(c.said))
	receiver := ""
	if _, resident := agentSecrets[to]; resident {
		receiver = to
	}
	for _, o := range c.here {
		if o.nick == to {
			receiver = o.identity()
		}
	}
	_, got := v.labeled("PRIVMSG %s :%s", to, text)
	accepted := slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, "PRIVMSG ") })
	if accepted != (receiver != "") {
		c.t.Fatalf("%s to %s, who is %q: %q", v.identity(), to, receiver, got)
	}
	c.said[text] = [2]string{v.identity(), receiver}
}

// pry reads whatever history it can.
func (c *crowd) pry(v *visitor) {
	var got []string
	target := append(nicks, "alice,bob", "bob@local", "bob~", v.nick+",coder", "~", "@local", "#x")[c.r.Intn(len(nicks)+7)]
	switch c.r.Intn(3) {
	case 0:
		_, got = v.labeled("CHATHISTORY LATEST %s * 256", target)
	case 1:
		_, got = v.labeled("CHATHISTORY AFTER %s timestamp=2020-01-01T00:00:00.000Z 256", target)
	case 2:
		_, got = v.labeled("CHATHISTORY TARGETS timestamp=2020-01-01T00:00:00.000Z timestamp=2099-01-01T00:00:00.000Z 100")
		for _, line := range got { // all that is named can be read
			name := strings.Fields(line)[2]
			if _, lines := v.labeled("CHATHISTORY LATEST %s * 5", name); len(lines) == 0 || strings.HasPrefix(lines[0], "FAIL") {
				c.t.Fatalf("%s was told of %s, and gets %q", v.identity(), name, lines)
			}
		}
		return
	}
	for _, line := range got {
		_, text, _ := strings.Cut(line, " :")
		of, private := c.said[text]
		if !private {
			continue // a refusal
		}
		if of[0] != v.identity() && of[1] != v.identity() {
			c.t.Fatalf("%s (%s) reads %q in the history of %s, which was from %s to %s", v.identity(), v.nick, text, target, of[0], of[1])
		}
		c.seen++
	}
}

// Whoever comes and goes under whatever nicks: nobody reads a private line that
// was not from or to them, and those who can be known again do read theirs.
func TestPrivateHistoryIsOfIdentities(t *testing.T) {
	accounts := quickAccounts(t, "alice", "bob")
	for seed := range int64(3) {
		c := &crowd{t: t, r: rand.New(rand.NewSource(seed)), dir: t.TempDir(), accounts: accounts, people: map[string]bool{}, said: map[string][2]string{}}
		c.open()
		for range 300 {
			for len(c.here) < 2 {
				c.enter()
			}
			v := c.here[c.r.Intn(len(c.here))]
			switch n := c.r.Intn(100); {
			case n < 12 && len(c.here) < 5:
				c.enter()
			case n < 22:
				c.leave(v)
			case n < 30:
				c.rename(v)
			case n < 60:
				c.speak(v)
			case n < 99:
				c.pry(v)
			default:
				c.stop()
				c.open()
			}
		}
		c.stop()
		if c.seen == 0 {
			t.Error("nobody read anything")
		}
	}
}

// quickAccounts have passwords that are not slow to check, all of them
// "password".
func quickAccounts(t *testing.T, names ...string) *ircd.Accounts {
	t.Helper()
	salt := []byte("salt")
	hash, err := pbkdf2.Key(sha256.New, "password", salt, 1, 32)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]any{}
	for _, name := range names {
		all[name] = map[string]any{"name": name, "algorithm": "pbkdf2-sha256", "iterations": 1, "salt": salt, "hash": hash}
	}
	data, err := json.Marshal(map[string]any{"version": 1, "accounts": all})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "accounts.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	accounts, err := ircd.OpenAccounts(path)
	if err != nil {
		t.Fatal(err)
	}
	return accounts
}
