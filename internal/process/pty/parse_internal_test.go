//go:build linux && (amd64 || arm64 || riscv64 || loong64)

package pty

import (
	"strings"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	const tail = " S 12 34 56 34817 78 4194304 1 2 3 4 5 6 7 8 20 0 9 0 100"
	for _, comm := range []string{"bash", "tmux: client", "a) S 1 2 3", "(", ")", "((sd-pam))", "", "\n"} {
		st, ok := parseStat([]byte("99 (" + comm + ")" + tail))
		want := procStat{pid: 99, ppid: 12, pgrp: 34, session: 56, tty: 34817, flags: 4194304, threads: 9, started: 100, state: 'S', comm: comm}
		if !ok || st != want {
			t.Errorf("parseStat with comm %q = %+v, %v; want %+v", comm, st, ok, want)
		}
	}
	for _, line := range []string{"", "99", "99 (x", "99 x)", "(x) S 1 2", "99 (x) S 1 2", "99 (x) SS" + tail[2:], "99 (x) S a b c d e f g h i j k l m n o p q r"} {
		if st, ok := parseStat([]byte(line)); ok {
			t.Errorf("parseStat(%q) = %+v, want nothing", line, st)
		}
	}
}

func TestParseSyscall(t *testing.T) {
	s, ok := parseSyscall([]byte("270 0x1 0x7ffe0 0x0 0x0 0x0 0x7ffe8 0x7ffd1f8ffae8 0x7f6a83011503\n"))
	if !ok || s.number != 270 || s.args[1] != 0x7ffe0 || s.args[5] != 0x7ffe8 || s.sp != 0x7ffd1f8ffae8 {
		t.Errorf("parseSyscall = %+v, %v", s, ok)
	}
	if s, ok := parseSyscall([]byte("running\n")); !ok || !s.running {
		t.Errorf("running: %+v, %v", s, ok)
	}
	if s, ok := parseSyscall([]byte("-1 0x7ffd 0x7f6a\n")); !ok || !s.outside {
		t.Errorf("outside: %+v, %v", s, ok)
	}
	for _, line := range []string{"", "x", "0", "0 0x1 0x2", "0 1 2 3 4 5 6 z"} {
		if s, ok := parseSyscall([]byte(line)); ok {
			t.Errorf("parseSyscall(%q) = %+v, want nothing", line, s)
		}
	}
}

func TestParseFdinfo(t *testing.T) {
	const epoll = "pos:\t0\nflags:\t02\nmnt_id:\t15\nino:\t64\n" +
		"tfd:       15 events:       19 data:               f  pos:0 ino:41f1 sdev:e\n" +
		"tfd:       21 events: 80000019 data:              15  pos:0 ino:3 sdev:17\n"
	got := parseEpoll([]byte(epoll))
	if len(got) != 2 || got[0] != (epollEntry{15, 0x19, 0x41f1}) || got[1] != (epollEntry{21, 0x80000019, 3}) {
		t.Errorf("parseEpoll = %+v", got)
	}
	if left := timerLeft([]byte("clockid: 1\nticks: 0\nsettime flags: 00\nit_value: (2, 500000000)\nit_interval: (0, 0)\n")); left != 2500*time.Millisecond {
		t.Errorf("timerLeft = %v", left)
	}
	if left := timerLeft([]byte("it_value: (0, 0)\n")); left != 0 {
		t.Errorf("timerLeft of an idle timer = %v", left)
	}
	if left := timerLeft([]byte("nonsense")); left == 0 {
		t.Error("an unreadable timer is taken for an idle one")
	}
	for flags, want := range map[string][2]bool{"0100000": {true, false}, "01": {false, true}, "02": {true, true}, "x": {false, false}} {
		if r, w := accessMode([]byte("pos:\t0\nflags:\t" + flags + "\nmnt_id:\t1\n")); r != want[0] || w != want[1] {
			t.Errorf("accessMode(%s) = %v, %v", flags, r, w)
		}
	}
	if n, ok := parseSwitches([]byte("State:\tS\nvoluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t5\n")); n != 12 || !ok {
		t.Errorf("parseSwitches = %d, %v", n, ok)
	}
	if _, _, ok := parseSchedstat([]byte("0 0 0\n")); ok {
		t.Error("a kernel that does not count passes for one that does")
	}
}

func TestDecide(t *testing.T) {
	reader := waiting{pid: 1, comm: "r", kind: reads, call: "read"}
	w := func(k waitKind) waiting { return waiting{pid: 2, comm: "w", kind: k, call: "call", what: "thing"} }
	timedReader := reader
	timedReader.timeout = 3 * time.Second
	loop := timedReader
	loop.loop = true
	quick := timedReader
	quick.timeout = 50 * time.Millisecond
	socket := w(foreign)
	socket.what = "socket:[1]"
	tests := []struct {
		name    string
		threads []waiting
		raw     bool
		want    ReadyState
		timers  bool
	}{
		{"nobody", nil, false, Unknown, false},
		{"reader", []waiting{reader}, false, Ready, false},
		{"reader and parked", []waiting{w(parked), reader, w(parked)}, false, Ready, false},
		{"reader with a time limit", []waiting{timedReader}, true, Ready, false},
		{"event loop with a timer", []waiting{loop}, true, Unknown, true},
		{"looks in passing", []waiting{quick}, true, Unknown, true},
		{"two readers, one of them a loop with a timer", []waiting{loop, reader}, true, Unknown, true},
		{"two readers, the other way round", []waiting{reader, loop}, true, Unknown, true},
		{"running", []waiting{reader, w(runs)}, false, Busy, false},
		{"running beats hidden", []waiting{w(hidden), w(runs)}, false, Busy, false},
		{"hidden", []waiting{reader, w(hidden)}, false, Unknown, false},
		{"mixed", []waiting{w(mixed)}, false, Unknown, false},
		{"sleeper beside the reader", []waiting{reader, w(timed)}, false, Unknown, true},
		{"network beside the reader", []waiting{reader, w(foreign), w(timed)}, false, Unknown, false},
		{"no reader", []waiting{w(parked), w(timed)}, false, Busy, false},
		{"network alone", []waiting{socket}, false, Busy, false},
		{"network alone in raw mode", []waiting{socket}, true, Unknown, false},
	}
	for _, tt := range tests {
		state, why, _, timers := decide(tt.threads, tt.raw)
		if state != tt.want || timers != tt.timers || why == "" {
			t.Errorf("%s: %s (%s), only timers %v; want %s, %v", tt.name, state, why, timers, tt.want, tt.timers)
		}
		wantQuiet := time.Duration(0)
		if tt.name == "looks in passing" {
			wantQuiet = 150 * time.Millisecond
		}
		if got := quiet(tt.threads, timers); got != wantQuiet {
			t.Errorf("%s: quiet %v, want %v", tt.name, got, wantQuiet)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("99 (a) b) S 12 34 56 34817 78 4194304 1 2 3 4 5 6 7 8 20 0 9 0 100"))
	f.Add([]byte("1 () Z 0 0 0"))
	f.Fuzz(func(t *testing.T, line []byte) {
		st, ok := parseStat(line)
		if ok && !strings.Contains(string(line), "("+st.comm+")") {
			t.Errorf("comm %q is not in %q", st.comm, line)
		}
	})
}

func FuzzParseSyscall(f *testing.F) {
	f.Add([]byte("270 0x1 0x7ffe0 0x0 0x0 0x0 0x7ffe8 0x7ffd1f8ffae8 0x7f6a83011503\n"))
	f.Add([]byte("running\n"))
	f.Add([]byte("-1 0x0 0x0"))
	f.Fuzz(func(t *testing.T, line []byte) {
		parseSyscall(line)
		parseEpoll(line)
		timerLeft(line)
		accessMode(line)
		parseSchedstat(line)
		parseSwitches(line)
		parsePeer(line, 0)
		ignoredMask(line)
	})
}
