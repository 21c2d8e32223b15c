package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"den/internal/chat/irc/ircd"
)

// ircFlag makes this program a chat server: a process of its own, as its peers
// are.
const ircFlag = "-child-ircd"

// serveIRC serves ADDRESS with a history in DIR, or none if DIR is empty, until
// it is killed.
func serveIRC(args []string) int {
	l := must(ircd.Listen(args[0], nil))
	limits := ircd.Limits{LineRate: 1e9, LineBurst: 1 << 30, Clients: 5000, ClientsPerAddress: 5000, SendQueue: 10 << 20}
	s := must(ircd.New(ircd.Config{Dir: args[1], Limits: limits}))
	if err := s.Serve(context.Background(), l); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// An ircServer is a contestant that runs.
type ircServer struct {
	who     string
	address string
	cmd     *exec.Cmd
}

const ngircdConf = `[Global]
	Name = irc.bench.local
	Info = bench
	Listen = 127.0.0.1
	Ports = PORT
	MotdPhrase = hello
	ServerUID = root
	ServerGID = root
[Limits]
	MaxConnections = 0
	MaxConnectionsIP = 0
	MaxNickLength = 30
	MaxPenaltyTime = 0
	MaxJoins = 0
[Options]
	DNS = no
	Ident = no
	PAM = no
`

const inspircdConf = `<server name="irc.bench.local" description="bench" network="bench">
<admin name="x" nick="x" email="x@x">
<bind address="127.0.0.1" port="PORT" type="clients">
<connect allow="*" timeout="60" localmax="5000" globalmax="5000" maxchans="200" useident="no" resolvehostnames="no" commandrate="1000000" fakelag="no" threshold="100000" recvq="1048576" softsendq="10485760" hardsendq="104857600">
<options prefixquit="Quit: ">
<performance netbuffersize="65000" softlimit="10000">
<limits maxnick="30" maxline="512">
<pid file="DIR/pid">
<path configdir="DIR" datadir="DIR" logdir="DIR" moduledir="/usr/lib/inspircd/modules">
<log method="file" type="* -USERINPUT -USEROUTPUT" level="default" target="DIR/log">
<module name="ircv3"><module name="cap"><module name="ircv3_capnotify"><module name="ircv3_servertime"><module name="ircv3_batch"><module name="ircv3_ctctags"><module name="ircv3_echomessage"><module name="ircv3_labeledresponse"><module name="ircv3_msgid">
`

// startIRC starts the servers that are installed.
func (b *bench) startIRC() ([]*ircServer, error) {
	var servers []*ircServer
	for _, who := range []string{"den", "den, no history", "ngircd", "inspircd"} {
		s, err := b.startServer(who)
		if err != nil {
			return servers, fmt.Errorf("%s: %w", who, err)
		}
		if s == nil {
			b.out.note("%s is missing: install it to see the comparison", who)
			continue
		}
		servers = append(servers, s)
	}
	return servers, nil
}

func (b *bench) startServer(who string) (*ircServer, error) {
	dir, err := os.MkdirTemp(b.tmp, "irc")
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	s := &ircServer{who: who, address: fmt.Sprint("127.0.0.1:", port)}
	conf := filepath.Join(dir, "conf")
	fill := strings.NewReplacer("DIR", dir, "PORT", fmt.Sprint(port))
	switch who {
	case "den":
		s.cmd = exec.Command(b.self, ircFlag, s.address, dir)
	case "den, no history":
		s.cmd = exec.Command(b.self, ircFlag, s.address, "")
	case "ngircd":
		s.cmd = exec.Command(who, "-n", "-f", conf)
		err = os.WriteFile(conf, []byte(fill.Replace(ngircdConf)), 0o644)
	case "inspircd":
		s.cmd = exec.Command(who, "--runasroot", "--nofork", "--config="+conf)
		err = os.WriteFile(conf, []byte(fill.Replace(inspircdConf)), 0o644)
	}
	if err != nil {
		return nil, err
	}
	if s.cmd.Err != nil {
		return nil, nil // it is not installed
	}
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	return s, awaitPort(port)
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// awaitPort waits until a server accepts connections on a port of this machine.
func awaitPort(port int) error {
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", port))
		if err == nil {
			return conn.Close()
		}
		if time.Since(begun) > 30*time.Second {
			return fmt.Errorf("nobody listens: %w", err)
		}
	}
}

func (s *ircServer) stop() { kill(s.cmd) }

// kill ends a process that was started, and waits for it.
func kill(cmd *exec.Cmd) {
	cmd.Process.Kill() // Best effort: it may have ended.
	cmd.Wait()         // Best effort: it was killed.
}
