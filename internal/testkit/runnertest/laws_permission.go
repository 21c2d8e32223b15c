package runnertest

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"den/internal/agent/permission"
	"den/internal/agent/runner"
	"den/internal/testkit/modelstub"
)

// questions collects what was asked, and answers all of it the same.
type questions struct {
	answer permission.Decision

	mu  sync.Mutex // guards all
	all []permission.Request
}

func (q *questions) decide(_ context.Context, r permission.Request) permission.Decision {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.all = append(q.all, r)
	return q.answer
}

func (q *questions) asked() []permission.Request {
	q.mu.Lock()
	defer q.mu.Unlock()
	return append([]permission.Request{}, q.all...)
}

// checkUse demands one use of a tool, its result and the agent's last words.
func checkUse(w *world, t turned, text string) *runner.ToolDone {
	w.Helper()
	uses, done := t.uses(), t.all(runner.ToolFinished)
	if len(uses) != 1 || len(done) != 1 || uses[0].ID == "" || uses[0].ID != done[0].Result.ID {
		w.Fatalf("uses and results do not pair: %s", describe(t.events))
	}
	if t.result.Text != text {
		w.Errorf("the last words are %q, want %q", t.result.Text, text)
	}
	return done[0].Result
}

// allowed: what is allowed is done.
func allowed(w *world) {
	use := w.b.Shell("echo made > made")
	use.Text = []string{"I make ", "it"}
	w.model("make the file", use, modelstub.Say("it is made"))
	q := &questions{answer: permission.Decision{Allow: true}}
	w.decide(q.decide)
	s := w.open()
	t := w.good(s, "make the file")
	if !slices.Equal(t.texts(), []string{"I make it", "it is made"}) {
		w.Errorf("the messages are %q", t.texts())
	}
	if done := checkUse(w, t, "it is made"); done.Failed || done.Denied {
		w.Errorf("%+v", done)
	}
	all := q.asked()
	if len(all) != 1 || all[0].Kind != permission.Execute || all[0].Command != "echo made > made" || all[0].Tool == "" || len(all[0].Input) == 0 {
		w.Errorf("asked %+v", all)
	}
	if !strings.Contains(string(t.uses()[0].Input), "echo made") {
		w.Errorf("the use is told as %s", t.uses()[0].Input)
	}
	if !w.exists("made", true) {
		w.Error("what was allowed was not done")
	}
	w.closes(s, 0)
}

// daemonLeft: what the agent leaves running ends with it; the end of every test
// demands it.
func daemonLeft(w *world) {
	w.model("leave something running", w.b.Shell("setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo begun"), modelstub.Say("it runs"))
	w.decide((&questions{answer: permission.Decision{Allow: true}}).decide)
	s := w.open()
	if done := checkUse(w, w.good(s, "leave something running"), "it runs"); done.Failed || !strings.Contains(done.Output, "begun") {
		w.Errorf("%+v", done)
	}
	w.closes(s, 0)
}

// denied: what is denied is not done, and the agent goes on.
func denied(w *world) {
	w.model("make the file", w.b.Shell("echo made > made"), modelstub.Say("it is not made"))
	q := &questions{answer: permission.Decision{Reason: "the owner said no"}}
	w.decide(q.decide)
	s := w.open()
	t := w.good(s, "make the file")
	if done := checkUse(w, t, "it is not made"); !done.Failed || !done.Denied {
		w.Errorf("%+v", done)
	}
	if len(q.asked()) != 1 {
		w.Errorf("asked %+v", q.asked())
	}
	if w.exists("made", false) {
		w.Error("what was denied was done")
	}
	w.toldWhy("the owner said no")
}

// allowedAlways: the agent is not told of an "always". It goes on asking, for the
// same and for what only begins like it: den's policy knows for what exactly the
// decision holds.
func allowedAlways(w *world) {
	w.model("make it once", w.b.Shell("touch made"), modelstub.Say("once"))
	w.model("make it twice", w.b.Shell("touch made too"), modelstub.Say("twice"))
	q := &questions{answer: permission.Decision{Allow: true, Always: true}}
	w.decide(q.decide)
	s := w.open()
	checkUse(w, w.good(s, "make it once"), "once")
	if done := checkUse(w, w.good(s, "make it twice"), "twice"); done.Failed {
		w.Errorf("%+v", done)
	}
	if all := q.asked(); len(all) != 2 || all[0].Command != "touch made" || all[1].Command != "touch made too" {
		w.Errorf("asked %+v", all)
	}
}

// moved: a request that tells a directory tells the one in which its command
// runs, also after an earlier command has changed it.
func moved(w *world) {
	w.model("go there", w.b.Shell("mkdir sub && cd sub"), modelstub.Say("I am there"))
	w.model("make it there", w.b.Shell("touch made"), modelstub.Say("it is made"))
	q := &questions{answer: permission.Decision{Allow: true}}
	w.decide(q.decide)
	s := w.open()
	checkUse(w, w.good(s, "go there"), "I am there")
	if done := checkUse(w, w.good(s, "make it there"), "it is made"); done.Failed {
		w.Errorf("%+v", done)
	}
	all := q.asked()
	if len(all) != 2 || all[1].Command != "touch made" {
		w.Fatalf("asked %+v", all)
	}
	if told := all[1].Dir; told != "" {
		rel, err := filepath.Rel(w.options.Dir, told)
		if err != nil || !w.exists(filepath.Join(rel, "made"), true) {
			w.Errorf("it did not run in %s, %v", told, err)
		}
	}
	if told := all[1].Dir != ""; told != w.b.TellsDir {
		w.Errorf("tells the directory: %v, want %v", told, w.b.TellsDir)
	}
}

// deniedAndInterrupted: a denial can end the turn.
func deniedAndInterrupted(w *world) {
	w.model("make the file", w.b.Shell("echo made > made"), modelstub.Say("it is not made"))
	w.model("are you there", modelstub.Say("yes"))
	q := &questions{answer: permission.Decision{Reason: "stop", Interrupt: true}}
	w.decide(q.decide)
	s := w.open()
	w.cancelled(w.turn(s, "make the file", nil))
	if w.exists("made", false) {
		w.Error("what was denied was done")
	}
	if got := w.good(s, "are you there"); got.result.Text != "yes" {
		w.Errorf("after the interrupt: %q", got.result.Text)
	}
}

// secret is a file that rules in these tests are about.
const secret = "secret.txt"

// about reports whether a request names a file, in any way.
func about(r permission.Request, file string) bool {
	return strings.Contains(r.Command, file) || slices.ContainsFunc(r.Paths, func(p string) bool { return filepath.Base(p) == file })
}

// deniedRead: what rules deny is denied also where the agent would not ask, as
// for reading in its own directory, by a command and by a tool.
func deniedRead(w *world) {
	w.write(secret, "the word is plum\n")
	w.model("read by a command", w.b.Shell("cat "+secret), modelstub.Say("I may not run it"))
	if w.b.Read != nil {
		w.model("read by a tool", w.b.Read(filepath.Join(w.options.Dir, secret)), modelstub.Say("I may not read it"))
	}
	w.decide((&questions{answer: permission.Decision{Reason: "the rules say no"}}).decide)
	w.options.Check = func(r permission.Request) (permission.Outcome, string) {
		if about(r, secret) {
			return permission.Deny, "the rules say no"
		}
		return "", ""
	}
	s := w.open()
	check := func(prompt, text string) {
		if done := checkUse(w, w.good(s, prompt), text); !done.Failed || !done.Denied || strings.Contains(done.Output, "plum") {
			w.Errorf("%s: %+v", prompt, done)
		}
	}
	check("read by a command", "I may not run it")
	if w.b.Read != nil {
		check("read by a tool", "I may not read it")
	}
	w.toldWhy("the rules say no")
}

// askedRead: what rules want a person to decide is asked for, also where the
// agent would not have asked; what they do not forbid is done.
func askedRead(w *world) {
	w.write(secret, "the word is plum\n")
	w.write("open.txt", "the word is pear\n")
	w.model("read the secret", w.b.Shell("cat "+secret), modelstub.Say("nobody let me"))
	w.model("read the other", w.b.Shell("cat open.txt"), modelstub.Say("pear"))
	q := &questions{answer: permission.Decision{Reason: "the owner said no"}}
	w.decide(func(ctx context.Context, r permission.Request) permission.Decision {
		if !about(r, secret) {
			return permission.Decision{Allow: true}
		}
		return q.decide(ctx, r)
	})
	w.options.Check = func(r permission.Request) (permission.Outcome, string) {
		if about(r, secret) {
			return permission.Ask, "the rules ask"
		}
		return "", ""
	}
	s := w.open()
	if done := checkUse(w, w.good(s, "read the secret"), "nobody let me"); !done.Denied || strings.Contains(done.Output, "plum") {
		w.Errorf("%+v", done)
	}
	if all := q.asked(); len(all) != 1 || all[0].Command != "cat "+secret {
		w.Errorf("asked %+v", all)
	}
	if done := checkUse(w, w.good(s, "read the other"), "pear"); done.Failed || !strings.Contains(done.Output, "pear") {
		w.Errorf("%+v", done)
	}
}

// fileChange: a change of a file names the file.
func fileChange(w *world) {
	w.model("write the note", w.b.Write("note.txt", "hello\n"), modelstub.Say("it is written"))
	q := &questions{answer: permission.Decision{Allow: true}}
	w.decide(q.decide)
	s := w.open()
	t := w.good(s, "write the note")
	if done := checkUse(w, t, "it is written"); done.Failed || done.Denied {
		w.Errorf("%+v", done)
	}
	all := q.asked()
	if len(all) != 1 || all[0].Kind != permission.Edit || len(all[0].Paths) != 1 || filepath.Base(all[0].Paths[0]) != "note.txt" {
		w.Errorf("asked %+v", all)
	}
	if !w.exists("note.txt", true) {
		w.Error("the file was not written")
	}
}

// question: what the agent asks a person is answered by the person, or by
// nobody: never by consent.
func question(w *world) {
	w.model("ask me", *w.b.Question, modelstub.Say("plums, then"))
	w.model("ask me again", *w.b.Question, modelstub.Say("nobody knows"))
	q := &questions{answer: permission.Decision{Allow: true, Answer: "plums"}}
	w.decide(q.decide)
	s := w.open()
	if done := checkUse(w, w.good(s, "ask me"), "plums, then"); done.Failed || !strings.Contains(done.Output, "plums") {
		w.Errorf("%+v", done)
	}
	if all := q.asked(); len(all) != 1 || !strings.Contains(all[0].Text, "pears or plums") {
		w.Errorf("asked %+v", all)
	}
	q.answer = permission.Decision{Allow: true}
	if done := checkUse(w, w.good(s, "ask me again"), "nobody knows"); !strings.Contains(done.Output, "nobody answered") {
		w.Errorf("%+v", done)
	}
}

// interruptedWhileAsking: the question of a turn that is interrupted is
// withdrawn.
func interruptedWhileAsking(w *world) {
	w.model("make the file", w.b.Shell("echo made > made"), modelstub.Say("it is not made"))
	withdrawn := make(chan struct{})
	s := w.open()
	w.decide(func(ctx context.Context, _ permission.Request) permission.Decision {
		if err := s.Interrupt(w.Context()); err != nil {
			w.Error(err)
		}
		<-ctx.Done()
		close(withdrawn)
		return permission.Decision{Allow: true} // too late
	})
	w.cancelled(w.turn(s, "make the file", nil))
	<-withdrawn
	if w.exists("made", false) {
		w.Error("what nobody allowed was done")
	}
}
