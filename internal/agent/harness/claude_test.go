package harness_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"den/internal/agent/conversation"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"den/internal/agent/harness"
	"den/internal/agent/harness/ipc"
	"den/internal/agent/permission"
	"den/internal/agent/runner/claude"
	"den/internal/agent/webhook"
)

// startClaude runs the agent of testdata/claude.py by the real driver. What it
// is told is in the returned file.
func (w *world) startClaude(nick, temper string, change ...func(*harness.Options)) (*agent, string) {
	w.t.Helper()
	program, err := filepath.Abs("testdata/claude.py")
	if err != nil {
		w.t.Fatal(err)
	}
	a := w.start(nick, "", append([]func(*harness.Options){func(o *harness.Options) {
		o.Driver, o.Config.Backend, o.Config.Command, o.Config.Dir = claude.Driver{}, "claude", []string{"python3", program, temper}, w.dir
	}}, change...)...)
	return a, filepath.Join(w.dir, nick+".prompts")
}

// told returns what the agent was told.
func told(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	all := strings.Split(string(data), "\x00")
	return all[:len(all)-1]
}

// receiver is an HTTP receiver of webhooks that verifies what it gets.
type receiver struct {
	url    string
	events chan webhook.Event
}

const secret = "whsec_c2VjcmV0IG9mIHRoZSB0ZXN0"

// verify checks the signature of a webhook.
func verify(header http.Header, body []byte) error {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return err
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", header.Get(webhook.HeaderID), header.Get(webhook.HeaderTimestamp), body)
	if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); header.Get(webhook.HeaderSignature) != want {
		return fmt.Errorf("its signature is %q, want %q", header.Get(webhook.HeaderSignature), want)
	}
	return nil
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{events: make(chan webhook.Event, 100)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err == nil {
			err = verify(request.Header, body)
		}
		var e webhook.Event
		if err == nil {
			err = json.Unmarshal(body, &e)
		}
		if err != nil {
			t.Errorf("webhook: %v", err)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.events <- e
	}))
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

// webhooks sends an agent's events of some types to the receiver.
func (w *world) webhooks(r *receiver, types ...string) func(*harness.Options) {
	w.vars["SECRET"] = secret
	return func(o *harness.Options) {
		o.Config.Webhook = harness.Webhook{URL: r.url, SecretEnv: "SECRET", Events: types}
	}
}

// converse gives an agent a message, as another agent does, and waits for the
// end of its turn.
func (w *world) converse(nick, text string) string {
	w.t.Helper()
	var answer conversation.Answer
	if _, err := w.dial(nick).Call(w.t.Context(), ipc.Request{Type: ipc.Converse, Message: text, Callers: []string{"another"}}, &answer); err != nil {
		w.t.Fatal(err)
	}
	return answer.Text
}

// awaitTold returns when the agent was told n messages, and nothing waits.
func (w *world) awaitTold(nick, file string, n int) []string {
	w.t.Helper()
	conn := w.dial(nick)
	for {
		var status ipc.AgentStatus
		if _, err := conn.Call(w.t.Context(), ipc.Request{Type: ipc.Status}, &status); err != nil {
			w.t.Fatal(err)
		}
		if all := told(w.t, file); len(all) >= n && status.Pending == 0 {
			return all
		}
		time.Sleep(time.Millisecond)
	}
}

// An agent that repeats itself is corrected: its next turn is the correction,
// and those who act for it hear it.
func TestLoopingAgentIsCorrected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, file := w.startClaude("looper", "obedient")
	w.converse("looper", "loop")
	all := w.awaitTold("looper", file, 2)
	if len(all) != 2 || !strings.HasPrefix(all[1], "[supervisor CORRECTION] You have called Bash 5 times") {
		t.Errorf("%q", all)
	}
	conn := w.dial("looper")
	var heard []ipc.Whisper
	conn.OnWhisper = func(w ipc.Whisper) { heard = append(heard, w) }
	if _, err := conn.Call(t.Context(), ipc.Request{Type: ipc.Channels}, nil); err != nil {
		t.Fatal(err)
	}
	if len(heard) != 1 || heard[0].Kind != "CORRECTION" || !strings.Contains(heard[0].Message, "You have called Bash 5 times") {
		t.Errorf("%+v", heard)
	}
}

// An agent that corrections do not help escalates, once, to a receiver that
// can tell who sent it. Evaluation pauses, over a restart too, and comes back
// when a person speaks to the agent.
func TestSpirallingAgentEscalates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := newReceiver(t)
	a, file := w.startClaude("spiral", "stubborn", w.webhooks(r, webhook.AgentSpiraling))
	w.converse("spiral", "loop")
	e := <-r.events
	if e.Type != webhook.AgentSpiraling || e.Nick != "spiral" || e.Severity != webhook.Critical || !strings.HasPrefix(e.Message, "[ESCALATION] spiral: ") {
		t.Errorf("%+v", e)
	}
	all := w.awaitTold("spiral", file, 3) // the message and two corrections
	paused := func() string {
		var status ipc.AgentStatus
		if _, err := w.dial("spiral").Call(t.Context(), ipc.Request{Type: ipc.Status}, &status); err != nil {
			t.Fatal(err)
		}
		return status.Supervisor
	}
	if len(all) != 3 || paused() != "paused" {
		t.Fatalf("%s after %q", paused(), all)
	}
	a.stop()
	w.startClaude("spiral", "stubborn", w.webhooks(r, webhook.AgentSpiraling))
	if paused() != "paused" {
		t.Errorf("after a restart the supervisor is %s", paused())
	}
	w.converse("spiral", "loop") // by an agent: no correction follows
	w.converse("spiral", "say done")
	if all := told(t, file); len(all) != 5 {
		t.Errorf("%q", all)
	}
	bob := w.person("bob")
	defer bob.Close()
	say(t, bob, "#general", "@spiral loop")
	all = w.awaitTold("spiral", file, 7)
	if !strings.HasPrefix(all[6], "[supervisor CORRECTION]") {
		t.Errorf("%q", all)
	}
}

// What the agent asks is answered by its owner in the channel or on the
// socket, or expires. The audit log has it.
func TestQuestionIsAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, _ := w.startClaude("curious", "obedient", func(o *harness.Options) { o.Config.Owner, o.Config.OwnerByNick = "bob", true })
	bob, eve := w.person("bob"), w.person("eve")
	defer bob.Close()
	defer eve.Close()
	asked := func() string {
		t.Helper()
		for {
			e := hears(t, bob, "curious", 1)[0]
			if rest, ok := strings.CutPrefix(e.Text, "Question "); ok {
				id, rest, _ := strings.Cut(rest, ": ")
				if want := "Pears or plums? (pears | plums). Answer '@curious answer " + id + " TEXT'."; !strings.HasPrefix(rest, want) {
					t.Errorf("%q, want %q", rest, want)
				}
				return id
			}
		}
	}
	say(t, eve, "#general", "@curious wonder")
	id := asked()
	say(t, eve, "#general", "@curious answer "+id+" plums")
	if e := hears(t, eve, "curious", 1)[0]; !strings.Contains(e.Text, "only the account 'bob' decides") {
		t.Errorf("%q", e.Text)
	}
	say(t, bob, "#general", "@curious approve "+id)
	if e := hears(t, eve, "curious", 1)[0]; !strings.Contains(e.Text, "needs an answer") {
		t.Errorf("%q", e.Text)
	}
	say(t, bob, "#general", "@curious answer "+id+" both, if you can")
	if e := hears(t, eve, "curious", 1)[0]; e.Text != "the answer is both, if you can" {
		t.Errorf("%q", e.Text)
	}

	say(t, eve, "#general", "@curious wonder")
	id = asked()
	conn := w.dial("curious")
	var status ipc.AgentStatus
	if _, err := conn.Call(t.Context(), ipc.Request{Type: ipc.Status}, &status); err != nil || status.Question == nil || status.Question.Kind != "choice" || !slices.Equal(status.Question.Options, []conversation.Option{{ID: "pears", Label: "pears"}, {ID: "plums", Label: "plums"}}) {
		t.Errorf("%+v, %v", status.Question, err)
	}
	if _, err := conn.Call(t.Context(), ipc.Request{Type: ipc.Decide, Question: id, Option: "plums", By: "tester"}, nil); err != nil {
		t.Fatal(err)
	}
	if e := hears(t, eve, "curious", 1)[0]; e.Text != "the answer is plums" {
		t.Errorf("%q", e.Text)
	}

	entries, _, err := permission.ReadAudit(filepath.Join(a.state, "permission"))
	if err != nil {
		t.Fatal(err)
	}
	var log []string
	for _, e := range entries {
		log = append(log, strings.TrimSpace(string(e.Event)+" "+e.By+" "+e.Answer))
	}
	if want := []string{"asked", "answered bob (nick) both, if you can", "asked", "answered tester plums"}; !slices.Equal(log, want) {
		t.Errorf("%q, want %q", log, want)
	}
}

// A question that nobody answers expires, and the agent is told.
func TestQuestionExpires(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startClaude("curious", "obedient", func(o *harness.Options) { o.Config.ApprovalExpiry = 50 * time.Millisecond })
	if got := w.converse("curious", "wonder"); !strings.HasPrefix(got, "no answer: expired") {
		t.Errorf("%q", got)
	}
}

// The end of work is told once, when nothing is left to do, and after a restart
// if it was not told before.
func TestWorkIsComplete(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := newReceiver(t)
	a, file := w.startClaude("worker", "obedient", w.webhooks(r, webhook.AgentComplete), func(o *harness.Options) { o.Idle = time.Hour })
	conn := w.dial("worker")
	call := func(request ipc.Request) {
		t.Helper()
		if _, err := conn.Call(t.Context(), request, nil); err != nil {
			t.Fatal(err)
		}
	}
	call(ipc.Request{Type: ipc.Pause})
	for _, text := range []string{"say one", "say two", "say three"} {
		call(ipc.Request{Type: ipc.Prompt, Message: text})
	}
	call(ipc.Request{Type: ipc.Resume})
	w.awaitTold("worker", file, 3)
	a.stop()
	w.startClaude("worker", "obedient", w.webhooks(r, webhook.AgentComplete), func(o *harness.Options) { o.Idle = time.Millisecond })
	e := <-r.events
	var data struct{ Turns, Failed int }
	if err := json.Unmarshal(e.Data, &data); err != nil || e.Type != webhook.AgentComplete || e.Nick != "worker" || e.Severity != webhook.Info || data.Turns != 3 || data.Failed != 0 {
		t.Errorf("%+v, %s, %v", e, e.Data, err)
	}
	if !strings.HasPrefix(e.Message, "worker has nothing left to do: 3 turns since ") {
		t.Errorf("%q", e.Message)
	}
}

// An agent that cannot compact its conversation says so; one that can does.
func TestCompact(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("plain", sayer)
	_, err := w.dial("plain").Call(t.Context(), ipc.Request{Type: ipc.Compact}, nil)
	if err == nil || !strings.Contains(err.Error(), "'script' cannot be told to compact") {
		t.Errorf("%v", err)
	}
	_, file := w.startClaude("coder", "obedient")
	w.converse("coder", "say hello")
	if _, err := w.dial("coder").Call(t.Context(), ipc.Request{Type: ipc.Compact}, nil); err != nil {
		t.Fatal(err)
	}
	if all := w.awaitTold("coder", file, 2); !slices.Equal(all, []string{"say hello", "/compact"}) {
		t.Errorf("%q", all)
	}
}
