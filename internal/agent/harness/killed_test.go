package harness_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"den/internal/agent/harness"
	"den/internal/agent/harness/ipc"
	"den/internal/agent/harness/onirc"
	"den/internal/agent/runner/local"
	"den/internal/agent/runner/script"
	"den/internal/chat/irc"
)

// childEnv has the state directory of a harness that the test binary runs as a
// process of its own, so that it can be killed.
const childEnv = "DEN_TEST_HARNESS"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		if err := runChild(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func runChild(dir string) error {
	c, err := harness.Load(dir)
	if err != nil {
		return err
	}
	return harness.Run(context.Background(), harness.Options{
		Config: c, StateDir: dir, Driver: script.Driver{}, Spawn: local.Spawner{Mark: dir}, Connect: onirc.Connect,
		Screen: harness.NewScreen(nil, io.Discard, nil, time.Now), Getenv: os.Getenv,
	})
}

// spawn runs a harness as a process, of an agent that the server knows. kill ends
// it at once.
func (w *world) spawn(nick, shell string) (kill func()) {
	w.t.Helper()
	state := filepath.Join(w.dir, "state-"+nick)
	secret := filepath.Join(w.dir, "secret")
	if err := os.WriteFile(secret, []byte("secret of "+nick), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.server.SetResidents(map[string]string{nick: "secret of " + nick})
	c := harness.Config{
		Agent: nick, Nick: nick, Dir: w.dir, Backend: "script", Command: []string{"sh", "-c", shell},
		Server: harness.Server{Address: w.address, Own: true, PasswordFile: secret}, Channels: []string{"#general"}, Den: "/nowhere/den",
	}
	if err := c.Save(state); err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Stderr = os.Stderr
	cmd.Env = []string{childEnv + "=" + state}
	for key, value := range w.vars {
		cmd.Env = append(cmd.Env, key+"="+value)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	kill = func() {
		cmd.Process.Kill() // Best effort: it may have ended.
		cmd.Wait()         // Best effort: it was killed.
	}
	w.t.Cleanup(kill)
	w.awaitJoined(nick)
	return kill
}

// What is said in private while the harness is away is kept by the server and
// answered when it is back, each once, by a harness that was killed within a
// turn too.
func TestMissedDirectMessages(t *testing.T) {
	w := newWorld(t)
	block, begun := filepath.Join(w.dir, "block"), filepath.Join(w.dir, "begun")
	if err := os.WriteFile(block, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	shell := `x=$(cat); case $x in *"cut off"*) echo resumed;; *wait*) touch ` + begun + `; while [ -e ` + block + ` ]; do sleep 0.05; done;; *) printf '%s\n' "$x" | ` + sayer + `;; esac`
	kill := w.spawn("echo", shell)
	bob, eve := w.person("bob"), w.person("eve")
	defer bob.Close()
	defer eve.Close()
	heard := func(c *irc.Client, want string) {
		t.Helper()
		if e := hears(t, c, "echo", 1)[0]; e.Text != want {
			t.Errorf("heard %q, want %q", e.Text, want)
		}
	}
	say(t, bob, "echo", "say one")
	heard(bob, "one")
	say(t, bob, "#general", "@echo wait")
	for {
		if _, err := os.Stat(begun); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	kill()
	if err := os.Remove(block); err != nil {
		t.Fatal(err)
	}
	awaitEvent(t, bob, func(e irc.Event) bool { return e.Kind == irc.EventQuit && e.From.Nick == "echo" })
	say(t, bob, "echo", "say two")
	say(t, eve, "echo", "say three")
	say(t, bob, "echo", "say four")
	say(t, bob, "#general", "it is quiet here")
	kill = w.spawn("echo", shell)
	heard(bob, "resumed")
	heard(bob, "two")
	heard(bob, "four")
	awaitEvent(t, eve, func(e irc.Event) bool { return e.Kind == irc.EventMessage && e.Text == "three" && e.Target == "eve" })
	kill()
	awaitEvent(t, bob, func(e irc.Event) bool { return e.Kind == irc.EventQuit && e.From.Nick == "echo" })
	w.spawn("echo", shell)
	say(t, bob, "echo", "say five")
	heard(bob, "five")
}

// deafToPeople hears channels alone, as a harness that is killed between two
// messages.
type deafToPeople struct{ harness.Hearer }

func (d deafToPeople) Heard(m harness.Incoming) {
	if m.Target == "#general" {
		d.Hearer.Heard(m)
	}
}

// A direct message that was not taken is found after a restart, although
// something that was said later in a channel was taken.
func TestMissedDirectMessageBeforeChannel(t *testing.T) {
	w := newWorld(t)
	a := w.start("echo", sayer, func(o *harness.Options) {
		o.Connect = func(ctx context.Context, c harness.Config, since func(string) (ipc.Line, bool), h harness.Hearer, logf func(string, ...any), getenv func(string) string) (harness.Chat, error) {
			return onirc.Connect(ctx, c, since, deafToPeople{h}, logf, getenv)
		}
	})
	bob := w.person("bob")
	defer bob.Close()
	say(t, bob, "echo", "say private")
	say(t, bob, "#general", "@echo say public")
	if e := hears(t, bob, "echo", 1)[0]; e.Text != "public" {
		t.Fatalf("%q", e.Text)
	}
	a.stop()
	w.start("echo", sayer)
	if e := hears(t, bob, "echo", 1)[0]; e.Text != "private" {
		t.Errorf("%q", e.Text)
	}
}
