// Package servertest runs servers and containers of a test's own, which end with it.
package servertest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"den/internal/testkit/need"
)

// Prompt is what a shell behind SSHD shows.
const Prompt = "remote$"

// SSHD runs servers of the test's own and returns a client's command line. Whoever
// comes gets a bash with the prompt Prompt.
func SSHD(t *testing.T) []string {
	t.Helper()
	sshd := findSSHD(t)
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, key := range []string{"host", "user"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", at(key)).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v\n%s", err, out)
		}
	}
	config := fmt.Sprintf(`HostKey %s
AuthorizedKeysFile %s
PidFile none
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication no
PrintMotd no
PrintLastLog no
ForceCommand exec env -i HOME=%s TERM=xterm LC_ALL=C.UTF-8 PATH=/usr/bin:/bin 'PS1=%s ' bash --norc --noprofile
`, at("host"), at("user.pub"), dir, Prompt)
	if err := os.WriteFile(at("config"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	port := serveEach(t, sshd, "-i", "-E", at("log"), "-f", at("config"))
	return []string{
		"ssh", "-F", "none", "-tt", "-i", at("user"), "-p", strconv.Itoa(port), "-o", "IdentitiesOnly=yes", "-o", "StrictHostKeyChecking=no",
		"-o", "UserKnownHostsFile=" + at("known"), "-o", "LogLevel=ERROR", me.Username + "@127.0.0.1",
	}
}

// findSSHD returns the server's path. It insists on an absolute one, and as
// root on a directory that an init system would make.
func findSSHD(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"ssh", "ssh-keygen"} {
		need.Program(t, name)
	}
	sshd, err := exec.LookPath("sshd")
	if err != nil {
		sshd = "/usr/sbin/sshd"
	}
	if _, err := os.Stat(sshd); err != nil {
		need.Missing(t, "sshd is not installed")
	}
	if os.Getuid() == 0 {
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil { // It stays: other tests' servers use it.
			t.Fatal(err)
		}
	}
	return sshd
}

// serveEach has a process of its own serve each connection to a port, as inetd
// does, and returns the port. It belongs to the test all the time: a server that
// is told a port which was free may find another one there.
func serveEach(t *testing.T, argv ...string) (port int) {
	t.Helper()
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.AcceptTCP()
			if err != nil {
				return // closed, below
			}
			serving.Go(func() { serve(ctx, t, c, argv) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		cancel()
		serving.Wait()
	})
	return l.Addr().(*net.TCPAddr).Port
}

// serve runs a program whose standard input and output are a connection.
func serve(ctx context.Context, t *testing.T, c *net.TCPConn, argv []string) {
	f, err := c.File()
	c.Close() // f is a copy
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout = f, f
	if err := cmd.Start(); err != nil {
		t.Error(err)
		return
	}
	cmd.Wait() // Its code is that of the session.
}

// Postgres runs a server of the test's own and returns its socket's directory.
func Postgres(t *testing.T) string {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is right
	if len(found) == 0 {
		need.Missing(t, "no PostgreSQL server is installed")
	}
	dir, err := os.MkdirTemp("/tmp", "den-pg-") // short: its socket goes here
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	var as *syscall.SysProcAttr
	if os.Getuid() == 0 { // the server refuses to run as root
		u, err := user.Lookup("postgres")
		if err != nil {
			need.Missing(t, "PostgreSQL has no user to run as")
		}
		uid, _ := strconv.Atoi(u.Uid) // numbers on any Unix
		gid, _ := strconv.Atoi(u.Gid)
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
		as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
	bin, data := filepath.Dir(found[len(found)-1]), filepath.Join(dir, "data")
	server := func(name string, args ...string) {
		cmd := exec.Command(filepath.Join(bin, name), args...)
		cmd.Dir, cmd.SysProcAttr = dir, as
		if out, err := cmd.Output(); err != nil { // not its stderr: the server keeps that open
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
	}
	server("initdb", "-D", data, "-A", "trust", "-U", "postgres", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8")
	server("pg_ctl", "-D", data, "-w", "-l", filepath.Join(dir, "log"),
		"-o", "-c listen_addresses= -c fsync=off -c unix_socket_directories="+dir, "start")
	t.Cleanup(func() { server("pg_ctl", "-D", data, "-w", "-m", "immediate", "stop") })
	return dir
}
