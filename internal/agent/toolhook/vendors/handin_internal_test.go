package vendors

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"den/internal/agent/permission"
)

// hooked hands the hook to a program of a vendor.
func hooked(t *testing.T, name string, argv []string, rules ...permission.Rule) (Hook, Launch) {
	t.Helper()
	h := Hook{
		Den: "/opt/den's/den", Agent: "crew/a", Socket: "/run/s", Dir: filepath.Join(t.TempDir(), "hook"), Rules: rules, Protected: []string{"/w/.den"},
		Getenv: func(string) string { return "" },
	}
	launch, err := h.HandIn(name, argv)
	if err != nil {
		t.Fatal(err)
	}
	return h, launch
}

// The hook comes before the agent's own arguments, of which none is lost.
func TestHandIn(t *testing.T) {
	for name := range handIns {
		h, launch := hooked(t, name, []string{"/usr/bin/" + name, "--own", "a prompt"}, permission.Rule{Outcome: permission.Deny, Command: "rm *"})
		if n := len(launch.Argv); launch.Argv[0] != "/usr/bin/"+name || !slices.Equal(launch.Argv[n-2:], []string{"--own", "a prompt"}) {
			t.Errorf("%s: %q", name, launch.Argv)
		}
		if fi, err := os.Stat(h.Dir); err != nil || fi.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", name, fi, err)
		}
		for _, argv := range [][]string{nil, {"sh", "-c", name}} {
			if _, err := h.HandIn(name, argv); err == nil {
				t.Errorf("%s is handed to %q", name, argv)
			}
		}
	}
	if Check("shell", []string{"shell"}) == nil {
		t.Error("a shell has a hook")
	}
}

// codex is given a hash that it computes, too: of the hook as it stands in its
// configuration.
func TestCodexHash(t *testing.T) {
	got, err := codexHash("pre_tool_use", `'/opt/a & b' "<x>"`, 60)
	if want := "sha256:" + sum(`{"event_name":"pre_tool_use","hooks":[{"async":false,"command":"'/opt/a & b' \"<x>\"","timeout":60,"type":"command"}]}`); err != nil || got != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	_, launch := hooked(t, "codex", []string{"codex"})
	if text := strings.Join(launch.Argv, "\n"); strings.Count(text, "trusted_hash") != 2 || strings.Contains(text, "bypass") {
		t.Errorf("%s", text)
	}
}

// What gemini's policy allows, den's allows: whatever the rule and the command.
func TestGeminiAllowsNoMore(t *testing.T) {
	rules := []string{"touch ok", "git log *", "go test ./*", "make * all", "cat a*", "sh x.sh", "npm run build:*", "echo 'a b'", "x + y"}
	words := []string{"touch", "ok", "git", "log", "go", "test", "./x", "make", "a", "all", "cat", "ab", "sh", "x.sh", "npm", "run", "build:x", "echo", "x", "+", "y",
		";", "&&", "|", "$(id)", "`id`", ">f", "$x", "'", `"`, `\`, "\n", "\t", "*", "~", "{a,b}", "#", "(", "!", "=", "é", "-rf", "..", "/etc/x", "a;rm", "a\nrm"}
	random := rand.New(rand.NewPCG(1, 2))
	matched := 0
	for _, command := range rules {
		patterns := allowPatterns(t, command)
		p, err := permission.NewPolicy(permission.Settings{Dir: "/w", Rules: []permission.Rule{{Outcome: permission.Allow, Command: command}}})
		if err != nil {
			t.Fatal(err)
		}
		for range 5000 {
			text := mutated(random, command, words)
			if !matches(t, patterns, text) {
				continue
			}
			matched++
			if outcome, why := p.Decide(permission.Request{Tool: geminiShell, Kind: permission.Execute, Command: text}); outcome != permission.Allow {
				t.Fatalf("rule %q: gemini would run %q unasked, den says %s: %s", command, text, outcome, why)
			}
		}
	}
	if matched < 1000 {
		t.Errorf("only %d commands matched", matched)
	}
}

// mutated is a command that a rule might be for.
func mutated(random *rand.Rand, rule string, words []string) string {
	any := func() string { return words[random.IntN(len(words))] }
	var line []string
	for _, w := range strings.Fields(rule) {
		switch random.IntN(6) {
		case 0:
			w = any()
		case 1, 2:
			w = strings.ReplaceAll(w, "*", any())
		}
		line = append(line, w)
	}
	for range random.IntN(3) {
		line = append(line, any())
	}
	return strings.Join(line, " ")
}

// allowPatterns are those of a rule that allows. Go has no look-ahead: that there
// is no directory is known here.
func allowPatterns(t *testing.T, rule string) []*regexp.Regexp {
	t.Helper()
	var all []*regexp.Regexp
	for _, pattern := range exactly(rule) {
		rest, ok := strings.CutPrefix(pattern, `^(?!.*[^\\]"dir_path":)`)
		if !ok {
			t.Fatalf("%s", pattern)
		}
		all = append(all, regexp.MustCompile("^"+rest))
	}
	return all
}

// matches reports whether one of the patterns matches a command, as gemini writes
// it.
func matches(t *testing.T, patterns []*regexp.Regexp, command string) bool {
	t.Helper()
	input, err := plainJSON(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	input = strings.Replace(input, `{"`, "{\x00\"", 1)
	return slices.ContainsFunc(patterns, func(p *regexp.Regexp) bool { return p.MatchString(input) })
}

// What den's policy denies by a rule for a command gemini's denies or asks for.
func TestGeminiForbidsMore(t *testing.T) {
	for rule, commands := range map[string][]string{
		"rm *":       {"rm x", "rm", "/bin/rm x", "RM x", "sudo rm x", "a && rm x", "sh -c 'rm x'", "xargs rm", "a\nrm x", "a\trm x", "(rm x)"},
		"git push *": {"git push", "git -C x push", "git  push origin", "GIT PUSH", "x; git push"},
	} {
		begins, has := generously(rule)
		for i, command := range commands {
			data, err := json.Marshal(map[string]string{"command": command})
			if err != nil {
				t.Fatal(err)
			}
			if !regexp.MustCompile(has).Match(data) {
				t.Errorf("%s: %s is not asked for: %s", rule, command, has)
			}
			if i == 0 && !regexp.MustCompile(begins).Match(data) {
				t.Errorf("%s: %s is not denied: %s", rule, command, begins)
			}
		}
	}
	if _, has := generously("rm *"); regexp.MustCompile(has).MatchString(`{"command":"format x"}`) {
		t.Error("a part of a word is a word")
	}
}

// gemini drops a file with a pattern that repeats a repetition, or is long.
func TestGeminiTakesThePatterns(t *testing.T) {
	nested := regexp.MustCompile(`\([^)]*[*+?{].*\)[*+?{]`)
	text := geminiPolicy([]permission.Rule{
		{Outcome: permission.Allow, Command: "git log * x*"}, {Outcome: permission.Allow, Command: "go test *"},
		{Outcome: permission.Deny, Command: "rm *", Why: `no "rm"` + "\n"}, {Outcome: permission.Ask, Command: "git push *"},
		{Outcome: permission.Deny, Kind: permission.Fetch}, {Outcome: permission.Deny, Path: ".env"},
	}, []string{"/w/it's/.den"})
	for line := range strings.Lines(text) {
		pattern, ok := strings.CutPrefix(line, "argsPattern = '''")
		if ok && (nested.MatchString(pattern) || len(pattern) > 2000 || strings.Count(pattern, "'") != 3) {
			t.Errorf("%s", line)
		}
	}
	if strings.Contains(text, ".env") || strings.Count(text, "web_fetch") != 1 {
		t.Errorf("%s", text)
	}
}

func sum(text string) string {
	hash := sha256.Sum256([]byte(text))
	return hex.EncodeToString(hash[:])
}
