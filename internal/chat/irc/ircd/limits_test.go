package ircd_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/chat/irc/ircd"
)

func fuzzServe(f *testing.F, s *ircd.Server) string {
	f.Helper()
	l, err := ircd.Listen("127.0.0.1:0", nil)
	if err != nil {
		f.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	f.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			f.Errorf("Serve: %v", err)
		}
	})
	return l.Addr().String()
}

// A client that does not read is cut off; the others are not held up.
func TestSlowReader(t *testing.T) {
	for _, tt := range []struct {
		limits ircd.Limits
		reason string
	}{
		{ircd.Limits{SendQueue: 64 << 10}, "SendQ exceeded"},
		{ircd.Limits{SendQueue: 1 << 30, Write: 100 * time.Millisecond}, "Write error"},
	} {
		t.Run(tt.reason, func(t *testing.T) { testSlowReader(t, tt.limits, tt.reason) })
	}
}

func testSlowReader(t *testing.T, limits ircd.Limits, reason string) {
	limits.LineRate, limits.LineBurst = 1e6, 1<<20
	_, address := start(t, ircd.Config{Limits: limits})
	slow := join(t, address, "slow", "", "#c")
	fast := join(t, address, "fast", "", "#c")
	other := join(t, address, "other", "", "#c")
	if err := slow.conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	const batch = 100 // fits in the queue of a client that reads
	lines := strings.Repeat("PRIVMSG #c :"+strings.Repeat("x", 400)+"\r\n", batch)
	for left := ""; left == ""; {
		fast.send("%s", strings.TrimSuffix(lines, "\r\n"))
		for range batch {
			m := other.read()
			if m.Command == "QUIT" {
				left = m.String()
				m = other.read()
			}
			if m.Command != "PRIVMSG" {
				t.Fatalf("%s", m)
			}
		}
		if left != "" && (!strings.Contains(left, "slow") || !strings.Contains(left, reason)) {
			t.Errorf("%q", left)
		}
	}
	if got := fast.do("PRIVMSG slow :x"); len(got) == 0 || !strings.HasPrefix(got[len(got)-1], "401 fast slow") {
		t.Errorf("%q", got)
	}
}

// When a client sees that its connection is closed, the server has forgotten
// it: messages to it are refused.
func TestForgottenBeforeClosed(t *testing.T) {
	const moment = 200 * time.Millisecond
	var leaving atomic.Pointer[peer]
	var early string
	_, address := start(t, ircd.Config{Now: func() time.Time {
		// The server asks for the time when it handles a line, and while it
		// forgets a client.
		if p := leaving.Load(); p != nil {
			p.conn.SetReadDeadline(time.Now().Add(moment))
			got, _ := io.ReadAll(p.conn)
			early += string(got)
		}
		return time.Now()
	}})
	a := join(t, address, "alice", "", "#c")
	b := join(t, address, "bob", "", "#c")
	leaving.Store(b)
	b.send("QUIT")
	a.expect("QUIT :Quit")
	leaving.Store(nil)
	if early != "" {
		t.Errorf("bob reads %q before the server has forgotten it", early)
	}
	b.conn.SetReadDeadline(time.Now().Add(patience))
	if got := b.gone(); got != "Closing link: Quit" {
		t.Errorf("%q", got)
	}
	if got := a.do("PRIVMSG bob :there?"); !reflect.DeepEqual(got, []string{"401 alice bob :No such nick/channel"}) {
		t.Errorf("%q", got)
	}
}

func TestTimeouts(t *testing.T) {
	const short = 50 * time.Millisecond
	_, address := start(t, ircd.Config{Limits: ircd.Limits{Register: short}})
	if got := dial(t, address).gone(); got != "Closing link: Registration timed out" {
		t.Errorf("%q", got)
	}
	_, address = start(t, ircd.Config{Limits: ircd.Limits{PingInterval: short, PingTimeout: short}})
	p := dial(t, address)
	p.send("NICK p\r\nUSER p 0 * :p")
	p.expect("PING :irc.den.local")
	if got := p.gone(); got != "Closing link: Ping timeout" {
		t.Errorf("%q", got)
	}
}

func TestBounds(t *testing.T) {
	_, address := start(t, ircd.Config{Limits: ircd.Limits{Clients: 2, Channels: 3, ChannelsPerClient: 2, ListEntries: 2}})
	a, b := join(t, address, "a", "", "#1", "#2"), join(t, address, "b", "", "#3")
	a.send("JOIN #3")
	a.expect("405 a #3")
	b.send("JOIN #4")
	b.expect("437 b #4")
	if got := dial(t, address).gone(); got != "Too many connections" {
		t.Errorf("%q", got)
	}
	a.send("MODE #1 +bb x y")
	a.expect("MODE #1 +b+b x!*@* y!*@*")
	a.send("MODE #1 +b z")
	a.expect("478 a #1 z!*@*")
	a.send("PRIVMSG %s :x", strings.Repeat("b,", 20)+"b")
	a.sync() // the server has handled it
	if got := b.do("PING x"); len(got) != 8+1 {
		t.Errorf("%d copies", len(got)-1)
	}
}

// Too many lines wait, and none is lost.
func TestFlood(t *testing.T) {
	_, address := start(t, ircd.Config{Limits: ircd.Limits{LineRate: 2000, LineBurst: 10}})
	a, b := join(t, address, "a", "", "#c"), join(t, address, "b", "", "#c")
	for i := range 200 {
		a.send("PRIVMSG #c :%d", i)
	}
	for i := range 200 {
		if m := b.expect("PRIVMSG #c"); m.Last() != fmt.Sprint(i) {
			t.Fatalf("%s, want %d", m.Last(), i)
		}
	}
}

// What was handled is delivered although its sender waits with the rest.
func TestPacedSenderHoldsNothingBack(t *testing.T) {
	const burst, spent = 10, 3 // NICK, USER and JOIN
	_, address := start(t, ircd.Config{Limits: ircd.Limits{LineRate: 0.001, LineBurst: burst}})
	a, b := join(t, address, "a", "", "#c"), join(t, address, "b", "", "#c")
	a.send("%s", strings.TrimSuffix(strings.Repeat("PRIVMSG #c :x\r\n", 2*burst), "\r\n"))
	for range burst - spent {
		b.expect("PRIVMSG #c")
	}
}

func TestLongLines(t *testing.T) {
	_, address := start(t, ircd.Config{})
	p := join(t, address, "p", "")
	p.send("%s", strings.Repeat("x", 100<<10))
	p.expect("417 p")
	p.send("PING ok")
	p.expect("PONG irc.den.local :ok")
	for _, bad := range []string{"PRIVMSG p :a\x00b", "PRIVMSG p :a\rb", ":x", "@a"} {
		p.send("%s", bad)
		p.expect("417 p")
	}
}

// What PASS says is a resident's secret, or an account with its password, and
// nothing else: who sends it means to be somebody.
func TestPassword(t *testing.T) {
	s, secure, plain := outside(t, ircd.Config{})
	s.SetResidents(map[string]string{"fox": "secret", "bare": ""})
	for _, pass := range []string{"wrong", "secrets", "fox:secret", "alice:", "alice:wrong", "secret:", ":secret", ":"} {
		p := dial(t, plain)
		p.send("PASS :%s\r\nNICK p\r\nUSER p 0 * :p", pass)
		if got := p.gone(); got != "Closing link: Bad password" {
			t.Errorf("%s: %q", pass, got)
		}
	}
	for _, p := range []*peer{dial(t, plain), dialTLS(t, secure, anyCertificate)} {
		p.send("CAP REQ account-tag\r\nPASS alice:secret\r\nNICK alice\r\nUSER p 0 * :p\r\nCAP END")
		p.expect("900 *")
		p.expect("001 alice") // the second one replaces the first
	}
	p := dialTLS(t, secure, anyCertificate)
	p.send("PASS secret\r\nNICK fox\r\nUSER p 0 * :p") // a resident's secret is no login
	if got := p.gone(); !strings.HasPrefix(got, "Closing link: Login required: ") {
		t.Errorf("%q", got)
	}
	p = dial(t, plain)
	p.send("NICK bare\r\nUSER p 0 * :p")
	p.expect("433 * bare")
}

func selfSigned(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// Outside of this machine the server speaks TLS with those who log in.
func TestOutsideNeedsTLSAndLogins(t *testing.T) {
	accounts, err := ircd.OpenAccounts(filepath.Join(t.TempDir(), "accounts.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := accounts.Set("alice", "secret"); err != nil {
		t.Fatal(err)
	}
	secure := &tls.Config{Certificates: []tls.Certificate{selfSigned(t)}}
	for _, c := range []struct {
		cfg ircd.Config
		tls *tls.Config
	}{{ircd.Config{}, nil}, {ircd.Config{Accounts: accounts}, nil}, {ircd.Config{}, secure}, {ircd.Config{Accounts: accounts}, &tls.Config{}}} {
		l, err := ircd.Listen("0.0.0.0:0", c.tls)
		if err != nil {
			t.Fatal(err)
		}
		s, err := ircd.New(c.cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Serve(t.Context(), l); fault.KindOf(err) != fault.Denied {
			t.Errorf("%v", err)
		}
	}
	l, err := ircd.Listen("0.0.0.0:0", secure)
	if err != nil {
		t.Fatal(err)
	}
	startOn(t, ircd.Config{Accounts: accounts}, l)
	address := fmt.Sprint("127.0.0.1:", l.Addr().(*net.TCPAddr).Port)
	client := &tls.Config{InsecureSkipVerify: true} // its certificate is not what is tested
	p := dialTLS(t, address, client)
	p.send("NICK p\r\nUSER p 0 * :p")
	if got := p.gone(); !strings.HasPrefix(got, "Closing link: Login required: ") {
		t.Errorf("%q", got)
	}
	p = dialTLS(t, address, client)
	p.send("CAP REQ sasl\r\nNICK alice\r\nUSER p 0 * :p\r\nAUTHENTICATE PLAIN")
	p.expect("AUTHENTICATE +")
	p.send("AUTHENTICATE AGFsaWNlAHNlY3JldA==")
	p.expect("903 alice")
	p.send("CAP END")
	p.expect("001 alice")
}

// outside is a server for clients from outside, which is reached by TLS on a
// loopback address, and one for clients of this machine.
func outside(t *testing.T, cfg ircd.Config) (s *ircd.Server, secure, plain string) {
	t.Helper()
	accounts, err := ircd.OpenAccounts(filepath.Join(t.TempDir(), "accounts.json"))
	if err == nil {
		err = accounts.Set("alice", "secret")
	}
	if err != nil {
		t.Fatal(err)
	}
	cfg.Accounts = accounts
	far, err := ircd.Listen("127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{selfSigned(t)}})
	if err != nil {
		t.Fatal(err)
	}
	far.Login = true
	near, err := ircd.Listen("127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	return startOn(t, cfg, far, near), far.Addr().String(), near.Addr().String()
}

// anyCertificate is for clients in tests of something else.
var anyCertificate = &tls.Config{InsecureSkipVerify: true}

// logIn sends everything up to the end of a registration with the account
// alice.
func (p *peer) logIn(nick string) {
	p.t.Helper()
	p.nick = nick
	p.send("CAP REQ :sasl account-tag\r\nNICK %s\r\nUSER p 0 * :p\r\nAUTHENTICATE PLAIN", nick)
	p.expect("AUTHENTICATE +")
	p.send("AUTHENTICATE AGFsaWNlAHNlY3JldA==")
	p.expect("903 " + nick)
	p.send("CAP END")
}

// A listener can ask for logins on a loopback address too: every user of the
// machine reaches it, and a tunnel may end there. Who does not log in is told
// what to do, in any client. On another listener of the same server clients need
// none.
func TestLoginsOnLoopback(t *testing.T) {
	_, secure, plain := outside(t, ircd.Config{LoginHint: "ask bob"})
	const hint = "You must log in to use this server, by SASL or PASS account:password; ask bob"
	for caps, want := range map[string]string{"batch": "464 p :" + hint, "standard-replies": "FAIL * ACCOUNT_REQUIRED :" + hint} {
		p := dialTLS(t, secure, anyCertificate)
		p.send("CAP REQ %s\r\nNICK p\r\nUSER p 0 * :p\r\nCAP END", caps)
		p.expect(want)
		if got := p.gone(); got != "Closing link: Login required: "+hint {
			t.Errorf("%q", got)
		}
	}
	alice := dialTLS(t, secure, anyCertificate)
	alice.logIn("alice")
	alice.expect("001 alice")
	near := dial(t, plain)
	near.send("NICK near\r\nUSER p 0 * :p\r\nPRIVMSG alice :hello")
	alice.expect("PRIVMSG alice :hello")
	s, err := ircd.New(ircd.Config{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := ircd.Listen("127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	l.Login = true
	if err := s.Serve(t.Context(), l); fault.KindOf(err) != fault.Denied {
		t.Errorf("without accounts: %v", err)
	}
}

// Who does not log in cannot fill the server: there is room for others.
func TestStrangersAreFew(t *testing.T) {
	_, secure, plain := outside(t, ircd.Config{Limits: ircd.Limits{Strangers: 2}})
	for range 2 {
		p := dialTLS(t, secure, anyCertificate)
		p.send("CAP LS 302")
		p.expect("CAP * LS")
	}
	if conn, err := tls.Dial("tcp", secure, anyCertificate); err == nil {
		conn.Close()
		t.Error("a third one was let in")
	}
	join(t, plain, "near", "")
}

// The nick of a resident is for the resident alone: others would hear what is
// said to it while it is away. Its new connection replaces an old one.
func TestResidentsNickIsItsOwn(t *testing.T) {
	s, secure, plain := outside(t, ircd.Config{})
	thief := join(t, plain, "FOX", "")
	s.SetResidents(map[string]string{"Fox": "secret"})
	if got := thief.gone(); got != "Closing link: Nickname belongs to an agent" {
		t.Errorf("%q", got)
	}
	alice := dialTLS(t, secure, anyCertificate)
	alice.logIn("fox")
	alice.expect("433 * fox :Nickname belongs to an agent")
	alice.send("NICK alice")
	alice.expect("001 alice")
	alice.send("NICK fox")
	alice.expect("433 alice fox")
	near := dial(t, plain)
	near.send("NICK Fox\r\nUSER p 0 * :p")
	near.expect("433 * Fox :Nickname belongs to an agent")
	near.register("near", "")
	near.send("NICK fOX")
	near.expect("433 near fOX")
	var foxes [2]*peer
	for i := range foxes {
		foxes[i] = dial(t, plain)
		foxes[i].send("PASS secret")
		foxes[i].register("Fox", "")
	}
	if got := foxes[0].gone(); got != "Closing link: Replaced by a new connection" {
		t.Errorf("%q", got)
	}
}

// Those who are logged in with an account that is changed are disconnected, and
// nobody else is.
func TestEndLogins(t *testing.T) {
	s, secure, plain := outside(t, ircd.Config{})
	alice := dialTLS(t, secure, anyCertificate)
	alice.logIn("alice")
	alice.expect("001 alice")
	near := join(t, plain, "near", "")
	s.EndLogins("ALICE")
	if got := alice.gone(); got != "Closing link: The account was changed" {
		t.Errorf("%q", got)
	}
	near.sync()
}

func TestStats(t *testing.T) {
	s, address := start(t, ircd.Config{})
	join(t, address, "a", "", "#1", "#2")
	if got := s.Stats(); got.Clients != 1 || got.Channels != 2 || got.Error != nil {
		t.Errorf("%+v", got)
	}
	if s.Address() != address {
		t.Errorf("%q, want %q", s.Address(), address)
	}
}

func TestBadConfig(t *testing.T) {
	for _, cfg := range []ircd.Config{{Name: "nodot"}, {Name: "a b.c"}, {Network: "a b"}} {
		if _, err := ircd.New(cfg); fault.KindOf(err) != fault.Usage {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}
