package cli

import (
	"bytes"
	"testing"
	"time"

	"den/internal/agent/conversation"

	"den/internal/keeper"
	"den/internal/session/attention"
	"den/internal/session/home"
)

// What tables look like, with and without colour, also where somebody else
// chose a name.
func TestTables(t *testing.T) {
	now := time.Now()
	seven := 7
	sessions := []listed{
		{Session: "work", Status: home.Running, Command: []string{"bash"}, Cols: 80, Rows: 24, PID: 12, Created: now, Attention: attention.Attention{State: attention.Busy}},
		{Session: "日本", Status: home.Exited, ExitCode: &seven, Command: []string{"x"}, Cols: 120, Rows: 40, Created: now, Attention: attention.Attention{State: attention.Failed}},
		{Session: "evil\x1b[2J\u202e", Status: home.Lost, LeftRunning: 2, Command: []string{"a\x1b[31m"}, Cols: 1, Rows: 1, Created: now},
	}
	ps := keeper.Ps{Ending: true, Server: &keeper.ChatServer{Address: "127.0.0.1:6667", Socket: "/s", Nick: "me"}, Agents: []keeper.AgentStatus{
		{Name: "coder", Wanted: "running", Actual: "running", State: "asking", Session: "s", Since: now, Question: &conversation.Question{Text: "may I\nrun it?"}, Attention: attention.Attention{State: attention.Asking}},
		{Name: "x", Wanted: "running", Actual: "quarantined", Session: "t", Since: now, Why: "ended 5 times", Approval: "bypass", Attention: attention.Attention{State: attention.Failed}},
	}}
	checks := []check{{Name: "home", Status: "ok", Message: "/h"}, {Name: "disk", Status: "fail", Message: "full", Fix: "den gc"}}
	for name, c := range map[string]struct {
		print        func(sheet)
		plain, shown string
	}{
		"ls": {
			func(to sheet) { printSessions(to, sessions, true) },
			"SESSION   STATUS            ATTENTION  PID  SIZE    AGE  COMMAND\n" +
				"work      running           busy       12   80x24   0s   bash\n" +
				"日本      exited (7)        failed     -    120x40  0s   x\n" +
				"evil\x1b[2J\u202e  lost (2 running)  -          -    1x1     0s   a [31m\n",
			"\x1b[2mSESSION\x1b[0m          \x1b[2mSTATUS\x1b[0m            \x1b[2mATTENTION\x1b[0m  \x1b[2mPID\x1b[0m  \x1b[2mSIZE\x1b[0m    \x1b[2mAGE\x1b[0m  \x1b[2mCOMMAND\x1b[0m\n" +
				"\x1b[1mwork\x1b[0m             \x1b[32mrunning\x1b[0m           \x1b[36mbusy\x1b[0m       12   80x24   0s   bash\n" +
				"\x1b[1m日本\x1b[0m             \x1b[31mexited (7)\x1b[0m        \x1b[31mfailed\x1b[0m     -    120x40  0s   x\n" +
				"\x1b[1mevil^[[2J\\u202e\x1b[0m  \x1b[35mlost (2 running)\x1b[0m  \x1b[2m-\x1b[0m          -    1x1     0s   a [31m\n",
		},
		"ps": {
			func(to sheet) { printPs(to, ps, now) },
			"the workspace goes down\n" +
				"AGENT  WANTED   ACTUAL       FOR  RESTARTS  STATE   ATTENTION  SESSION  APPROVAL  WHY\n" +
				"coder  running  running      0s   0         asking  asking     s        -         asks: may I run it?\n" +
				"x      running  quarantined  0s   0         -       failed     t        bypass    ended 5 times\nchat: irssi -c /s -n me\n",
			"\x1b[33mthe workspace goes down\x1b[0m\n" +
				"\x1b[2mAGENT\x1b[0m  \x1b[2mWANTED\x1b[0m   \x1b[2mACTUAL\x1b[0m       \x1b[2mFOR\x1b[0m  \x1b[2mRESTARTS\x1b[0m  \x1b[2mSTATE\x1b[0m   \x1b[2mATTENTION\x1b[0m  \x1b[2mSESSION\x1b[0m  \x1b[2mAPPROVAL\x1b[0m  \x1b[2mWHY\x1b[0m\n" +
				"\x1b[1mcoder\x1b[0m  running  \x1b[32mrunning\x1b[0m      0s   0         \x1b[33masking\x1b[0m  \x1b[33masking\x1b[0m     s        \x1b[2m-\x1b[0m         asks: may I run it?\n" +
				"\x1b[1mx\x1b[0m      running  \x1b[31mquarantined\x1b[0m  0s   0         \x1b[2m-\x1b[0m       \x1b[31mfailed\x1b[0m     t        \x1b[33mbypass\x1b[0m    ended 5 times\nchat: irssi -c /s -n me\n",
		},
		"doctor": {
			func(to sheet) { printChecks(to, checks) },
			"ok    home       /h\nfail  disk       full\n                 fix: den gc\n",
			"\x1b[32mok  \x1b[0m\x1b[1m  home     \x1b[0m  /h\n\x1b[31mfail\x1b[0m\x1b[1m  disk     \x1b[0m  full\n\x1b[36m                 fix: den gc\x1b[0m\n",
		},
	} {
		var plain, shown bytes.Buffer
		c.print(sheet{&plain, false})
		c.print(sheet{&shown, true})
		if plain.String() != c.plain {
			t.Errorf("%s:\n%q, want\n%q", name, plain.String(), c.plain)
		}
		if shown.String() != c.shown {
			t.Errorf("%s in colour:\n%q, want\n%q", name, shown.String(), c.shown)
		}
	}
}

// Whoever reads the output of a pipe gets no colour, unless it is asked for.
func TestWantsColour(t *testing.T) {
	var out bytes.Buffer
	for color, want := range map[string]bool{"": false, "auto": false, "never": false, "always": true} {
		a := newApp("den", []string{"TERM=xterm"}, nil, &out, &out)
		a.color = color
		if got := a.wantsColour(); got != want {
			t.Errorf("--color %q into a pipe: %v", color, got)
		}
	}
}
