package dashboard_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/session/home"
	"den/internal/ui/dashboard"
)

// hostPID is of a session that must live.
func hostPID(t *testing.T, d home.Dir) int {
	t.Helper()
	m, err := d.Load()
	if err != nil {
		t.Fatal(err)
	}
	return m.HostPID
}

func TestLiveShowsWhatTheSessionShows(t *testing.T) {
	w := newWorld(t)
	w.Do("new", "s", "--cols", "70", "--rows", "12", "bash", "--norc")
	v := w.model.Live(w.Dir("s"))
	defer v.Close()
	w.Do("run", "s", `printf '\033[31mred\033[0m %s\n' one''two`)
	f := until(t, v, "the output", shows("red onetwo"))
	if f.Screen.Cols != 70 || f.Screen.Rows != 12 || f.Rev == 0 {
		t.Errorf("frame %d is %dx%d", f.Rev, f.Screen.Cols, f.Screen.Rows)
	}
	coloured := false
	for _, l := range f.Screen.Lines {
		for _, r := range l.Runs {
			coloured = coloured || r.Text == "red" && r.FG == "1"
		}
	}
	if !coloured {
		t.Errorf("the colour is lost: %+v", f.Screen.Lines)
	}
	w.Do("resize", "s", "60", "10")
	until(t, v, "the new size", func(f *dashboard.Frame) bool { return f.Screen.Cols == 60 && f.Screen.Rows == 10 })
	w.Do("type", "s", "exit 3", "--enter")
	f = until(t, v, "the exit", func(f *dashboard.Frame) bool { return f.Exit != "" })
	if f.Exit != "3" {
		t.Errorf("exit %q, want 3", f.Exit)
	}
	if _, err := v.Next(within(t)); err != io.EOF {
		t.Errorf("behind the end: %v, want EOF", err)
	}
	// The same again from a session that is over.
	late := w.model.Live(w.Dir("s"))
	defer late.Close()
	g := until(t, late, "the end", func(*dashboard.Frame) bool { return true })
	if g.Screen.Hash != f.Screen.Hash || g.Exit != "3" || g.Seq != f.Seq {
		t.Errorf("dead: %d %q %q, live: %d %q %q", g.Seq, g.Exit, g.Screen.Text, f.Seq, f.Exit, f.Screen.Text)
	}
}

// TestLiveDoesNotTouchTheSession follows a session whose host stands still: it
// could not answer if it were asked.
func TestLiveDoesNotTouchTheSession(t *testing.T) {
	w := newWorld(t)
	w.Do("new", "s", "cat")
	w.Do("type", "s", "hel''lo", "--enter")
	w.Do("wait", "s", "--text", "hel''lo\nhel''lo")
	d := w.Dir("s")
	pid := hostPID(t, d)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(pid, syscall.SIGCONT)
	ctx := within(t)
	v := w.model.Live(d)
	defer v.Close()
	until(t, v, "the echo", shows("hel''lo\nhel''lo"))
	if s, ok := w.model.List().Find(d.ID); !ok || s.Status != home.Running {
		t.Errorf("listed as %+v", s)
	}
	if _, err := w.model.Timeline(ctx, dashboard.Of(d)); err != nil {
		t.Error(err)
	}
	if _, err := w.model.AtSeq(ctx, dashboard.Of(d), 1); err != nil {
		t.Error(err)
	}
}

func TestLiveOfARemovedSession(t *testing.T) {
	w := newWorld(t)
	w.Do("new", "s", "cat")
	d := w.Dir("s")
	v := w.model.Live(d)
	defer v.Close()
	until(t, v, "anything", func(*dashboard.Frame) bool { return true })
	// As gc of another process would, but without the exit being seen.
	syscall.Kill(hostPID(t, d), syscall.SIGKILL)
	gone, err := d.Gone(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	<-gone
	d.Sweep()
	if err := os.RemoveAll(d.Path); err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = v.Next(within(t))
	}
	if fault.KindOf(err) != fault.NotFound {
		t.Errorf("Next: %v, want not_found", err)
	}
	if _, again := v.Next(within(t)); fault.KindOf(again) != fault.NotFound {
		t.Errorf("Next again: %v", again)
	}
}

func TestWatchNoticesSessions(t *testing.T) {
	w := newWorld(t)
	ctx := within(t)
	step := 0
	var other = home.Home{Path: filepath.Join(t.TempDir(), "other")}
	defer func() { w.EndAll(other) }()
	for l := range w.model.Watch(ctx) {
		status := func(name string) home.Status {
			for _, h := range l.Homes {
				for _, s := range h.Sessions {
					if s.Name == name {
						return s.Status
					}
				}
			}
			return ""
		}
		switch {
		case step == 0:
			w.Do("new", "a", "--label", "team=blue", "cat")
			step++
		case step == 1 && status("a") == home.Running:
			w.Do("--home", other.Path, "new", "b", "cat")
			step++
		case step == 2 && status("b") == home.Running:
			if len(l.Homes) != 2 || !l.Homes[0].Own || l.Homes[1].Path != other.Path || l.Homes[1].Active != 1 {
				t.Fatalf("Homes: %+v", l.Homes)
			}
			w.Do("kill", "a")
			step++
		case step == 3 && status("a") == home.Destroyed:
			if a := l.Active(); len(a.Homes) != 2 || len(a.Homes[0].Sessions) != 0 {
				t.Fatalf("active: %+v", a.Homes)
			}
			// A host that dies without a word: found by looking.
			d, err := other.Find("b")
			if err != nil {
				t.Fatal(err)
			}
			syscall.Kill(hostPID(t, d), syscall.SIGKILL)
			step++
		case step == 4 && status("b") == home.Lost:
			s := &l.Homes[0].Sessions[0]
			for words, want := range map[string]bool{"a": true, "TEAM=blue destroyed": true, "cat zebra": false, "": true} {
				if s.Matches(words) != want {
					t.Errorf("Matches(%q) = %v", words, !want)
				}
			}
			if l := w.model.List().Active(); len(l.Homes) != 1 {
				t.Errorf("only the own Home is left: %+v", l.Homes)
			}
			return
		}
	}
	t.Fatalf("nothing more was noticed after step %d: %+v", step, w.model.List())
}

// TestFloodIsCoalesced reads slowly from a session that prints as fast as it
// can: frames are skipped, the newest is always the one that comes.
func TestFloodIsCoalesced(t *testing.T) {
	w := newWorld(t)
	w.Do("new", "s", "bash", "--norc")
	w.Do("type", "s", "for i in {1..60000}; do echo line $i; done; echo fin''ished", "--enter")
	v := w.model.Live(w.Dir("s"))
	defer v.Close()
	frames := 0
	var before uint64
	f := until(t, v, "the end", func(f *dashboard.Frame) bool {
		frames++
		if f.Seq < before {
			t.Fatalf("seq %d after %d", f.Seq, before)
		}
		before = f.Seq
		return strings.Contains(f.Screen.Text, "finished")
	})
	t.Logf("%d frames of %d events", frames, f.Seq)
	if f.Rev != uint64(frames) {
		t.Errorf("one reader took %d frames, %d were made", frames, f.Rev)
	}
}

// TestFloodsThatOutrunTheirReaders: logs that drop what was not read yet end
// no view. Screens go on coming, and the last one is the session's last.
func TestFloodsThatOutrunTheirReaders(t *testing.T) {
	const floods = 3
	w := newWorld(t)
	stop := filepath.Join(t.TempDir(), "stop")
	var views []*dashboard.View
	for i := range floods {
		name := fmt.Sprintf("f%d", i)
		w.Do("new", name, "--log-limit", "2MiB", "bash", "-c", `until [ -e "$0" ]; do seq 1 30000; done; echo the end`, stop)
		v := w.model.Glance(w.Dir(name), 50*time.Millisecond)
		defer v.Close()
		views = append(views, v)
	}
	for i, v := range views {
		seen := 0
		f := until(t, v, "anything", func(*dashboard.Frame) bool { seen++; return seen == 3 })
		t.Logf("flood %d: event %d in its third screen", i, f.Seq)
	}
	if err := os.WriteFile(stop, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, v := range views {
		f := until(t, v, "the end", func(f *dashboard.Frame) bool { return f.Exit != "" })
		if !strings.HasSuffix(strings.TrimSpace(f.Screen.Text), "the end") || len(f.Missing) > 0 {
			t.Errorf("ends with %q, missing %q", f.Screen.Text, f.Missing)
		}
	}
}
