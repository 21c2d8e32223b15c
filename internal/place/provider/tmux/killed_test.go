package tmux_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"den/internal/place/provider/tmux"
)

// killedSocket tells the test's own binary to be a keeper that will be killed.
const killedSocket = "DEN_TEST_KILLED_KEEPER"

func TestMain(m *testing.M) {
	if socket := os.Getenv(killedSocket); socket != "" {
		keep(socket)
	}
	os.Exit(m.Run())
}

// keep asks and watches, says so, and waits for its death.
func keep(socket string) {
	p, err := tmux.Open(tmux.Options{Socket: socket, Owner: "o"})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	if _, err := p.Watch(ctx); err != nil {
		panic(err)
	}
	if _, err := p.ListRunning(ctx, ""); err != nil {
		panic(err)
	}
	os.Stdout.WriteString("ready\n")
	select {}
}

// A keeper that is killed leaves its sessions and no client, also where others
// bring news that it cannot take any more.
func TestKilledKeeperLeavesNoClient(t *testing.T) {
	t.Parallel()
	needTmux(t)
	p := open(t, newSocket(t), "o")
	start(t, p, "w", "sleep", "1000")
	clients := func() int { return len(strings.Fields(mustRaw(t, p.socket, "list-clients", "-F", "#{client_pid}"))) }
	before := clients()
	for range 3 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), killedSocket+"="+p.socket)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
			t.Fatalf("the keeper said %q, %v", line, err)
		}
		if got := clients(); got != before+2 {
			t.Errorf("the keeper has %d clients, want 2", got-before)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for range 5 { // news for clients
			start(t, p, "news", "true")
			if err := p.Stop(t.Context(), "news"); err != nil {
				t.Fatal(err)
			}
		}
		cmd.Wait() // it was killed
	}
	eventually(t, "the keepers' clients are gone", func() bool { return clients() == before })
	if !isRunning(t, p, "w") {
		t.Error("a session went with its keeper")
	}
}
