package ircd_test

import (
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"den/internal/chat/irc"
	"den/internal/chat/irc/ircd"
)

// drives reports what in a line of the server drives a reader's terminal.
func drives(line string) string {
	body := strings.TrimRight(line, "\r\n")
	if at := strings.Index(body, " :\x01ACTION "); at >= 0 && strings.HasSuffix(body, "\x01") {
		body = body[:at] + strings.TrimSuffix(body[at+len(" :\x01ACTION "):], "\x01")
	}
	for at, r := range body {
		control := unicode.IsControl(r) && !strings.ContainsRune("\t\x02\x0f\x11\x16\x1d\x1e\x1f", r)
		if control || unicode.Is(unicode.Bidi_Control, r) || r == utf8.RuneError && body[at] >= 0x80 && body[at] < 0xa0 {
			return fmt.Sprintf("%U in %q", r, line)
		}
	}
	return ""
}

// nasty are pieces of what an agent may say.
var nasty = []string{"\x1b]0;x\a", "\x1b[2J", "\u009b31m", "\x9b", "\u202e", "\u2066", "\x01", "\x01DCC SEND x 1 1 1\x01", "\x03", "\x04", "\x7f", "\x08", "\xe2\x80", "\xae", "a", " ", ",", "ä", "\x02", "\x85"}

// Whatever a client says, by any command and in any place, no other client gets
// what drives its terminal, and neither does who reads the history of a server
// that was less careful.
func TestNothingDrivesTerminals(t *testing.T) {
	dir := t.TempDir()
	old := `{"format":"den-irc-history","version":1}
{"id":1000000,"conversation":"#c","command":"PRIVMSG","source":"x!x@localhost","target":"#c","text":"\u001b[2J\u202e old","tags":{"+x":"\u001b["}}
{"id":1000001,"conversation":"#c","command":"PRIVMSG","source":"x!x@localhost","target":"#c","raw":"m1tt"}
{"id":1000002,"conversation":"#c","command":"PRIVMSG","source":"x!x@localhost","target":"#c","text":"\u0001VERSION\u0001"}
`
	channels := `{"version":1,"channels":[{"name":"#c","topic":"\u001b[2J","key":"","bans":[{"mask":"\u001b[2J!*@*","by":"x!x@y"}]}]}`
	for name, content := range map[string]string{"history-00000001.jsonl": old, "channels.json": channels} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, address := start(t, ircd.Config{Dir: dir})
	agent := join(t, address, "agent", v3+" setname", "#c")
	reader := join(t, address, "reader", v3+" setname", "#c")
	r := rand.New(rand.NewSource(1))
	text := func() string {
		var b strings.Builder
		for range 1 + r.Intn(4) {
			b.WriteString(nasty[r.Intn(len(nasty))])
		}
		return strings.ReplaceAll(strings.ReplaceAll(b.String(), "\r", ""), "\n", "")
	}
	word := func() string { return strings.ReplaceAll(text(), " ", "") }
	for range 600 {
		switch r.Intn(12) {
		case 0:
			agent.send("PRIVMSG #c,reader :%s", text())
		case 1:
			agent.send("NOTICE reader :%s", text())
		case 2:
			agent.send("PRIVMSG reader :\x01ACTION %s\x01", text())
		case 3:
			agent.send("TOPIC #c :%s", text())
		case 4:
			agent.send("SETNAME :%s", text())
		case 5:
			agent.send("AWAY :%s", text())
		case 6:
			agent.send("PART #c :%s\r\nJOIN #c", text())
		case 7:
			agent.send("MODE #c +b %s", word())
		case 8:
			agent.send("MODE #c +k %s\r\nMODE #c -k x", word())
		case 9:
			agent.send("NICK agent%s\r\nNICK agent", word())
		case 10:
			agent.send("@+%s=%s TAGMSG reader", strings.NewReplacer(";", "", "=", "").Replace(word()), word())
		case 11:
			agent.send("JOIN #%s\r\nINVITE reader #%[1]s", word())
		}
	}
	agent.send("QUIT :%s", text())
	agent.gone()
	reader.send("WHO *\r\nLIST\r\nTOPIC #c\r\nMODE #c b\r\nCHATHISTORY LATEST #c * 256\r\nCHATHISTORY LATEST agent * 256\r\nCHATHISTORY AFTER #c timestamp=1970-01-01T00:00:00.000Z 5\r\nPING :that is all")
	lines, older := 0, 0
	for {
		line, err := reader.in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if what := drives(line); what != "" {
			t.Error(what)
		}
		lines++
		m, err := irc.Parse(line)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if strings.HasPrefix(m.Source, "x!") {
			older++
		}
		if m.Command == "PONG" {
			break
		}
	}
	if lines < 500 || older < 3 {
		t.Errorf("%d lines, %d of them old", lines, older)
	}
}
