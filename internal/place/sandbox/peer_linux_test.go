package sandbox_test

import (
	"net"
	"os"
	"os/exec"
	"testing"

	"den/internal/base/rpc"
	"den/internal/testkit/need"
)

// A server that a sandbox can reach knows who calls from inside, whatever they
// do, and who does not.
func TestServerKnowsWhoIsConfined(t *testing.T) {
	need.Program(t, "python3")
	if !rpc.KnowsPeers() {
		need.Feature(t, "this kernel does not tell which process connected")
	}
	for name, uid := range users {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, uid, true)
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: w.at("keeper.sock"), Net: "unix"})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if err := os.Chmod(w.at("keeper.sock"), 0o777); err != nil {
				t.Fatal(err)
			}
			w.policy.Sockets = []string{w.at("keeper.sock")}
			const stay = "s.recv(1)"                             // until it is let go
			const leave = "\nif os.fork(): os._exit(0)\n" + stay // a child has the connection, who made it is gone
			connect := func(then string) []string {
				return []string{"/usr/bin/python3", "-c", "import os, socket\ns = socket.socket(socket.AF_UNIX)\ns.connect('" + w.at("keeper.sock") + "')\n" + then}
			}
			for _, c := range []struct {
				what string
				cmd  *exec.Cmd
				gone bool
				want bool
			}{
				{"outside", w.as(exec.Command(connect(stay)[0], connect(stay)[1:]...)), false, false},
				{"inside", w.confine(connect(stay)...), false, true},
				{"inside, and gone", w.confine(connect(leave)...), true, true},
			} {
				if err := c.cmd.Start(); err != nil {
					t.Fatal(err)
				}
				conn, err := l.AcceptUnix()
				if err != nil {
					t.Fatal(err)
				}
				if c.gone {
					if err := c.cmd.Wait(); err != nil {
						t.Error(err)
					}
				}
				if got := rpc.PeerConfined(conn); got != c.want {
					t.Errorf("%s: %v", c.what, got)
				}
				conn.Close()
				if !c.gone {
					if err := c.cmd.Wait(); err != nil {
						t.Errorf("%s: %v", c.what, err)
					}
				}
			}
		})
	}
}
