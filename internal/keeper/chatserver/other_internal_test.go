package chatserver

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"den/internal/testkit/need"

	"den/internal/chat/irc"
	"den/internal/place/workspace"
)

// attackEnv makes TestAttackChat the other user: "MODE COUNT ADDRESS".
const attackEnv = "DEN_TEST_ATTACK_CHAT"

// attackLines are what the other user says, at once.
const attackLines = "NICK eve%d\r\nUSER eve 0 * :eve\r\nJOIN #general\r\nPRIVMSG coder :attack\r\nPRIVMSG #general :@coder attack\r\n"

// TestAttackChat is not a test: it is another user of the machine, who
// connects, speaks and hangs up, in several ways.
func TestAttackChat(t *testing.T) {
	var mode, address string
	var count int
	if _, err := fmt.Sscan(os.Getenv(attackEnv), &mode, &count, &address); err != nil {
		need.Apart(t, "this is a helper of the test below")
	}
	network := "tcp"
	if strings.HasPrefix(address, "/") {
		network = "unix"
	}
	for i := range count {
		conn, err := net.Dial(network, address)
		if err != nil {
			if network == "unix" {
				continue // as it should be
			}
			t.Fatal(err)
		}
		attack(t, mode, i, conn)
		conn.Close() // Best effort: it may be closed already.
	}
}

func attack(t *testing.T, mode string, i int, conn net.Conn) {
	switch mode {
	case "heir": // who connected has ended when another process speaks
		raw, err := conn.(*net.TCPConn).File()
		if err != nil {
			t.Fatal(err)
		}
		defer raw.Close()
		heir := exec.Command("sh", "-c", fmt.Sprintf("printf '"+attackLines+"' >&3", i))
		heir.ExtraFiles = []*os.File{raw}
		if err := heir.Start(); err != nil {
			t.Fatal(err)
		}
		os.Exit(0)
	case "password":
		fmt.Fprint(conn, "PASS coder:coder\r\n") // Best effort: the server may have hung up.
	case "caps": // a negotiation that never ends, and one that ends late
		fmt.Fprint(conn, "CAP LS 302\r\nCAP REQ :sasl\r\nAUTHENTICATE PLAIN\r\nAUTHENTICATE *\r\nCAP END\r\n") // likewise
	case "guess":
		fmt.Fprint(conn, "CAP REQ :sasl\r\nAUTHENTICATE PLAIN\r\nAUTHENTICATE AGJvc3MAYm9zcwo=\r\nCAP END\r\n") // likewise
	case "nick":
		fmt.Fprint(conn, "NICK boss\r\nNICK coder\r\n") // likewise
	}
	fmt.Fprintf(conn, attackLines, i) // likewise
	switch mode {
	case "half":
		conn.(interface{ CloseWrite() error }).CloseWrite() // likewise
		conn.Read(make([]byte, 1))                          // until it is answered or cut off
	case "reset":
		if tcp, ok := conn.(*net.TCPConn); ok {
			tcp.SetLinger(0) // likewise
		}
	}
}

// otherUser runs TestAttackChat as a user who is not this one.
func otherUser(t *testing.T, binary, mode string, count int, address string) {
	t.Helper()
	cmd := exec.Command(binary, "-test.run=^TestAttackChat$")
	cmd.Dir, cmd.Env = "/", []string{"PATH=" + os.Getenv("PATH"), attackEnv + "=" + mode + " " + strconv.Itoa(count) + " " + address}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", mode, err, out)
	}
}

// Nothing that another user of the machine sends reaches an agent, whenever the
// connection is closed, however, and by whom: not in private, and not in a
// channel.
func TestOtherUsersDoNotReachAgents(t *testing.T) {
	need.Root(t, "becoming another user")
	open, err := os.MkdirTemp("/tmp", "den-chat-") // where another user may run it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(open) })
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(open, "other")
	for path, write := range map[string]error{open: os.Chmod(open, 0o755), binary: os.WriteFile(binary, self, 0o755)} {
		if write != nil {
			t.Fatalf("%s: %v", path, write)
		}
	}
	c := openChat(t, filepath.Join(t.TempDir(), "chat"), workspace.Server{})
	if err := c.SetAccount("boss", "long enough"); err != nil {
		t.Fatal(err)
	}
	secret, err := c.Secret("coder")
	if err != nil {
		t.Fatal(err)
	}
	coder, err := irc.Dial(t.Context(), irc.ClientConfig{Address: c.place.Socket, Password: secret, Nick: "coder", Channels: []irc.ChannelKey{{Name: "#general"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(coder.Close)
	modes := []string{"close", "half", "reset", "password", "caps", "guess", "nick"}
	for _, mode := range modes {
		otherUser(t, binary, mode, 200, c.place.Address)
	}
	otherUser(t, binary, "close", 200, c.place.Socket)
	if err := errors.Join(os.Chmod(c.place.Socket, 0o777), os.Chmod(filepath.Dir(c.place.Socket), 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"close", "half", "nick"} { // if the files did not keep them out
		otherUser(t, binary, mode, 200, c.place.Socket)
	}
	for range 20 {
		otherUser(t, binary, "heir", 1, c.place.Address)
	}
	person, err := irc.Dial(t.Context(), irc.ClientConfig{Address: c.place.Socket, Nick: "person"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(person.Close)
	if _, err := person.Send(t.Context(), "coder", "that is all"); err != nil {
		t.Fatal(err)
	}
	attacks := map[string]int{}
	for {
		e, err := coder.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == irc.EventMessage && e.From.Nick == "person" {
			break
		}
		if e.Kind == irc.EventMessage {
			attacks[e.Target]++
		}
	}
	if len(attacks) > 0 {
		t.Errorf("messages of another user that reached the agent, of %d: %v", 200*(len(modes)+4)+20, attacks)
	}
}
