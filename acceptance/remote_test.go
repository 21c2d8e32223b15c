package acceptance

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"den/internal/session/cell"
	"den/internal/testkit/need"
)

// farInputs are for a shell of which den sees no processes: on another machine, or
// behind a terminal of somebody else's. It gets its marks with the first.
var farInputs = []input{
	{code: "echo hello", out: "hello"},
	{code: "true"},
	{code: "nosuchcommand", out: "bash: nosuchcommand: command not found", exit: 127},
	{code: "echo one\necho two", out: "one\ntwo"},
	{code: "echo 'a\nb'", out: "a\nb"},
	{code: "for i in 1 2; do\necho $i\ndone", out: "1\n2"},
	{code: "sleep 0.3; echo slow", out: "slow", minimum: 300},
	{code: "printf 'no newline'", out: "no newline"},
	{code: "seq 1 2000 | tail -n 2", out: "1999\n2000"},
	{code: "echo bu''sy; sleep 100", busy: "busy", exit: 130},
	{code: "echo after", out: "after"},
	{code: "exit 7", by: cell.ByExit, exit: 7, out: "exit"},
}

// TestRemote runs cells in a shell behind ssh: as the session's program, and
// as a command of a shell with marks.
func TestRemote(t *testing.T) {
	t.Parallel()
	ssh := startSSHD(t)
	w := newWorld(t)
	far := program{name: "far", by: cell.ByShell, inputs: farInputs}
	w.do(append([]string{"new", "far", "--"}, ssh...)...)
	w.do("wait", "far", "--text", farPrompt)
	for _, in := range far.inputs {
		w.give(far, in)
	}

	near := program{name: "near", by: cell.ByShell}
	w.do("new", "near", "bash", "--norc")
	line := strings.Join(ssh, " ")
	w.give(near, input{
		code: line, fire: true, shows: farPrompt, answer: []string{"type", "exit 5", "--enter"},
		out: farPrompt + " exit 5\nexit", exit: 5,
	})
	w.give(near, input{code: "echo back", out: "back"})
	for _, c := range []struct {
		name  string
		argv  []string
		early bool // do not wait for the first prompt
		by    cell.By
		in    input
	}{
		{
			"nested", []string{"bash", "--norc"}, true, cell.ByShell,
			input{
				code: line, waits: cell.ForInput, asks: `remote\$ `, answer: []string{"type", "exit 5", "--enter"},
				out: farPrompt + " exit 5\nexit", exit: 5,
			},
		},
		{
			"question", ssh, false, cell.ByShell,
			input{
				code: `read -p "name? " x; echo "[$x]"`, waits: cell.ForInput, asks: `name\? `,
				answer: []string{"type", "bob", "--enter"}, out: "name? bob\n[bob]",
			},
		},
		{
			"early", ssh, true, cell.ByShell, input{code: "echo hello", out: "hello"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			mine := *w
			mine.t = t
			mine.do(append([]string{"new", c.name, "--marks", "off", "--"}, c.argv...)...)
			if !c.early {
				mine.do("wait", c.name, "--text", farPrompt)
			}
			mine.give(program{name: c.name, by: c.by}, c.in)
		})
	}
}

const farPrompt = "remote$"

// startSSHD runs servers of the test's own and returns a client's command
// line. Whoever comes gets a bash with the prompt farPrompt.
func startSSHD(t *testing.T) []string {
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
`, at("host"), at("user.pub"), dir, farPrompt)
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
	if !exists(sshd) {
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

// TestOtherUsers runs cells in the shells that su and sudo start: as the
// session's program without marks, and as a command of a shell with marks.
func TestOtherUsers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env = append(w.env, "LC_ALL=C.UTF-8")
	for _, c := range []struct {
		name   string
		argv   []string
		by, or cell.By
		nested bool // is told as a question in a shell with marks
	}{
		{"su", []string{"su", "-", "nobody", "-s", "/bin/bash"}, cell.ByReady, cell.ByReady, true},
		{"su-c", []string{"su", "-c", "HISTFILE= bash --norc"}, cell.ByReady, cell.ByReady, true},
		{"sudo", []string{"sudo", "-n", "env", "PS1=$ ", "HISTFILE=", "bash", "--norc"}, cell.ByLearned, cell.ByReady, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			mayBecome(t, c.argv[0])
			mine := *w
			mine.t = t
			mine.do(append([]string{"new", c.name, "--marks", "off", "--"}, c.argv...)...)
			mine.do("wait", c.name, "--regex", `[$#]`)
			p := program{name: c.name, by: c.by, or: c.or}
			for _, in := range farInputs {
				switch {
				case in.by == cell.ByExit:
					in.out, in.like = "", "(exit|logout)"
				case strings.Contains(in.code, "nosuch"):
					in.out, in.like = "", "-?bash: .*nosuchcommand.*"
				case in.out == "no newline" && c.name == "sudo":
					p.or = cell.ByQuiet // nobody can tell it from a question
				}
				mine.give(p, in)
				p.or = c.or
			}
			mine.nested(c.name, c.argv, c.nested)
		})
	}
}

// nested starts a program in a shell with marks, and leaves it.
func (w *world) nested(name string, argv []string, asks bool) {
	w.t.Helper()
	in := program{name: "in-" + name, by: cell.ByShell}
	w.do("new", in.name, "bash", "--norc")
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = "'" + a + "'"
	}
	line := strings.Join(words, " ")
	given := input{
		code: line, waits: cell.ForInput, asks: `(?s:.*)[$#] `, answer: []string{"type", "exit 5", "--enter"},
		like: `.*[$#] exit 5\n(exit|logout)`, exit: 5,
	}
	if !asks { // den does not tell this as a question yet
		given.fire, given.shows = true, "\n$"
	}
	w.give(in, given)
	w.give(in, input{code: "echo back", out: "back"})
}

// mayBecome skips where su or sudo would ask for a password.
func mayBecome(t *testing.T, tool string) {
	t.Helper()
	need.Program(t, tool)
	if tool == "su" && os.Getuid() != 0 {
		need.Feature(t, "su asks for a password: run the tests as root")
	}
	if out, err := exec.Command(tool, map[string][]string{"su": {"-c", "true"}, "sudo": {"-n", "true"}}[tool]...).CombinedOutput(); err != nil {
		need.Feature(t, "%s asks for a password, or may not: %v: %s", tool, err, out)
	}
}
