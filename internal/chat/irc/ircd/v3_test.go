package ircd_test

import (
	"encoding/base64"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"den/internal/base/fault"
	"den/internal/chat/irc"
	"den/internal/chat/irc/ircd"
)

const v3 = "batch labeled-response echo-message message-tags server-time account-tag draft/chathistory standard-replies"

// labeled sends a line with a label and returns the answer: the type of the
// batch, or "", and its messages.
func (p *peer) labeled(format string, args ...any) (kind string, answer []string) {
	p.t.Helper()
	p.send("@label=L1 "+format, args...)
	first := p.read()
	for first.Tags.Value("label") != "L1" {
		first = p.read()
	}
	if first.Command != "BATCH" {
		return "", []string{text(first)}
	}
	outer := first.Param(0)[1:]
	for {
		m := p.read()
		if m.Command == "BATCH" && m.Param(0) == "-"+outer {
			return first.Param(1), answer
		}
		if m.Tags.Value("batch") != outer {
			p.t.Errorf("%s is not in batch %s", m, outer)
		}
		answer = append(answer, text(m))
	}
}

func TestLabels(t *testing.T) {
	_, address := start(t, ircd.Config{Dir: t.TempDir()})
	p := join(t, address, "p", v3)
	for _, c := range []struct {
		ask, kind string
		want      []string
	}{
		{"PING x", "", []string{"PONG irc.den.local :x"}},
		{"PONG x", "", []string{"ACK"}},
		{"JOIN #c", "labeled-response", []string{"JOIN #c", "353 p = #c :@p", "366 p #c :End of /NAMES list"}},
		{"PRIVMSG #c :hi", "", []string{"PRIVMSG #c :hi"}},
		{"PRIVMSG nobody :hi", "", []string{"401 p nobody :No such nick/channel"}},
		{"NOTICE nobody :hi", "", []string{"ACK"}},
		{"NOSUCH", "", []string{"421 p NOSUCH :Unknown command"}},
		{"CHATHISTORY LATEST #c * 5", "chathistory", []string{"PRIVMSG #c :hi"}},
		{"CHATHISTORY LATEST #no * 5", "", []string{"FAIL CHATHISTORY INVALID_TARGET LATEST #no :Messages could not be retrieved"}},
		{"CHATHISTORY LATEST #c x 5", "", []string{"FAIL CHATHISTORY INVALID_PARAMS LATEST x :Invalid message reference"}},
		{"CHATHISTORY LATEST #c *", "", []string{"FAIL CHATHISTORY NEED_MORE_PARAMS LATEST :Missing parameters"}},
		{"CHATHISTORY LATER #c * 1", "", []string{"FAIL CHATHISTORY INVALID_PARAMS LATER :Unknown command"}},
	} {
		if kind, got := p.labeled("%s", c.ask); kind != c.kind || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %s %q, want %s %q", c.ask, kind, got, c.kind, c.want)
		}
	}
}

func TestTags(t *testing.T) {
	_, address := start(t, ircd.Config{Dir: t.TempDir()})
	a, b := join(t, address, "a", v3, "#c"), join(t, address, "b", "message-tags", "#c")
	plain := join(t, address, "plain", "", "#c")
	a.send("MODE a +B")
	a.expect("MODE a")
	a.send("@+draft/reply=x;account=forged;msgid=forged;time=forged PRIVMSG #c :hi")
	echo := a.expect("PRIVMSG #c :hi")
	if _, forged := echo.Tags.Get("account"); echo.Tags.Value("msgid") == "forged" || forged || echo.Tags.Value("time") == "forged" || echo.Tags.Value("+draft/reply") != "x" {
		t.Errorf("%v", echo)
	}
	got := b.expect("PRIVMSG #c :hi")
	if _, hasTime := got.Tags.Get("time"); hasTime || got.Tags.Value("msgid") != echo.Tags.Value("msgid") || got.Tags.Value("+draft/reply") != "x" {
		t.Errorf("%v", got)
	}
	if _, bot := got.Tags.Get("bot"); !bot {
		t.Errorf("no bot tag: %v", got)
	}
	if got := plain.expect("PRIVMSG #c :hi"); len(got.Tags) != 0 {
		t.Errorf("%v", got)
	}
	a.send("@+typing=active TAGMSG #c")
	b.expect("TAGMSG #c")
	if got := plain.do("PING x"); len(got) != 1 {
		t.Errorf("a TAGMSG reached a client without tags: %q", got)
	}
	a.send("@+x=%s PRIVMSG #c :long tags", strings.Repeat("y", 4000))
	if got := b.expect("PRIVMSG #c :long tags"); len(got.Tags.Value("+x")) != 4000 {
		t.Error("tags were cut")
	}
	a.send("@+x=%s PRIVMSG #c :too long", strings.Repeat("y", 5000))
	a.expect("417 a")
}

// texts are the messages of a batch.
func history(p *peer, format string, args ...any) string {
	p.t.Helper()
	_, answer := p.labeled("CHATHISTORY "+format, args...)
	var all []string
	for _, line := range answer {
		_, text, _ := strings.Cut(line, " :")
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

func TestChatHistory(t *testing.T) {
	cfg := ircd.Config{Dir: t.TempDir()}
	_, address := start(t, cfg)
	a := join(t, address, "a", v3, "#c")
	var ids, times []string
	for i := range 6 {
		a.send("PRIVMSG #c :%d", i)
		m := a.expect("PRIVMSG #c")
		ids, times = append(ids, m.Tags.Value("msgid")), append(times, m.Tags.Value("time"))
	}
	for _, c := range []struct{ ask, want string }{
		{"LATEST #c * 2", "4 5"},
		{"LATEST #C * 1000", "0 1 2 3 4 5"},
		{"LATEST #c msgid=" + ids[2] + " 2", "4 5"},
		{"LATEST #c msgid=" + ids[4] + " 2", "5"},
		{"BEFORE #c msgid=" + ids[3] + " 2", "1 2"},
		{"AFTER #c msgid=" + ids[3] + " 10", "4 5"},
		{"AFTER #c msgid=" + ids[0] + " 2", "1 2"},
		{"AROUND #c msgid=" + ids[3] + " 3", "2 3 4"},
		{"BETWEEN #c msgid=" + ids[1] + " msgid=" + ids[4] + " 10", "2 3"},
		{"BETWEEN #c msgid=" + ids[5] + " msgid=" + ids[0] + " 2", "3 4"},
		{"AFTER #c timestamp=2020-01-01T00:00:00.000Z 2", "0 1"},
		{"BEFORE #c timestamp=2020-01-01T00:00:00.000Z 2", ""},
		{"AFTER #c timestamp=" + times[5] + " 2", ""},
		{"LATEST #c * 0", ""},
	} {
		if got := history(a, "%s", c.ask); got != c.want {
			t.Errorf("%s: %q, want %q", c.ask, got, c.want)
		}
	}
	// Nobody reads what is not for them.
	outsider := join(t, address, "outsider", v3)
	if _, got := outsider.labeled("CHATHISTORY LATEST #c * 5"); !strings.HasPrefix(got[0], "FAIL CHATHISTORY INVALID_TARGET") {
		t.Errorf("%q", got)
	}
	b := join(t, address, "b", v3)
	b.send("PRIVMSG a :secret")
	b.expect("PRIVMSG a :secret")
	for _, c := range []struct {
		p         *peer
		ask, want string
	}{{a, "LATEST b * 5", "secret"}, {b, "LATEST a * 5", "secret"}, {outsider, "LATEST a * 5", ""}, {outsider, "LATEST b * 5", ""}, {outsider, "LATEST a,b * 5", "Messages could not be retrieved"}} {
		if got := history(c.p, "%s", c.ask); got != c.want {
			t.Errorf("%s: %s: %q, want %q", c.p.nick, c.ask, got, c.want)
		}
	}
	const always = "timestamp=2020-01-01T00:00:00.000Z timestamp=2099-01-01T00:00:00.000Z"
	if kind, got := a.labeled("CHATHISTORY TARGETS %s 10", always); kind != "draft/chathistory-targets" || len(got) != 2 || !strings.HasPrefix(got[0], "CHATHISTORY TARGETS #c ") || !strings.HasPrefix(got[1], "CHATHISTORY TARGETS b ") {
		t.Errorf("%s %q", kind, got)
	}
	if _, got := outsider.labeled("CHATHISTORY TARGETS %s 10", always); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

func TestAccounts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "accounts.json")
	accounts, err := ircd.OpenAccounts(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := accounts.Set("Alice", "secret"); err != nil {
		t.Fatal(err)
	}
	if accounts, err = ircd.OpenAccounts(path); err != nil { // from the file
		t.Fatal(err)
	}
	for _, password := range []string{"", "two\nlines", "nul\x00", strings.Repeat("x", 300)} {
		if err := accounts.Set("carol", password); fault.KindOf(err) != fault.Usage {
			t.Errorf("%.10q: %v", password, err)
		}
	}
	if names := accounts.Names(); !slices.Equal(names, []string{"Alice"}) {
		t.Errorf("%q", names)
	}
	_, address := start(t, ircd.Config{Accounts: accounts, Dir: t.TempDir(), Limits: ircd.Limits{LoginAttempts: 3}})
	plain := func(parts ...string) string {
		return base64.StdEncoding.EncodeToString([]byte(strings.Join(parts, "\x00")))
	}
	p := dial(t, address)
	p.send("CAP LS 302")
	if m := p.expect("CAP * LS"); !strings.Contains(m.Last(), "sasl=PLAIN") {
		t.Errorf("%s", m)
	}
	p.send("CAP REQ :sasl account-tag")
	p.expect("CAP * ACK")
	for _, step := range [][2]string{
		{"AUTHENTICATE EXTERNAL", "908 * PLAIN"},
		{"AUTHENTICATE PLAIN", "904 *"}, // the rest of the answer before
		{"AUTHENTICATE *", "906 *"},
		{"AUTHENTICATE PLAIN", "AUTHENTICATE +"},
		{"AUTHENTICATE " + plain("", "alice", "wrong"), "904 *"},
		{"AUTHENTICATE PLAIN", "AUTHENTICATE +"},
		{"AUTHENTICATE " + plain("", "alice", "secret"), "900 * *!*@localhost Alice"},
		{"AUTHENTICATE PLAIN", "903 *"},
	} {
		p.send("%s", step[0])
		p.expect(step[1])
	}
	p.expect("907 *")
	p.send("NICK alice")
	p.send("USER a 0 * :a")
	p.send("CAP END")
	p.expect("422 alice")

	thief := dial(t, address)
	thief.send("NICK ALICE")
	thief.send("USER x 0 * :x")
	thief.expect("433 * ALICE")
	thief.send("NICK thief")
	thief.expect("422 thief")
	thief.send("CAP REQ :account-tag sasl")
	thief.expect("CAP thief ACK")
	p.send("PRIVMSG thief :hi")
	if m := thief.expect("PRIVMSG thief :hi"); m.Tags.Value("account") != "Alice" {
		t.Errorf("%v", m)
	}
	for range 3 {
		thief.send("AUTHENTICATE PLAIN")
		thief.expect("AUTHENTICATE +")
		thief.send("AUTHENTICATE !!!")
	}
	if got := thief.gone(); got != "Closing link: Too many login attempts" {
		t.Errorf("%q", got)
	}
	long := dial(t, address)
	long.send("CAP REQ sasl")
	long.send("AUTHENTICATE PLAIN")
	long.expect("AUTHENTICATE +")
	for range 6 {
		long.send("AUTHENTICATE %s", strings.Repeat("A", 400))
	}
	long.expect("905 *")
}

func TestNotifications(t *testing.T) {
	accounts, err := ircd.OpenAccounts(filepath.Join(t.TempDir(), "accounts.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := accounts.Set("acc", "secret"); err != nil {
		t.Fatal(err)
	}
	_, address := start(t, ircd.Config{Accounts: accounts})
	w := join(t, address, "watcher", "extended-join away-notify account-notify setname invite-notify", "#c")
	p := join(t, address, "p", "sasl")
	p.send("AWAY :out")
	p.expect("306 p")
	p.send("JOIN #c")
	w.expect("JOIN #c * :Real p")
	w.expect("AWAY :out")
	p.send("AUTHENTICATE PLAIN")
	p.send("AUTHENTICATE %s", base64.StdEncoding.EncodeToString([]byte("\x00acc\x00secret")))
	w.expect("ACCOUNT acc")
	p.send("SETNAME :New Name")
	w.expect("SETNAME :New Name")
	p.send("AWAY")
	w.expect("AWAY")
	p.send("PART #c")
	p.send("JOIN #c")
	w.expect("JOIN #c acc :New Name")
	q := join(t, address, "q", "")
	p.expect("366 p #c")
	p.send("INVITE q #c")
	w.expect("INVITE q #c")
	q.expect("INVITE q #c")
}

// A restart of the server loses no message that somebody received.
func TestHistorySurvivesRestart(t *testing.T) {
	dir := t.TempDir()
	var want []string
	for round := range 3 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			_, address := start(t, ircd.Config{Dir: dir})
			p := join(t, address, "p", v3, "#c")
			if got := history(p, "LATEST #c * 100"); got != strings.Join(want, " ") {
				t.Errorf("%q, want %q", got, want)
			}
			text := fmt.Sprint("round-", round)
			p.send("PRIVMSG #c :%s", text)
			p.expect("PRIVMSG #c :" + text)
			want = append(want, text)
		})
	}
}

func FuzzServer(f *testing.F) {
	f.Add("JOIN #c\nPRIVMSG #c :hi\nMODE #c +ovb-k a b\nWHO #c %tna,1\nCHATHISTORY LATEST #c * 5")
	f.Add("@label=1;+x=\\s CAP LS 302\nCAP REQ :batch\nAUTHENTICATE PLAIN\nNICK x\nUSER a b c :d\nLIST *\nWHOIS p p")
	s, err := ircd.New(ircd.Config{Dir: f.TempDir(), HistoryBytes: 1 << 20})
	if err != nil {
		f.Fatal(err)
	}
	address := fuzzServe(f, s)
	f.Fuzz(func(t *testing.T, lines string) {
		p := dial(t, address)
		p.send("CAP REQ :%s\r\nNICK p%p\r\nUSER p 0 * :p\r\nCAP END", v3, p)
		for line := range strings.SplitSeq(lines, "\n") {
			p.send("%s", line)
		}
		p.send("QUIT")
		for {
			line, err := p.in.ReadString('\n')
			if err != nil {
				return
			}
			if m, err := irc.Parse(line); err != nil {
				t.Fatalf("%q: %v", line, err)
			} else if m.Command != "ERROR" && m.Source == "" {
				t.Fatalf("%q has no source", line)
			}
		}
	})
}
