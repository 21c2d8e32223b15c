package news_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/base/filelock"
	"den/internal/base/ident"
	"den/internal/screen/eventlog"
	"den/internal/session"
	"den/internal/session/cell"
	"den/internal/session/home"
	"den/internal/session/news"
)

// world is a Home whose sessions have no hosts: the test writes what hosts do,
// into their logs and records, and remembers it.
type world struct {
	t        *testing.T
	root     home.Home
	created  time.Time
	now      time.Duration // since created
	sessions []*fake
	happened []string // all that callers are to be told, in order
}

// fake is a session.
type fake struct {
	w    *world
	dir  home.Dir
	m    *home.Manifest
	lock *os.File
	log  *eventlog.Writer

	cell    cell.Record // the active one, or one that is over
	journal *cell.Journal
	over    bool
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{t: t, root: home.Home{Path: filepath.Join(t.TempDir(), "home")}, created: time.Now().Add(-time.Minute).UTC()}
}

func (w *world) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// clock is the time of the next event: no two are equal, in no two sessions.
func (w *world) clock() time.Duration { return w.now }

func (w *world) tick() { w.now += time.Millisecond }

func (w *world) open(name string) *fake {
	w.t.Helper()
	w.tick()
	d := w.root.Dir(ident.New(time.Now()))
	w.check(os.MkdirAll(d.Path, 0o700))
	f := &fake{w: w, dir: d, m: &home.Manifest{ID: d.ID, Name: name, Status: home.Running, Created: w.created}}
	w.check(d.Save(f.m))
	var err error
	f.lock, err = filelock.Try(filepath.Join(d.Path, "lock"))
	w.check(err)
	f.log, err = eventlog.Create(d.Log(), eventlog.Options{Header: eventlog.Header{Cols: 80, Rows: 24}, Clock: w.clock, Now: time.Now})
	w.check(err)
	w.t.Cleanup(func() {
		f.log.Close()
		f.lock.Close()
	})
	w.sessions = append(w.sessions, f)
	return f
}

func (f *fake) append(code, data string) {
	f.w.t.Helper()
	f.w.tick()
	f.log.Append(code, []byte(data))
	f.w.check(f.log.Flush())
}

func (f *fake) runs() bool { return !f.over && f.cell.CellID != "" && !f.cell.Final() }

func (f *fake) save() {
	f.w.t.Helper()
	f.w.check(f.journal.Save(f.cell))
}

func (f *fake) fire() {
	f.w.t.Helper()
	if f.journal != nil {
		f.journal.Close()
	}
	id := ident.New(time.Now())
	f.cell = cell.Record{Result: cell.Result{CellID: id, Status: cell.Running}, Started: f.w.created.Add(f.w.now)}
	var err error
	f.journal, err = cell.Store{Dir: f.dir.Cells()}.Begin(f.cell)
	f.w.check(err)
	f.append(eventlog.Cell, fmt.Sprintf(`{"cell_id":%q,"status":"fired"}`, id))
}

// happen says that a caller is to be told, unless another answer told it.
func (f *fake) happen(told bool, what string) {
	if !told {
		f.w.happened = append(f.w.happened, f.m.Name+" "+what)
	}
}

func (f *fake) ask(question string, told bool) {
	f.w.t.Helper()
	f.cell.WaitingFor, f.cell.Question = cell.ForInput, question
	f.cell.Output += question + "\n"
	f.save()
	f.append(eventlog.Cell, fmt.Sprintf(`{"cell_id":%q,"status":"asking","waiting_for":"input","question":%q,"told":%v}`, f.cell.CellID, question, told))
	f.happen(told, "asking "+question)
}

func (f *fake) answer() {
	f.w.t.Helper()
	f.cell.WaitingFor, f.cell.Question = "", ""
	f.save()
}

func (f *fake) end(code int, told bool) {
	f.w.t.Helper()
	f.cell.Status, f.cell.ExitCode, f.cell.WaitingFor, f.cell.Question = cell.Done, &code, "", ""
	f.cell.Output += fmt.Sprintf("end %d\n", code)
	f.save()
	f.append(eventlog.Cell, fmt.Sprintf(`{"cell_id":%q,"status":"done","exit_code":%d,"told":%v}`, f.cell.CellID, code, told))
	f.happen(told, fmt.Sprintf("done %d", code))
}

// exit ends the program, as a host does that sees it, or with the host itself.
func (f *fake) exit(lost bool) {
	f.w.t.Helper()
	f.over = true
	if !lost {
		if f.cell.CellID != "" && !f.cell.Final() {
			f.end(0, false)
		}
		f.append(eventlog.Exit, "0")
		f.m.Status, f.m.Ended = home.Exited, f.w.created.Add(f.w.now)
		f.w.check(f.dir.Save(f.m))
	}
	f.w.check(f.lock.Close())
	f.happen(false, "closed")
	if lost { // it is known when somebody looks
		f.w.tick()
		f.m.Status, f.m.Ended = home.Lost, f.w.created.Add(f.w.now)
		f.w.check(f.dir.Save(f.m))
	}
}

// step does something that a session may do now.
func (f *fake) step(r *rand.Rand) {
	f.w.t.Helper()
	switch n := r.IntN(12); {
	case f.over:
	case n == 0 && len(f.w.sessions) > 2:
		f.exit(r.IntN(2) == 0)
	case n == 1:
		f.append(eventlog.Note, fmt.Sprintf(`{"notify":{"message":"m%d","from":"x"}}`, f.w.now))
		f.happen(false, fmt.Sprintf("notify m%d", f.w.now-time.Millisecond))
	case !f.runs():
		f.fire()
	case f.cell.Asks():
		f.answer()
	case n < 5:
		f.append(eventlog.Output, "some output\r\n")
	case n < 8:
		f.ask(fmt.Sprintf("q%d", f.w.now), r.IntN(3) == 0)
	default:
		f.end(r.IntN(3), r.IntN(3) == 0)
	}
}

// caller is one that is told, and may be killed at any moment.
type caller struct {
	name string
	told []string
	// again counts how much of told may come again: it was killed between the
	// print and the write.
	again int
}

func say(e news.Event) string {
	switch e.Status {
	case cell.Asking:
		return e.Session + " asking " + e.Question
	case string(cell.Done):
		return fmt.Sprintf("%s done %d", e.Session, *e.ExitCode)
	case session.StatusNotify:
		return e.Session + " notify " + e.Message
	}
	return e.Session + " " + e.Status
}

// The moments at which a caller is killed.
const (
	never = iota
	beforePrint
	beforeWrite
)

// keep opens a cursor, and locks all sessions of which there may be news.
func (w *world) keep(name string) (*news.Kept, []*session.Session) {
	w.t.Helper()
	k, err := news.Open(w.root, name, time.Now())
	w.check(err)
	all, err := news.SessionsOf(w.root, k.Cursor, session.Options{})
	w.check(err)
	w.check(k.Lock(w.t.Context(), all))
	return k, all
}

// next is one call, which is killed at a moment.
func (c *caller) next(t *testing.T, w *world, killed int) news.Answer {
	t.Helper()
	k, all := w.keep(c.name)
	defer k.Close()
	a, err := news.Next(t.Context(), all, k.Cursor, news.Request{Timeout: time.Nanosecond})
	w.check(err)
	if killed == beforePrint {
		return a
	}
	var said []string
	for _, e := range a.Events {
		said = append(said, say(e))
	}
	if c.again > 0 { // the last answer comes again, perhaps with more
		last := c.told[len(c.told)-c.again:]
		if len(said) < len(last) || !slices.Equal(last, said[:len(last)]) {
			t.Fatalf("%s was told %q, and then %q", c.name, last, said)
		}
		c.told = c.told[:len(c.told)-c.again]
	}
	c.told, c.again = append(c.told, said...), 0
	if killed == beforeWrite {
		c.again = len(said)
		return a
	}
	w.check(k.Advance(a.Cursor, w.root))
	return a
}

// Random histories of several sessions are told to callers that are killed at
// random: all of it, once, in order.
func TestEveryEventOnceInOrder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 1))
			w := newWorld(t)
			callers := []*caller{{name: "a"}, {name: "b"}}
			for i := range 60 {
				switch n := r.IntN(10); {
				case n == 0 && len(w.sessions) < 5 || len(w.sessions) == 0:
					w.open(fmt.Sprintf("s%d", i))
				case n < 7:
					w.sessions[r.IntN(len(w.sessions))].step(r)
				default:
					c := callers[r.IntN(2)]
					killed := r.IntN(beforeWrite+2) % (beforeWrite + 1) // mostly not
					if c.next(t, w, killed); killed == never {
						c.expect(t, w)
					}
				}
			}
			for _, c := range callers {
				c.next(t, w, never)
				c.expect(t, w)
			}
		})
	}
}

func (c *caller) expect(t *testing.T, w *world) {
	t.Helper()
	if !slices.Equal(c.told, w.happened) {
		t.Fatalf("%s was told\n%s\nof\n%s", c.name, strings.Join(c.told, "\n"), strings.Join(w.happened, "\n"))
	}
}

// The output of a cell is told once, whatever the events between.
func TestOutputOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, c := w.open("s"), &caller{name: "a"}
	s.fire()
	s.ask("one", false)
	if a := c.next(t, w, never); len(a.Events) != 1 || a.Events[0].Output != "one\n" || a.Events[0].Continued || len(a.Asking) != 1 {
		t.Fatalf("%+v", a)
	}
	s.answer()
	s.ask("two", false)
	s.answer()
	if a := c.next(t, w, beforePrint); a.Status != news.Told {
		t.Fatalf("%+v", a)
	}
	s.end(7, false)
	a := c.next(t, w, never)
	if len(a.Events) != 2 || !a.Events[0].Past || a.Events[0].Output != "" {
		t.Fatalf("%+v", a)
	}
	if e := a.Events[1]; e.Output != "two\nend 7\n" || !e.Continued || *e.ExitCode != 7 {
		t.Fatalf("%+v", e)
	}
	if a := c.next(t, w, never); a.Status != news.Nothing || len(a.Events) != 0 {
		t.Fatalf("%+v", a)
	}
}

// What a caller has from another answer is not told again, and nothing else is left
// out for it; another caller is told.
func TestHadEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, a, b := w.open("s"), &caller{name: "a"}, &caller{name: "b"}
	had := func(ended *cell.Record) {
		t.Helper()
		w.check(news.Had(w.root, "a", session.In(s.dir, session.Options{}), ended, time.Now()))
	}
	expect := func(c *caller, want ...string) {
		t.Helper()
		if c.next(t, w, never); !slices.Equal(c.told, want) {
			t.Fatalf("%s was told %q, want %q", c.name, c.told, want)
		}
		c.told = nil
	}
	s.fire()
	s.end(1, false)
	s.fire()
	s.append(eventlog.Note, `{"notify":{"message":"m","from":"x"}}`)
	s.end(2, false)
	ended := s.cell
	had(&ended)
	had(&ended) // looking twice is no more
	s.fire()
	expect(a, "s done 1", "s notify m")
	expect(b, "s done 1", "s notify m", "s done 2")
	had(&ended) // behind it in the log
	s.end(3, false)
	expect(a, "s done 3")
	s.exit(false)
	had(nil)
	expect(a)
	expect(b, "s done 3", "s closed")
}

// A question that was answered ends no wait: it is told with what comes next.
func TestPastQuestionsEndNoWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, c := w.open("s"), &caller{name: "a"}
	s.fire()
	s.ask("one", false)
	s.answer()
	k, all := w.keep(c.name)
	defer k.Close()
	answers := make(chan news.Answer, 1)
	go func() {
		a, err := news.Next(t.Context(), all, k.Cursor, news.Request{})
		if err != nil {
			t.Error(err)
		}
		answers <- a
	}()
	if a, err := news.Next(t.Context(), all, k.Cursor, news.Request{Timeout: time.Millisecond}); err != nil || len(a.Events) != 1 {
		t.Errorf("at a time limit: %+v, %v", a, err)
	}
	s.end(0, false)
	if a := <-answers; len(a.Events) != 2 || !a.Events[0].Past || a.Events[1].Status != string(cell.Done) {
		t.Fatalf("%+v", a)
	}
}

// A call waits for what is not there yet, and with All until nothing runs.
func TestWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := w.open("one"), w.open("two")
	one.fire()
	two.fire()
	k, all := w.keep("a")
	defer k.Close()
	next := func(req news.Request) <-chan news.Answer {
		answers := make(chan news.Answer, 1)
		go func() {
			a, err := news.Next(t.Context(), all, k.Cursor, req)
			if err != nil {
				t.Error(err)
			}
			answers <- a
		}()
		return answers
	}
	first := next(news.Request{})
	whole := next(news.Request{All: true})
	one.end(0, false)
	if a := <-first; len(a.Events) != 1 || a.Events[0].Session != "one" || !slices.Equal(a.Running, []string{"two"}) {
		t.Errorf("%+v", a)
	}
	two.ask("why", false)
	if a := <-whole; len(a.Events) != 2 || !slices.Equal(a.Asking, []string{"two"}) {
		t.Errorf("%+v", a)
	}
}

// Calls of one name take turns where they are about the same session, and only
// there.
func TestTurns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := w.open("one"), w.open("two")
	lock := func(ctx context.Context, of ...*fake) (*news.Kept, []*session.Session, error) {
		t.Helper()
		k, err := news.Open(w.root, "a", time.Now())
		w.check(err)
		t.Cleanup(k.Close)
		var sessions []*session.Session
		for _, f := range of {
			sessions = append(sessions, session.In(f.dir, session.Options{}))
		}
		return k, sessions, k.Lock(ctx, sessions)
	}
	first, ofFirst, err := lock(t.Context(), one)
	w.check(err)
	second, ofSecond, err := lock(t.Context(), two)
	w.check(err)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := lock(ended, two, one); fault.KindOf(err) != fault.Busy || !strings.Contains(err.Error(), "another call") {
		t.Errorf("a call about both: %v", err)
	}
	one.fire()
	one.end(1, false)
	two.fire()
	two.end(2, false)
	tell := func(k *news.Kept, of []*session.Session, want string) {
		t.Helper()
		a, err := news.Next(t.Context(), of, k.Cursor, news.Request{Timeout: time.Nanosecond})
		w.check(err)
		if len(a.Events) != 1 || say(a.Events[0]) != want {
			t.Errorf("told %+v, want %q", a.Events, want)
		}
		w.check(k.Advance(a.Cursor, w.root))
		k.Close()
	}
	tell(first, ofFirst, "one done 1")
	tell(second, ofSecond, "two done 2")
	k, all, err := lock(t.Context(), one, two)
	w.check(err)
	if a, err := news.Next(t.Context(), all, k.Cursor, news.Request{Timeout: time.Nanosecond}); err != nil || len(a.Events) != 0 {
		t.Errorf("both were told: %+v, %v", a, err)
	}
}

// What happened long before a cursor's first use is not told, nor the end of
// sessions that 'den kill' ended.
func TestOldNews(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.created = time.Now().Add(-3 * time.Hour).UTC()
	s := w.open("s")
	s.fire()
	s.end(1, false)
	gone := w.open("gone")
	gone.exit(false)
	w.now += 3*time.Hour - time.Minute
	s.fire()
	s.end(2, false)
	killed := w.open("killed")
	killed.fire()
	killed.append(eventlog.Cell, fmt.Sprintf(`{"cell_id":%q,"status":"done","by":"exit","exit_code":129}`, killed.cell.CellID))
	killed.append(eventlog.Exit, "129")
	killed.m.Status, killed.m.Ended = home.Destroyed, w.created.Add(w.now)
	w.check(killed.dir.Save(killed.m))
	c := &caller{name: "a"}
	c.next(t, w, never)
	if want := []string{"s done 2"}; !slices.Equal(c.told, want) {
		t.Errorf("told %q, want %q", c.told, want)
	}
}
