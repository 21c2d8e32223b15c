package cli

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"den/internal/base/fault"

	"github.com/spf13/cobra"
)

var update = flag.Bool("update", false, "write the golden files anew")

func testApp(t *testing.T) (*app, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	return newApp("den", []string{"HOME=" + t.TempDir()}, os.Stdin, &out, &out), &out
}

// Help is a surface: a change to it is a visible edit of the golden file.
func TestHelpIsGolden(t *testing.T) {
	a, out := testApp(t)
	root := newRoot(a, nil)
	root.SetOut(out)
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		fmt.Fprintf(out, "== %s\n", cmd.CommandPath())
		if err := cmd.Help(); err != nil {
			t.Fatal(err)
		}
		for _, sub := range cmd.Commands() {
			if sub.Name() != "completion" && sub.Name() != "help" {
				walk(sub)
			}
		}
	}
	walk(root)
	path := filepath.Join("testdata", "help.golden")
	if *update {
		if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("help changed; look at it, then run: go test ./internal/ui/cli -update\n%s", firstDifference(out.String(), string(want)))
	}
}

// A verb that is made alone is the one that is made with all others.
func TestVerbAloneIsTheSame(t *testing.T) {
	a, _ := testApp(t)
	all := newRoot(a, nil)
	for _, v := range verbs() {
		name := v.word
		alone, _, err := newRoot(a, []string{name}).Find([]string{name})
		if err != nil || alone.Name() != name {
			t.Errorf("%s makes the command %q: %v", name, alone.Name(), err)
			continue
		}
		together, _, err := all.Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := helpOf(t, alone), helpOf(t, together); got != want {
			t.Errorf("%s: help differs\n%s", name, firstDifference(got, want))
		}
	}
}

func helpOf(t *testing.T, cmd *cobra.Command) string {
	t.Helper()
	var out bytes.Buffer
	cmd.Root().SetOut(&out)
	if err := cmd.Help(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			return fmt.Sprintf("line %d: %q", i+1, g[i])
		}
	}
	return "lines are missing at the end"
}

// Every verb shows how it is used.
func TestEveryVerbHasAnExample(t *testing.T) {
	a, _ := testApp(t)
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Runnable() && cmd.HasParent() && cmd.Example == "" {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		for _, sub := range cmd.Commands() {
			if sub.Name() != "completion" { // cobra's own
				walk(sub)
			}
		}
	}
	walk(newRoot(a, nil))
}

// The skill must fit into an agent's context: under 1,500 tokens, counted
// generously as three characters a token.
func TestSkillIsShort(t *testing.T) {
	s, err := loadSkill("den")
	if err != nil {
		t.Fatal(err)
	}
	const limit = 1500
	if n := len(s.Content) / 3; n > limit {
		t.Errorf("the skill has about %d tokens, the limit is %d", n, limit)
	}
	if s.Description == "" || !strings.HasPrefix(s.Content, "---\nname: den\n") {
		t.Error("the skill has no front matter")
	}
}

func TestDuration(t *testing.T) {
	for in, want := range map[string]time.Duration{"500ms": 500 * time.Millisecond, "30": 30 * time.Second, "0.5": 500 * time.Millisecond, "1h2m": 62 * time.Minute, "0": 0} {
		var d duration
		if err := d.Set(in); err != nil || time.Duration(d) != want {
			t.Errorf("Set(%q) = %v, %v", in, time.Duration(d), err)
		}
	}
	for _, in := range []string{"", "x", "-1s", "-3", "1e300", "NaN"} {
		var d duration
		if err := d.Set(in); err == nil {
			t.Errorf("Set(%q) took it as %v", in, time.Duration(d))
		}
	}
}

func TestDays(t *testing.T) {
	for in, want := range map[string]time.Duration{"30d": 30 * 24 * time.Hour, "0.5d": 12 * time.Hour, "12h": 12 * time.Hour, "90m": 90 * time.Minute, "30": 30 * time.Second} {
		var d days
		if err := d.Set(in); err != nil || time.Duration(d) != want {
			t.Errorf("Set(%q) = %v, %v", in, time.Duration(d), err)
		}
	}
	for _, in := range []string{"", "1w", "xd", "-1d", "-1h", "1e300", "99999d"} {
		var d days
		if err := d.Set(in); err == nil || !strings.Contains(err.Error(), "30d, 12h, 90m or 45s") {
			t.Errorf("Set(%q) took it as %v, or does not say what it takes: %v", in, time.Duration(d), err)
		}
	}
}

func TestBytes(t *testing.T) {
	for in, want := range map[string]int64{"0": 0, "4096": 4096, "256MiB": 256 << 20, "1.5gb": 1_500_000_000, "2K": 2048, "7B": 7, "1 MiB": 1 << 20} {
		if got, err := parseBytes(in); err != nil || got != want {
			t.Errorf("parseBytes(%q) = %d, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "x", "-1", "1PiBB", "999999999999TiB", "NaN"} {
		if got, err := parseBytes(in); err == nil {
			t.Errorf("parseBytes(%q) = %d", in, got)
		}
	}
}

func TestParseAt(t *testing.T) {
	created := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	now := created.Add(10 * time.Minute)
	for in, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "-1m": 9 * time.Minute, "12:03": 3 * time.Minute, "12:03:30": 210 * time.Second,
		"2026-01-31T12:01:00Z": time.Minute, "2026-01-31 12:02:00": 2 * time.Minute, "2026-01-31T12:01:00.5Z": 60500 * time.Millisecond,
	} {
		if got, err := parseAt(in, created, now); err != nil || got != want {
			t.Errorf("parseAt(%q) = %v, %v, want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"x", "25:00", "-x", "2026-13-01"} {
		if _, err := parseAt(in, created, now); err == nil {
			t.Errorf("parseAt(%q) was taken", in)
		}
	}
}

func TestDetachKeys(t *testing.T) {
	for name, c := range map[string]struct {
		spec  string
		typed []string
		sent  string
		leave bool
	}{
		"at once":        {`C-\ C-\`, []string{"ab\x1c\x1cignored"}, "ab", true},
		"in two reads":   {`C-\ C-\`, []string{"a\x1c", "\x1c"}, "a", true},
		"only half":      {`C-\ C-\`, []string{"\x1c", "x"}, "\x1cx", false},
		"kitty keyboard": {`C-\ C-\`, []string{"\x1b[92;5u\x1b[92;5u"}, "", true},
		"other keys":     {`C-b d`, []string{"\x02", "c\x02d"}, "\x02c", true},
	} {
		d, err := newDetachKeys(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		var sent []byte
		leave := false
		for _, in := range c.typed {
			s, l := d.filter([]byte(in))
			sent, leave = append(sent, s...), leave || l
		}
		if string(sent) != c.sent || leave != c.leave {
			t.Errorf("%s: sent %q, leave %v", name, sent, leave)
		}
	}
	for _, bad := range []string{"", "NoSuchKey"} {
		if _, err := newDetachKeys(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestTranslatedWords(t *testing.T) {
	for line, want := range map[string]string{
		"/usr/bin/agent-kernel watch demo":             "den kernel watch demo",
		"agent-kernel":                                 "den kernel",
		"/usr/bin/culture channel send #general hi":    "den channel send #general hi",
		"culture channel message #general hi":          "den channel send #general hi",
		"culture channel list":                         "den channel channels",
		"culture channel ask #general --timeout 5 why": "den channel ask #general --timeout 5 why",
		"culture skills install claude":                "den skills install claude",
		"culture agents status":                        "den ps",
		"culture agents start spark-culture":           "den agent start spark-culture",
		"culture agents start --all":                   "den up",
		"culture agents start --config agents.yaml":    "den up --file agents.yaml",
		"culture agents stop --all --config=a.yaml":    "den down --file a.yaml",
		"culture agent stop spark-culture":             "den agent stop spark-culture",
		"culture agents sleep spark-culture":           "den harness pause spark-culture",
		"culture agents wake spark-culture":            "den harness resume spark-culture",
		"culture agents status spark-culture -j":       "den harness status spark-culture -j",
		"culture agents status --config c spark-a":     "den harness status spark-a",
		"culture agents message spark-culture hi you":  "den agent ask spark-culture hi you",
		"culture agents learn":                         "den agent learn",
		"culture agents":                               "den agents",
		"culture":                                      "den",
		"irc_client read #general 5":                   "den channel read #general 5",
	} {
		if got, ok := translated(strings.Fields(line)); !ok || strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", line, got, want)
		}
	}
	if _, ok := translated([]string{"den", "ls"}); ok {
		t.Error("den is taken for culture")
	}
}

func TestElsewhere(t *testing.T) {
	for _, c := range []struct {
		line, where, verb string
		is                bool
		kind              fault.Kind
	}{
		{line: "ps", verb: "ps"},
		{line: "--home x ps", verb: "--home x ps"},
		{line: "type s --context", verb: "type s --context"},
		{line: "--context a ps -j", where: "--context a", verb: "ps -j", is: true},
		{line: "--context=a --namespace b attach x", where: "--context a --namespace b", verb: "attach x", is: true},
		{line: "-j --namespace b ps", where: "--namespace b", verb: "-j ps", is: true},
		{line: "--kubeconfig f --keeper k new n sh -c --context", where: "--kubeconfig f --keeper k", verb: "new n sh -c --context", is: true},
		{line: "--context", is: true, kind: fault.Usage},
		{line: "--context a", where: "--context a", is: true, kind: fault.Usage},
		{line: "--context a -j", where: "--context a", verb: "-j", is: true, kind: fault.Usage},
	} {
		e, is, err := asElsewhere(strings.Fields(c.line))
		if is != c.is || fault.KindOf(err) != c.kind {
			t.Errorf("den %s: elsewhere %v, %v", c.line, is, err)
		}
		if where, verb := strings.Join(e.where, " "), strings.Join(e.verb, " "); where != c.where || verb != c.verb {
			t.Errorf("den %s: %q there: %q", c.line, where, verb)
		}
	}
}
