package ircd_test

import (
	"reflect"
	"strings"
	"testing"

	"den/internal/chat/irc/ircd"
)

func TestRegister(t *testing.T) {
	_, address := start(t, ircd.Config{MOTD: []string{"hello"}, Network: "testnet"})
	p := dial(t, address)
	p.send("JOIN #early")
	p.expect("451 *")
	p.send("CAP LS 302")
	if m := p.expect("CAP * LS"); !strings.Contains(m.Last(), "labeled-response") || strings.Contains(m.Last(), "sasl") {
		t.Errorf("%s", m.Last())
	}
	p.send("NICK a")
	p.send("USER a 0 * :Real Name")
	p.send("CAP REQ :server-time no-such")
	p.expect("CAP a NAK")
	p.send("CAP END")
	if m := p.expect("001 a"); m.Last() != "Welcome to testnet, a!a@localhost" {
		t.Errorf("%s", m.Last())
	}
	p.expect("005 a")
	p.expect("372 a :- hello")
	p.expect("376 a")
	p.send("USER a 0 * :again")
	p.expect("462 a")
	p.send("NOSUCH")
	p.expect("421 a NOSUCH")
	p.send("KICK #x")
	p.expect("461 a KICK")
	p.send("QUIT :bye")
	if got := p.gone(); got != "Closing link: Quit: bye" {
		t.Errorf("%q", got)
	}
}

func TestNicks(t *testing.T) {
	_, address := start(t, ircd.Config{})
	a := join(t, address, "alice", "", "#c")
	b := join(t, address, "bob", "", "#c")
	for nick, want := range map[string]string{
		"ALICE": "433 bob ALICE", "1x": "432 bob 1x", "": "431 bob", "a*": "432 bob a*", strings.Repeat("n", 65): "432 bob nnn",
	} {
		b.send("NICK %s", nick)
		b.expect(want)
	}
	b.send("NICK carol")
	b.expect("NICK carol")
	if m := a.expect("NICK carol"); m.Source != "bob!bob@localhost" {
		t.Errorf("%s", m.Source)
	}
	a.send("NICK Alice") // only the case changes
	a.expect("NICK Alice")
	c := dial(t, address)
	c.send("NICK alice")
	c.send("USER x 0 * :x")
	c.expect("433 * alice")
	c.send("NICK dave")
	c.expect("001 dave")
}

func TestTalk(t *testing.T) {
	_, address := start(t, ircd.Config{})
	a := join(t, address, "alice", "", "#c")
	b := join(t, address, "bob", "", "#c")
	c := join(t, address, "carol", "")
	a.send("PRIVMSG #C :hello all")
	if m := b.expect("PRIVMSG #c :hello all"); m.Source != "alice!alice@localhost" || len(m.Tags) != 0 {
		t.Errorf("%v", m)
	}
	b.send("PRIVMSG Alice :psst")
	a.expect("PRIVMSG alice :psst")
	for line, want := range map[string]string{
		"PRIVMSG nobody :x":   "401 carol nobody",
		"PRIVMSG #nowhere :x": "403 carol #nowhere",
		"PRIVMSG #c :x":       "404 carol #c",
		"PRIVMSG":             "411 carol",
		"PRIVMSG #c":          "412 carol",
		"PRIVMSG bob :" + strings.Repeat("x", 490): "417 carol bob",
		"PRIVMSG bob :" + strings.Repeat("x", 520): "417 carol",
		"PART #nowhere":    "403 carol #nowhere",
		"PART #c":          "442 carol #c",
		"TOPIC #c :x":      "442 carol #c",
		"JOIN c":           "403 carol c",
		"INVITE nobody #c": "401 carol nobody",
		"WHOIS nobody":     "401 carol nobody",
		"MODE alice +i":    "502 carol",
		"KICK #c bob":      "442 carol #c",
	} {
		if got := c.do("%s", line); len(got) == 0 || !strings.HasPrefix(got[0], want) {
			t.Errorf("%.40s: %q, want %q", line, got, want)
		}
	}
	if got := c.do("NOTICE nobody :x"); len(got) != 0 {
		t.Errorf("an answer to a NOTICE: %q", got)
	}
	b.send("PART #c :later")
	a.expect("PART #c :later")
	b.send("QUIT")
	b.gone()
	if got := a.do("PRIVMSG bob :there?"); !reflect.DeepEqual(got, []string{"401 alice bob :No such nick/channel"}) {
		t.Errorf("%q", got)
	}
}

func TestChannelModes(t *testing.T) {
	_, address := start(t, ircd.Config{})
	op := join(t, address, "op", "", "#c")
	p := join(t, address, "p", "")
	if got := op.do("MODE #c"); !strings.HasPrefix(got[0], "324 op #c :+nt") {
		t.Errorf("%q", got)
	}
	op.send("MODE #c +ikl-t key 2")
	op.expect("MODE #c +i+k+l-t key 2")
	p.send("JOIN #c")
	p.expect("473 p #c")
	op.send("MODE #c -i")
	op.expect("MODE #c -i")
	p.send("JOIN #c wrong")
	p.expect("475 p #c")
	p.send("JOIN #c key")
	p.expect("366 p #c")
	q := join(t, address, "q", "")
	q.send("JOIN #c key")
	q.expect("471 q #c")
	op.send("MODE #c -lk x")
	op.expect("MODE #c -l-k *")
	op.send("MODE #c +b q")
	op.expect("MODE #c +b q!*@*")
	q.send("JOIN #c")
	q.expect("474 q #c")
	op.send("MODE #c b")
	op.expect("367 op #c q!*@* op!op@localhost")
	op.send("INVITE q #c")
	op.expect("341 op q :#c")
	q.expect("INVITE q #c")
	q.send("JOIN #c")
	q.expect("366 q #c")
	q.send("PRIVMSG #c :banned")
	q.expect("404 q #c")
	op.send("MODE #c +v q")
	q.expect("MODE #c +v q")
	q.send("PRIVMSG #c :voiced")
	p.expect("PRIVMSG #c :voiced")
	op.send("MODE #c +m")
	p.expect("MODE #c +m")
	p.send("PRIVMSG #c :x")
	p.expect("404 p #c")
	p.send("MODE #c +o p")
	p.expect("482 p #c")
	p.send("TOPIC #c :free for all")
	op.expect("TOPIC #c :free for all")
	op.send("KICK #c p :out")
	p.expect("KICK #c p :out")
	op.send("MODE #c +o nobody")
	op.expect("441 op nobody #c")
	op.send("MODE #c +z")
	op.expect("472 op z")
	if got := op.do("NAMES #c"); got[0] != "353 op = #c :@op +q" {
		t.Errorf("%q", got)
	}
}

func TestQueries(t *testing.T) {
	_, address := start(t, ircd.Config{})
	a := join(t, address, "alice", "", "#c", "#d")
	b := join(t, address, "bob", "multi-prefix userhost-in-names away-notify", "#c")
	a.send("MODE #c +v alice")
	b.expect("MODE #c +v alice")
	a.send("MODE alice +B")
	a.expect("MODE alice")
	a.send("TOPIC #c :the topic")
	b.expect("TOPIC #c :the topic")
	a.send("AWAY :lunch")
	b.expect("AWAY :lunch")
	for _, c := range []struct {
		ask  string
		want []string
	}{
		{"NAMES #c", []string{"353 bob = #c :@+alice!alice@localhost bob!bob@localhost", "366 bob #c :End of /NAMES list"}},
		{"WHO #c", []string{"352 bob #c alice localhost irc.den.local alice GB@+ :0 Real alice", "352 bob #c bob localhost irc.den.local bob H :0 Real bob", "315 bob #c :End of /WHO list"}},
		{"WHO ali* %tnaf,42", []string{"354 bob 42 alice GB :0", "315 bob ali* :End of /WHO list"}},
		{"WHO nobody", []string{"315 bob nobody :End of /WHO list"}},
		{"LIST", []string{"321 bob Channel :Users  Name", "322 bob #c 2 :the topic", "322 bob #d 1 :", "323 bob :End of /LIST"}},
		{"LIST #d", []string{"321 bob Channel :Users  Name", "322 bob #d 1 :", "323 bob :End of /LIST"}},
		{"USERHOST alice nobody bob", []string{"302 bob :alice=-alice@localhost bob=+bob@localhost"}},
		{"ISON alice nobody", []string{"303 bob :alice"}},
		{"PRIVMSG alice :hi", []string{"301 bob alice :lunch"}},
		{"TOPIC #d", []string{"442 bob #d :You're not on that channel"}},
		{"JOIN 0", []string{"PART #c"}},
	} {
		if got := b.do("%s", c.ask); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q, want %q", c.ask, got, c.want)
		}
	}
	got := strings.Join(b.do("WHOIS alice"), "\n")
	for _, want := range []string{"311 bob alice alice localhost * :Real alice", "319 bob alice :@#d @+#c", "301 bob alice :lunch", "335 bob alice", "318 bob alice"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}
