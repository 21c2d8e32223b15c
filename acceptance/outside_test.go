package acceptance

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"den/internal/chat/irc"
)

// A person on another machine, by TLS and with an account, is the owner of an
// agent: that account decides what the agent may do, and no nick does.
func TestOwnerFromOutside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	trusting := makeCertificate(t, certFile, keyFile)
	m := newHarnessTrial(t, fakeBackends[0], harnessSettings{
		account: "boss",
		server:  fmt.Sprintf("[server]\nlisten = \"127.0.0.1:0\"\ntls_cert = %q\ntls_key = %q\n", certFile, keyFile),
	})
	const password = "correct horse"
	if _, stderr, code := m.tryStdin(password+"\n", "accounts", "set", "boss"); code != 0 {
		t.Fatalf("accounts set: exit %d: %s", code, stderr)
	}
	if out := m.do("accounts"); out != "boss\n" {
		t.Errorf("accounts: %q", out)
	}
	for _, refused := range []struct{ stdin, name, why string }{
		{"short", "eve", "at least 8"}, {password, m.agent, "nick of an agent"}, {password, "no name", "no valid name"}, {"", "eve", "at least 8"},
	} {
		if _, stderr, code := m.tryStdin(refused.stdin, "accounts", "set", refused.name); code != 2 || !strings.Contains(stderr, refused.why) {
			t.Errorf("accounts set %q: exit %d: %s", refused.name, code, stderr)
		}
	}
	if _, stderr, code := m.with("DEN_AGENT="+m.agent).tryStdin(password, "accounts", "set", "boss"); code != 12 || !strings.Contains(stderr, "an agent does not decide") {
		t.Errorf("an agent set the password of its owner: exit %d: %s", code, stderr)
	}
	outside := irc.ClientConfig{Address: m.ps().Server.Listen, TLS: trusting, Nick: "boss"}
	if client, err := irc.Dial(t.Context(), outside); err == nil {
		client.Close()
		t.Error("somebody from outside was let in without a login")
	}
	outside.Login = &irc.Login{Account: "boss", Password: password}
	boss := meetBy(t, outside, m.agent)

	m.mention("task:use:approved")
	asked := boss.await(t, "May I?", func(e irc.Event) bool {
		return e.From.Nick == m.agent && e.Target == "boss" && strings.HasPrefix(e.Text, "May I? ") && strings.Contains(e.Text, "touch approved")
	})
	id, _, _ := strings.Cut(strings.TrimPrefix(asked.Text, "May I? "), ":")
	m.mention("approve %s", id)
	m.bob.await(t, "only the account", func(e irc.Event) bool { return strings.Contains(e.Text, "only the account 'boss' decides") })
	boss.say(t, m.agent, "approve "+id)
	m.answered("#general", "tried approved")
	if !m.made("approved") {
		t.Error("what was approved was not done")
	}
	audit, err := os.ReadFile(filepath.Join(m.stateDir(), "permission", "audit.jsonl"))
	if err != nil || !strings.Contains(string(audit), "boss (account)") {
		t.Errorf("the audit log does not say who decided: %v\n%s", err, audit)
	}
	m.do("accounts", "remove", "boss")
	boss.awaitEnd(t)
	m.end()
}

// awaitEnd waits until the connection was cut.
func (p *talker) awaitEnd(t testing.TB) {
	t.Helper()
	for late := time.After(harnessPatience); ; {
		p.mu.Lock()
		news, ended := p.news, false
		for _, e := range p.heard {
			ended = ended || e.Kind == irc.EventDisconnected
		}
		p.mu.Unlock()
		if ended {
			return
		}
		select {
		case <-news:
		case <-late:
			t.Fatal("the connection stands")
		}
	}
}

// makeCertificate writes one for this machine, and returns who trusts it.
func makeCertificate(t *testing.T, certFile, keyFile string) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: cert}, keyFile: {Type: "EC PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}))
	return &tls.Config{RootCAs: pool, ServerName: "127.0.0.1"}
}
