package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"den/internal/base/ident"
	"den/internal/keeper"
	"den/internal/session/home"
)

func waitingApproval(agent, id string) keeper.Waiting {
	return keeper.Waiting{
		ID: "approval:" + agent + ":" + id, Kind: keeper.WaitingApproval, Agent: agent, What: "Bash make install", Approval: &keeper.Approval{ID: id, Agent: agent},
		Actions: []keeper.Action{{Name: "approve", Command: "den approvals approve " + id}, {Name: "deny", Command: "den approvals deny " + id}},
	}
}

// Followers hear what came, what changed and what is over; what is only not
// known is not over.
func TestAttentionChanges(t *testing.T) {
	a, b, c := waitingApproval("coder", "a"), waitingApproval("writer", "b"), waitingApproval("tester", "c")
	changed := b
	changed.What = "Bash make clean"
	ended := keeper.Approval{ID: "a", Agent: "coder", State: "expired"}
	for _, test := range []struct {
		name   string
		before []keeper.Waiting
		now    keeper.Attention
		want   string
		known  int
	}{
		{"the first", nil, keeper.Attention{Waiting: []keeper.Waiting{a, b}}, "waiting a, waiting b", 2},
		{"nothing new", []keeper.Waiting{a, b}, keeper.Attention{Waiting: []keeper.Waiting{a, b}}, "", 2},
		{"one ended, one came, one changed", []keeper.Waiting{a, b}, keeper.Attention{Waiting: []keeper.Waiting{changed, c}, Recent: []keeper.Approval{ended}}, "over a expired, changed b, waiting c", 2},
		{"an end of another agent's", []keeper.Waiting{waitingApproval("writer", "a")}, keeper.Attention{Recent: []keeper.Approval{ended}}, "over a", 0},
		{"a harness that does not answer", []keeper.Waiting{a, b}, keeper.Attention{Waiting: []keeper.Waiting{b}, Unreachable: []string{"coder"}}, "", 2},
	} {
		changes, known := attentionChanges(test.before, test.now)
		var told []string
		for _, c := range changes {
			word := c.Event + " " + c.Item.Approval.ID
			if c.Ended != nil {
				word += " " + c.Ended.State
			}
			told = append(told, word)
		}
		if got := strings.Join(told, ", "); got != test.want || len(known) != test.known {
			t.Errorf("%s: %q and %d known, want %q and %d", test.name, got, len(known), test.want, test.known)
		}
	}
}

// Each line has how long it waits, what is asked, and the command.
func TestPrintAttention(t *testing.T) {
	now := time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)
	long := waitingApproval("coder", "k3f")
	long.Since, long.Expires, long.What = now.Add(-3*time.Minute), now.Add(12*time.Minute), "Bash "+strings.Repeat("x", 200)
	question := keeper.Waiting{Kind: keeper.WaitingQuestion, Agent: "tui", What: "Do you want to proceed?", Actions: []keeper.Action{
		{Name: "1: Yes", Command: "den agent answer tui 3f9c 1"}, {Name: "2: No", Command: "den agent answer tui 3f9c 2"}, {Name: "attach", Command: "den agent attach tui"},
	}}
	circuit := keeper.Waiting{Kind: keeper.WaitingCircuit, Agent: "bot", What: "its turns failed too often", Actions: []keeper.Action{{Name: "resume", Command: "den harness resume bot"}}}
	var out bytes.Buffer
	printAttention(sheet{to: &out}, keeper.Attention{Waiting: []keeper.Waiting{long, question, circuit}, Unreachable: []string{"far"}}, now)
	want := fmt.Sprintf(`'far' does not answer
FOR           WHO    KIND      WHAT%[1]s  DECIDE
3m, 12m left  coder  approval  Bash %[2]s…  den approvals approve k3f (or deny)
-             tui    question  Do you want to proceed?%[3]s  den agent answer tui 3f9c 1 (1: Yes; or 2: No, attach)
-             bot    circuit   its turns failed too often%[4]s  den harness resume bot
`, strings.Repeat(" ", 96), strings.Repeat("x", 94), strings.Repeat(" ", 77), strings.Repeat(" ", 74))
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", out.String(), want)
	}
	out.Reset()
	printAttention(sheet{to: &out}, keeper.Attention{}, now)
	if out.String() != "nothing waits for you\n" {
		t.Errorf("%q", out.String())
	}
}

// The latest life of an agent speaks for it, whatever the one before left; the
// sessions of people stand for themselves.
func TestWaitingSessions(t *testing.T) {
	failed, well := 3, 0
	for name, test := range map[string]struct {
		labels map[string]string
		exits  []int // of its lives
		seen   bool  // the latest
		want   string
	}{
		"an agent that failed once":          {map[string]string{home.OwnerLabel: "w1"}, []int{failed}, false, "exit 3"},
		"an agent that failed twice":         {map[string]string{home.OwnerLabel: "w1"}, []int{failed, failed}, false, "exit 3 (at least 2 times)"},
		"an agent that failed, then did not": {map[string]string{home.OwnerLabel: "w1"}, []int{failed, well}, false, "it has ended"},
		"an agent whose latest was seen":     {map[string]string{home.OwnerLabel: "w1"}, []int{failed, failed}, true, ""},
		"a person's":                         {nil, []int{failed, failed}, false, "exit 3, exit 3"},
	} {
		root := home.Home{Path: t.TempDir()}
		now := time.Now()
		for i, exit := range test.exits {
			at := now.Add(time.Duration(i-len(test.exits)) * time.Minute)
			d := root.Dir(ident.New(at))
			m := &home.Manifest{V: 1, ID: d.ID, Name: "w1.a", Status: home.Exited, Labels: test.labels, Created: at, Ended: at.Add(time.Second), ExitCode: &exit, Noted: &home.Noted{}}
			names := filepath.Join(root.Path, "names")
			_ = os.Remove(filepath.Join(names, m.Name)) // the latest has the name
			if err := errors.Join(os.MkdirAll(d.Path, 0o700), os.MkdirAll(names, 0o700), os.Symlink(filepath.Join("..", "sessions", d.ID), filepath.Join(names, m.Name)), d.Save(m)); err != nil {
				t.Fatal(err)
			}
			if test.seen && i == len(test.exits)-1 {
				if err := d.Look(now); err != nil {
					t.Fatal(err)
				}
			}
		}
		var told []string
		for _, w := range waitingSessions(root, true, nil) {
			told = append(told, w.What)
		}
		if got := strings.Join(told, ", "); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
