package irctest_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"den/internal/chat/irc"
	"den/internal/testkit/need"
)

// realVar turns on the tests that need other servers and clients: 'make
// test-irc'.
const realVar = "DEN_TEST_IRC"

func requireReal(t *testing.T) {
	t.Helper()
	if os.Getenv(realVar) != "1" {
		need.Apart(t, "'make test-irc' runs it")
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// scratch is a directory that other users can read: some servers refuse to run
// as root.
func scratch(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "den-irc-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// daemon runs a program until the test ends.
func daemon(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "output"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait() // Best effort: it was killed.
		out.Close()
		if t.Failed() {
			text, _ := os.ReadFile(out.Name()) // Best effort: it explains the failure.
			t.Logf("%s said:\n%s", cmd.Path, text)
		}
	})
}

// listening waits until somebody accepts connections.
func listening(t *testing.T, address string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond) // nothing tells when another program listens
	}
}

const ngircdConf = `[Global]
	Name = irc.test.local
	Info = test
	Listen = 127.0.0.1
	Ports = %d
	MotdPhrase = hello
	ServerUID = root
	ServerGID = root
[Limits]
	MaxConnections = 0
	MaxConnectionsIP = 0
	MaxNickLength = 30
	PingTimeout = 120
	MaxPenaltyTime = 0
	MaxJoins = 0
	MaxListSize = 0
[Options]
	DNS = no
	Ident = no
	PAM = no
[SSL]
	CertFile = %s
	KeyFile = %s
	Ports = %d
`

// ngircd has no extensions and disconnects who sends more than 512 bytes.
func TestNgircd(t *testing.T) {
	requireReal(t)
	program := need.Program(t, "ngircd")
	dir := scratch(t)
	certFile, keyFile, pool := certificate(t, dir)
	port, securePort := freePort(t), freePort(t)
	conf := filepath.Join(dir, "ngircd.conf")
	write(t, conf, fmt.Sprintf(ngircdConf, port, certFile, keyFile, securePort))
	daemon(t, exec.Command(program, "-n", "-f", conf))
	plain, secure := fmt.Sprint("127.0.0.1:", port), fmt.Sprint("127.0.0.1:", securePort)
	listening(t, plain)
	t.Run("Plain", func(t *testing.T) { Run(t, Target{Address: plain}) })
	t.Run("TLS", func(t *testing.T) { Run(t, Target{Address: secure, TLS: &tls.Config{RootCAs: pool}}) })
}

// certificate makes a certificate for 127.0.0.1.
func certificate(t *testing.T, dir string) (certFile, keyFile string, pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "irc.test.local"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	write(t, certFile, string(certPEM))
	write(t, keyFile, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})))
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(certPEM)
	return certFile, keyFile, pool
}

const inspircdConf = `<server name="irc.test.local" description="test" network="test">
<admin name="x" nick="x" email="x@x">
<bind address="127.0.0.1" port="PORT" type="clients">
<bind address="127.0.0.1" port="LINK" type="servers">
<connect allow="*" timeout="60" localmax="1000" globalmax="1000" maxchans="200" useident="no" resolvehostnames="no" commandrate="100000" fakelag="no" threshold="10000" recvq="65536" softsendq="1048576" hardsendq="10485760">
<options prefixquit="Quit: " allowhalfop="yes" prefixpart="" suffixpart="">
<performance netbuffersize="10240">
<security announceinvites="all">
<limits maxnick="30" maxline="512">
<pid file="DIR/inspircd.pid">
<path configdir="DIR" datadir="DIR" logdir="DIR" moduledir="/usr/lib/inspircd/modules">
<log method="file" type="* -USERINPUT -USEROUTPUT" level="default" target="DIR/inspircd.log">
<module name="ircv3"><module name="cap"><module name="ircv3_capnotify"><module name="ircv3_servertime"><module name="ircv3_batch">
<module name="ircv3_ctctags"><module name="ircv3_echomessage"><module name="ircv3_labeledresponse"><module name="ircv3_msgid">
<module name="namesx"><module name="ircv3_accounttag"><module name="services_account"><module name="monitor">
<module name="spanningtree"><module name="hideoper"><module name="chghost"><module name="svshold">
<module name="cloaking"><cloak mode="half" key="abcdefghijklmnopqrstuvwxyz0123456789" prefix="x-">
<module name="customprefix">
<customprefix name="founder" letter="q" prefix="~" rank="50000" ranktoset="50000">
<customprefix name="admin" letter="a" prefix="&amp;" rank="40000" ranktoset="50000">
<customprefix name="halfop" letter="h" prefix="%" rank="20000" ranktoset="30000">
<module name="sasl"><sasl target="services.test.local" requiressl="no">
<link name="services.test.local" ipaddr="127.0.0.1" port="LINK" allowmask="127.0.0.0/8" sendpass="linkpw" recvpass="linkpw" timeout="60">
<uline server="services.test.local" silent="yes">
`

const athemeConf = `loadmodule "modules/protocol/inspircd";
loadmodule "modules/backend/opensex";
loadmodule "modules/crypto/pbkdf2v2";
loadmodule "modules/nickserv/main";
loadmodule "modules/nickserv/register";
loadmodule "modules/nickserv/identify";
loadmodule "modules/nickserv/info";
loadmodule "modules/saslserv/main";
loadmodule "modules/saslserv/plain";
loadmodule "modules/operserv/main";
serverinfo { name = "services.test.local"; desc = "test"; numeric = "00A"; recontime = 1; netname = "test"; hidehostsuffix = "u.test"; adminname = "x"; adminemail = "x@x"; registeremail = "x@x"; mta = "/bin/true"; loglevel = { error; info; }; maxcertfp = 0; maxlogins = 50; maxusers = 0; mdlimit = 30; emaillimit = 0; emailtime = 300; auth = none; casemapping = rfc1459; };
uplink "irc.test.local" { host = "127.0.0.1"; port = LINK; send_password = "linkpw"; receive_password = "linkpw"; };
nickserv { nick = "NickServ"; user = "NickServ"; host = "services"; real = "n"; };
saslserv { nick = "SaslServ"; user = "SaslServ"; host = "services"; real = "s"; };
operserv { nick = "OperServ"; user = "OperServ"; host = "services"; real = "o"; };
general { };
`

// inspircd has the extensions but no history; its accounts are those of
// atheme.
func TestInspircd(t *testing.T) {
	requireReal(t)
	inspircd, atheme, setpriv := need.Program(t, "inspircd"), need.Program(t, "atheme-services"), need.Program(t, "setpriv")
	dir := scratch(t)
	port, link := freePort(t), freePort(t)
	fill := strings.NewReplacer("DIR", dir, "PORT", fmt.Sprint(port), "LINK", fmt.Sprint(link))
	serverConf, servicesConf := filepath.Join(dir, "inspircd.conf"), filepath.Join(dir, "atheme.conf")
	write(t, serverConf, fill.Replace(inspircdConf))
	write(t, servicesConf, fill.Replace(athemeConf))
	daemon(t, exec.Command(inspircd, "--runasroot", "--nofork", "--config="+serverConf))
	address := fmt.Sprint("127.0.0.1:", port)
	listening(t, address)
	daemon(t, exec.Command(setpriv, "--reuid=nobody", "--regid=nogroup", "--clear-groups", atheme, "-n",
		"-c", servicesConf, "-D", dir, "-l", filepath.Join(dir, "services.log"), "-p", filepath.Join(dir, "services.pid")))
	login := registerAccount(t, address)
	Run(t, Target{Address: address, Login: login, Labels: true})
}

// registerAccount makes an account by NickServ, as soon as that is there.
func registerAccount(t *testing.T, address string) *irc.Login {
	t.Helper()
	login := &irc.Login{Account: "member", Password: "secret-1"}
	c, err := irc.Dial(t.Context(), irc.ClientConfig{Address: address, Nick: login.Account, Limits: Limits()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for deadline := time.Now().Add(time.Minute); ; {
		_, err := c.Send(t.Context(), "NickServ", "REGISTER "+login.Password+" member@test.local")
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond) // nothing tells when the services are there
	}
	for {
		e, err := c.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if e.Command == "NOTICE" && strings.Contains(e.Text, "now registered") {
			return login
		}
		if e.Command == "NOTICE" {
			t.Log(e.Text)
		}
	}
}
