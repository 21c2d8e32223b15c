package chatserver

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/chat/irc"
	"den/internal/place/workspace"
)

// talking is a workspace with an agent in a channel.
func talking(s workspace.Server) *workspace.Workspace {
	return &workspace.Workspace{Server: s, Agents: []workspace.Agent{{Name: "a", Channel: workspace.Channel{Backend: "script", Channels: []string{"#general"}}}}}
}

// writeCertificate makes one for this machine, and returns who trusts it.
func writeCertificate(t *testing.T, certFile, keyFile string) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
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
	parsed, err := x509.ParseCertificate(cert)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return &tls.Config{RootCAs: pool, ServerName: "127.0.0.1"}
}

// visit connects once, and says why it could not.
func visit(t *testing.T, c irc.ClientConfig) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	client, err := irc.Dial(ctx, c)
	if err == nil {
		client.Close()
	}
	return err
}

// Other machines are let in where the workspace says so, by TLS, with an
// account; this one as before. A file that says something else is followed, and
// one that cannot be followed leaves the server as it was.
func TestChatServerForOtherMachines(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	trusting := writeCertificate(t, certFile, keyFile)
	c := idleChat(t, filepath.Join(dir, "chat"))
	if err := c.SetAccount("bob", "long enough"); fault.KindOf(err) != fault.NotRunning {
		t.Errorf("without a server: %v", err)
	}
	if err := c.Ensure(talking(workspace.Server{})); err != nil {
		t.Fatal(err)
	}
	here := c.place.Address
	if c.place.Listen != "" || !c.place.Own {
		t.Fatalf("%+v", c.place)
	}
	if err := c.Ensure(talking(workspace.Server{Listen: "127.0.0.1:0", TLSCert: certFile, TLSKey: keyFile})); err != nil {
		t.Fatal(err)
	}
	if c.place.Address != here || c.place.Listen == "" {
		t.Fatalf("%+v, before at %s", c.place, here)
	}
	if err := c.SetAccount("bob", "short"); fault.KindOf(err) != fault.Usage {
		t.Errorf("a short password: %v", err)
	}
	if err := c.SetAccount("bob", "long enough"); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(c.accountsFile()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	outside := irc.ClientConfig{Address: c.place.Listen, TLS: trusting, Nick: "bob"}
	if err := visit(t, outside); err == nil {
		t.Error("nobody logged in, and was let in")
	}
	for password, want := range map[string]bool{"long enough": true, "too short?": false} {
		outside.Login = &irc.Login{Account: "bob", Password: password}
		if err := visit(t, outside); (err == nil) != want {
			t.Errorf("%q: %v", password, err)
		}
	}
	if err := visit(t, irc.ClientConfig{Address: c.place.Socket, Nick: "somebody"}); err != nil {
		t.Errorf("from this machine: %v", err)
	}
	if err := c.Ensure(talking(workspace.Server{Listen: "127.0.0.1:0", TLSCert: certFile, TLSKey: certFile})); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate that is none: %v", err)
	}
	if err := visit(t, irc.ClientConfig{Address: c.place.Socket, Nick: "somebody"}); err != nil {
		t.Errorf("after a file that cannot be followed: %v", err)
	}
	if names, err := c.Accounts(); err != nil || len(names) != 1 {
		t.Errorf("%v, %v", names, err)
	}
	if err := c.RemoveAccount("bob"); err != nil {
		t.Error(err)
	}
	if err := c.RemoveAccount("bob"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("%v", err)
	}
}

// A certificate that is renewed is used from then on; half of one is not.
func TestCertificateIsRenewed(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeCertificate(t, certFile, keyFile)
	c := &certificate{certFile: certFile, keyFile: keyFile}
	serial := func() string {
		t.Helper()
		got, err := c.get(nil)
		if err != nil {
			t.Fatal(err)
		}
		return got.Leaf.SerialNumber.String()
	}
	first := serial()
	key, err := os.ReadFile(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	writeCertificate(t, certFile, keyFile)
	newKey, err := os.ReadFile(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	changed := time.Now().Add(time.Minute) // whatever the file system's clock can tell apart
	write := func(data []byte, at time.Time) {
		t.Helper()
		if err := os.WriteFile(keyFile, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(keyFile, at, at); err != nil {
			t.Fatal(err)
		}
	}
	write(key, changed)
	if got := serial(); got != first {
		t.Errorf("with the old key: %s, want %s", got, first)
	}
	write(newKey, changed.Add(time.Minute))
	if got := serial(); got == first {
		t.Error("the new certificate is not used")
	}
}

// The port of last time may be another program's by now.
func TestChatServerFindsAnotherPort(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "chat")
	first := openChat(t, dir, workspace.Server{})
	last := first.place.Address
	first.Close()
	other, err := net.Listen("tcp", last)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	second := openChat(t, dir, workspace.Server{})
	if second.place.Address == last || !second.place.Own {
		t.Errorf("%+v", second.place)
	}
	if err := visit(t, irc.ClientConfig{Address: second.place.Socket, Nick: "bob"}); err != nil {
		t.Error(err)
	}
}
