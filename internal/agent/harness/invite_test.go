package harness_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"den/internal/agent/harness"
	"den/internal/agent/harness/ipc"
	"den/internal/chat/irc"
)

// joiner is an agent that writes down what it is told, and joins the channels
// that it is invited to.
const joiner = `import os, re, socket, sys
text = sys.stdin.read()
with open(os.environ["DEN_NICK"] + ".prompts", "a") as f:
    f.write(text + "\0")
asked = re.match(r"\[IRC invitation to (\S+) by", text)
if asked and "den channel join" in text:
    s = socket.socket(socket.AF_UNIX)
    s.connect(os.environ["DEN_HARNESS"])
    s.sendall(b'{"type":"irc_join","id":"1","channel":"%s"}\n' % asked[1].encode())
    s.makefile().readline()
print(text.partition("say ")[2].strip())
`

// startJoiner runs a joiner with tags. Its prompts are in the returned file.
func (w *world) startJoiner(nick string, channels, tags []string) (*agent, string) {
	w.t.Helper()
	program := filepath.Join(w.dir, "joiner.py")
	if err := os.WriteFile(program, []byte(joiner), 0o600); err != nil {
		w.t.Fatal(err)
	}
	a := w.start(nick, "exec python3 "+program, func(o *harness.Options) {
		o.Config.Dir, o.Config.Channels, o.Config.Tags = w.dir, channels, tags
	})
	return a, filepath.Join(w.dir, nick+".prompts")
}

// invitations returns the invitations in a file of prompts.
func invitations(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var all []string
	for prompt := range strings.SplitSeq(string(data), "\x00") {
		if strings.HasPrefix(prompt, "[IRC invitation") {
			all = append(all, strings.TrimSpace(prompt))
		}
	}
	return all
}

// awaitEvent reads events until one is wanted.
func awaitEvent(t *testing.T, c *irc.Client, wanted func(irc.Event) bool) {
	t.Helper()
	for {
		e, err := c.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if wanted(e) {
			return
		}
	}
}

func joins(channel, nick string) func(irc.Event) bool {
	return func(e irc.Event) bool { return e.Kind == irc.EventJoin && e.Channel == channel && e.From.Nick == nick }
}

// An agent in a channel that carries tags invites those whose tags match. They
// are told once, and join if they want to, also over restarts.
func TestInvitedByTags(t *testing.T) {
	w := newWorld(t)
	w.startJoiner("smith", []string{"#general", "#build"}, nil)
	gopher, prompts := w.startJoiner("gopher", []string{"#general"}, []string{"Go", "databases"})
	_, others := w.startJoiner("painter", []string{"#general"}, []string{"art"})
	bob := w.person("bob")
	defer bob.Close()
	if err := bob.Join(t.Context(), "#build", ""); err != nil {
		t.Fatal(err)
	}
	if err := bob.SetTopic(t.Context(), "#build", "Builds and releases. tags: go, ci"); err != nil {
		t.Fatal(err)
	}
	awaitEvent(t, bob, joins("#build", "gopher"))
	want := "[IRC invitation to #build by smith; tags: go, ci]\nIts topic: Builds and releases. tags: go, ci\nYou are invited because of your tags: go."
	if got := invitations(t, prompts); len(got) != 1 || !strings.HasPrefix(got[0], want) {
		t.Errorf("%q, want one that begins with %q", got, want)
	}
	// One that comes later is invited when it comes.
	w.startJoiner("late", []string{"#general"}, []string{"ci"})
	awaitEvent(t, bob, joins("#build", "late"))
	if got := invitations(t, others); len(got) != 0 {
		t.Errorf("an agent without such tags was invited: %q", got)
	}

	// After a restart it is in the channel, and is not told again.
	gopher.stop()
	w.startJoiner("gopher", []string{"#general"}, []string{"go"})
	conn := w.dial("gopher")
	for joined := (ipc.Joined{}); !slices.Contains(joined.Channels, "#build"); { // others see it there before it does
		if _, err := conn.Call(t.Context(), ipc.Request{Type: ipc.Channels}, &joined); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Call(t.Context(), ipc.Request{Type: ipc.Part, Channel: "#build"}, nil); err != nil {
		t.Fatal(err)
	}
	if err := bob.Invite(t.Context(), "gopher", "#build"); err != nil {
		t.Fatal(err)
	}
	// A person can invite to any channel. It is told after the one before.
	if err := bob.Join(t.Context(), "#tea", ""); err != nil {
		t.Fatal(err)
	}
	if err := bob.Invite(t.Context(), "gopher", "#tea"); err != nil {
		t.Fatal(err)
	}
	awaitEvent(t, bob, joins("#tea", "gopher"))
	got := invitations(t, prompts)
	if len(got) != 2 || !strings.HasPrefix(got[1], "[IRC invitation to #tea by bob]\nNone of your tags") {
		t.Errorf("%q", got)
	}
}
