package git_test

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/process/git"
	"den/internal/testkit/need"
)

// What is read of a configuration is what git reads, or nothing.
func TestConfigIsReadAsGitReadsIt(t *testing.T) {
	need.Program(t, "git")
	rounds := 300
	if testing.Short() {
		rounds = 50
	}
	parts := []string{
		"[core]\n", "[remote \"a\"]\n", "[remote \"a b\\\\c\\\"d\"]", "[A.B]\n", "[a.B \"C\"] k = v\n", "\turl = x\n", "url=x y  z ; no\n", "URL = \"  a \"b\n", "k\n", "k=\n", "k = a\\\n b\n", "k = \"a\nb\"\n",
		"k = \\t\\n\\\"\\\\\n", "k = \\x\n", "# c\n", "; c\n", "k = a#b\n", "k = \"a#b\"c\n", "\r\n", "k = v\r\n", "[x", "]", "=", "\"", "\\", " ", "k", "[include]\npath = /x\n", "9 = 3\n", "k-1 = 2\n", "k_1 = 2\n", "\ufeff", "é = 1\n", "k = é\n",
	}
	read := 0
	for seed := range rounds {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		var text strings.Builder
		if r.IntN(4) > 0 {
			text.WriteString("[s]\n")
		}
		for range r.IntN(7) {
			text.WriteString(parts[r.IntN(len(parts))])
		}
		file := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("git", "config", "--file", file, "--no-includes", "--list", "-z")
		cmd.Dir = "/"
		out, gitErr := cmd.Output()
		c, err := git.ParseConfig(text.String())
		if err != nil {
			continue // and den uses none of it
		}
		if gitErr != nil {
			t.Errorf("%q was read, and git refuses it: %v", text.String(), gitErr)
			continue
		}
		read++
		want := map[string][]string{}
		for line := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
			key, value, ok := strings.Cut(line, "\n")
			if !ok {
				value = "true"
			}
			want[key] = append(want[key], value)
		}
		delete(want, "")
		for key, values := range want {
			if got := c.All(key); strings.Join(got, "\x00") != strings.Join(values, "\x00") {
				t.Errorf("%q: %s is %q, git says %q", text.String(), key, got, values)
			}
		}
		if len(c) != strings.Count(string(out), "\x00") {
			t.Errorf("%q: %d settings, git has %q", text.String(), len(c), out)
		}
	}
	if read < rounds/4 {
		t.Errorf("only %d of %d were read: the test has no teeth", read, rounds)
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add("[remote \"a\"]\n\turl = \"x\\ty\" ; c\n")
	f.Add("[a.b]k=\\")
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := git.ParseConfig(text); err == nil {
			c.Remotes()
		}
	})
}
