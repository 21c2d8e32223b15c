package agenttty

import (
	"slices"
	"strings"
	"testing"
)

// original lists the commands and flags of agent-tty 0.5.0.
var original = map[string]string{
	"create":        "shell command cwd cols rows env term name idle-timeout-ms",
	"list":          "all",
	"inspect":       "",
	"destroy":       "force",
	"gc":            "dry-run stale-only older-than",
	"home list":     "all",
	"home forget":   "",
	"type":          "file append-newline",
	"paste":         "file",
	"run":           "file timeout no-wait",
	"send-keys":     "",
	"batch":         "file keep-going",
	"mark":          "",
	"resize":        "cols rows",
	"signal":        "",
	"wait":          "exit idle-ms text regex screen-stable-ms cursor-row cursor-col after-seq timeout",
	"snapshot":      "format include-scrollback include-cells",
	"screenshot":    "profile show-cursor hide-cursor",
	"record export": "format out profile timing",
	"dashboard":     "all session",
	"doctor":        "",
	"version":       "",
	"skills list":   "",
	"skills get":    "",
	"skills path":   "",
}

// Every command and flag of the original is known, and no other.
func TestCommandsAndFlags(t *testing.T) {
	root := strings.Fields("home timeout-ms no-color log-level profile renderer json")
	all := commands()
	for name, flags := range original {
		cmd, ok := all[name]
		if !ok {
			t.Errorf("no command %q", name)
			continue
		}
		f := cmd.flagSet(name)
		want := append(strings.Fields(flags), root...)
		for _, flag := range want {
			if f.Lookup(flag) == nil {
				t.Errorf("%s has no --%s", name, flag)
			}
		}
		for line := range strings.Lines(f.FlagUsages()) {
			if flag, ok := strings.CutPrefix(strings.TrimSpace(line), "--"); ok && !slices.Contains(want, strings.Fields(flag)[0]) {
				t.Errorf("%s has --%s, and the original has not", name, flag)
			}
		}
	}
	for name := range all {
		if _, ok := original[name]; !ok {
			t.Errorf("the original has no %q", name)
		}
	}
}

// k was called by this tool's name, too: what is whose?
func TestKnows(t *testing.T) {
	for line, want := range map[string]bool{
		"create -- bash": true, "create": true, "list": true, "d": true, "home list": true, "home": true, "record export x": true, "skills get den": true,
		"ls": true, "ls --all": true, "ls --json": true, "--json ls": true, "--home /x run a b": true, "--no-color list": true,
		"": true, "--help": true, "-h": true, "help": true, "help create": true, "home --help": true, "run --help": true, "run -h": true, "run": true,
		"run work code": true, "run work -- code": true, "run work code --json": true, "run work --timeout 100 code": true, "run work --timeout=100 code": true,
		"run work code --no-wait": true, "run work --file f": true, "run 01jd0000000000000000ab": true,
		"run -j work code": false, "run -t 5 work code": false, "run -j code": false, "run code": false, "run work code more": false,
		"new work bash": false, "poll": false, "kill work": false, "nosuch": false, "--nosuch": false,
		"keys work Enter": false, "--home /x": true, "--home /x nosuch": true,
	} {
		if got := Knows(strings.Fields(line)); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}

// Whatever flags stand before the command, it is found.
func TestSplit(t *testing.T) {
	for line, want := range map[string]string{
		"list --all":                         "list|--all",
		"ls":                                 "list|",
		"--home /h --json record export x":   "record export|--home /h --json x",
		"--home=/h --timeout-ms 5 home list": "home list|--home=/h --timeout-ms 5",
		"--no-color d --all":                 "dashboard|--no-color --all",
		"create --name x -- bash -l":         "create|--name x -- bash -l",
		"--help --json":                      "help|--json",
		"home --help":                        "home|--help",
	} {
		name, rest := split(strings.Fields(line))
		if got := name + "|" + strings.Join(rest, " "); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// The keys that the original takes are taken.
func TestKeys(t *testing.T) {
	all := strings.Fields("Enter Tab Escape Backspace Space Up Down Right Left Home End Insert Delete PageUp PageDown F1 F12 a Z 9 ~ Ctrl+c Ctrl+C ctrl+space Ctrl+[ Ctrl+\\ Ctrl+] Ctrl+^ Ctrl+_ Ctrl+? Ctrl+@ Alt+x Shift+a Shift+Tab Alt+Enter Alt+Tab Alt+Escape Alt+Backspace Ctrl+Alt+Up Shift+F5 Ctrl+Shift+Left")
	if _, size, err := parseKeys(all); err != nil || size == 0 {
		t.Error(err)
	}
	if chords, _, err := parseKeys([]string{" Enter "}); err != nil || chords[0] != "Enter" {
		t.Errorf("%q, %v", chords, err)
	}
	for _, bad := range []string{"", "NoSuchKey", "Ctrl+", "hello"} {
		if _, _, err := parseKeys([]string{bad}); codeOf(err) != invalidKeys {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestSteps(t *testing.T) {
	for plan, want := range map[string]string{
		`[{"type":"x"},{"paste":"y"},{"sendKeys":["Enter","Ctrl+C"]},{"run":"ls","timeout":5},{"run":"x","noWait":true},{"wait":{"text":"a"}}]`: "",
		`[{"wait":{"regex":"a|b","screenStableMs":100,"cursorRow":1,"cursorCol":2,"timeout":0}}]`:                                               "",
		`[{"wait":{"cursorRow":1}}]`:          "",
		`[]`:                                  invalidInput,
		`{}`:                                  invalidInput,
		`[{}]`:                                invalidInput,
		`[{"type":"x","paste":"y"}]`:          invalidInput,
		`[{"keys":["Enter"]}]`:                invalidInput,
		`[{"type":"x","timeout":5}]`:          invalidInput,
		`[{"sendKeys":[]}]`:                   invalidKeys,
		`[{"sendKeys":["Nope"]}]`:             invalidKeys,
		`[{"wait":{"text":"a","regex":"b"}}]`: invalidInput,
		`[{"wait":{"regex":"("}}]`:            invalidInput,
		`[{"wait":{"text":""}}]`:              invalidInput,
		`[{"run":"x","timeout":-1}]`:          invalidInput,
		`[{"type":"x"}] trailing`:             invalidInput,
	} {
		_, err := parseSteps(plan)
		if want == "" && err != nil || want != "" && codeOf(err) != want {
			t.Errorf("%s: %v, want %s", plan, err, want)
		}
	}
}

func TestAges(t *testing.T) {
	for _, good := range []string{"", "30m", "12h", "7d", "0m"} {
		if _, err := parseAge(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"5s", "1w", "h", "-1h", "1.5h", "9999999d"} {
		if _, err := parseAge(bad); codeOf(err) != invalidDuration {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
