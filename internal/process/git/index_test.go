package git_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"den/internal/process/git"
	"den/internal/testkit/need"
)

// Whatever form an index has, what den reads of it is what git lists, or it does
// not know. Whether it may not know is told for each form.
func TestIndexIsReadAsGitReadsIt(t *testing.T) {
	need.Program(t, "git")
	rounds := 60
	if testing.Short() {
		rounds = 8
	}
	names := []string{"den.toml", "a/den.toml", "a/b/den.toml", "a/b/other", "a/bc", "zz/" + strings.Repeat("long/", 60) + "x", "ä/ö", "den.toml2", "b/den.toml"}
	type form struct {
		name   string
		unsure bool
		args   [][]string
	}
	forms := []form{
		{"version 2", false, [][]string{{"update-index", "--index-version", "2"}}},
		{"version 3", false, [][]string{{"update-index", "--index-version", "3"}}},
		{"version 4", false, [][]string{{"update-index", "--index-version", "4"}}},
		{"split", true, [][]string{{"update-index", "--split-index"}}},
		{"untracked cache", false, [][]string{{"update-index", "--force-untracked-cache"}, {"status"}}},
		{"fsmonitor", false, [][]string{{"config", "core.fsmonitor", "true"}, {"update-index", "--fsmonitor"}, {"config", "--unset", "core.fsmonitor"}}},
		{"threads", false, [][]string{{"config", "index.threads", "2"}, {"config", "feature.manyFiles", "true"}}},
		{"sparse", true, [][]string{{"sparse-checkout", "set", "--cone", "--sparse-index", "b"}}},
	}
	unsure, crashed, added, seen := 0, 0, 0, map[string]int{}
	for seed := range rounds {
		r := rand.New(rand.NewPCG(uint64(seed), 2))
		init := []string(nil)
		if r.IntN(4) == 0 {
			init = []string{"--object-format=sha256"}
		}
		w := smallWorld(t, init)
		top := w.repo
		if r.IntN(3) == 0 {
			top = filepath.Join(w.top, "linked")
			w.run(w.repo, "worktree", "add", "-q", top)
		}
		trail, mayBeUnsure := []string{strings.Join(init, " ")}, false
		for range 2 + r.IntN(7) {
			name := names[r.IntN(len(names))]
			var step [][]string
			switch r.IntN(7) {
			case 0, 1:
				w.file(filepath.Join(top, name), fmt.Sprint(r.IntN(3)))
				step = [][]string{{"add", "--sparse", "--", name}}
			case 2:
				step = [][]string{{"rm", "--sparse", "-q", "-f", "--cached", "--ignore-unmatch", "--", name}}
			case 3:
				w.file(filepath.Join(top, name), "later")
				step = [][]string{{"add", "--sparse", "-N", "--", name}}
			case 4:
				step = [][]string{{"commit", "-q", "--allow-empty", "-m", "x"}}
			case 5, 6:
				f := forms[r.IntN(len(forms))]
				step, mayBeUnsure = f.args, mayBeUnsure || f.unsure
			}
			for _, args := range step {
				trail = append(trail, strings.Join(args, " "))
				cmd := exec.Command("git", args...) // what git refuses, it has not done
				cmd.Dir, cmd.Env = top, w.env
				out, err := cmd.CombinedOutput()
				if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
					t.Fatal(err, out)
				}
			}
			if r.IntN(3) == 0 {
				cmd := exec.Command("git", "update-index", []string{"--skip-worktree", "--assume-unchanged"}[r.IntN(2)], name)
				cmd.Dir, cmd.Env = top, w.env
				cmd.Run() // Best effort: it may not be tracked.
			}
		}
		var modules []string
		for _, name := range []string{"module", "a/b/module"} {
			cmd := exec.Command("git", "update-index", "--add", "--cacheinfo", fmt.Sprintf("160000,%s,%s", w.run(w.repo, "rev-parse", "HEAD"), name))
			cmd.Dir, cmd.Env = top, w.env
			if r.IntN(2) == 0 && cmd.Run() == nil { // it may have crashed before
				modules = append(modules, name)
				added++
			}
		}
		if got, err := git.Submodules(top); err != nil || slices.ContainsFunc(modules, func(name string) bool { return !slices.Contains(got, name) }) || len(got) > len(modules) {
			t.Errorf("seed %d: submodules %q, %v; want %q\nafter %s", seed, got, err, modules, strings.Join(trail, "\n      "))
		}
		raw, err := os.ReadFile(w.run(top, "rev-parse", "--path-format=absolute", "--git-path", "index"))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"link", "sdir", "UNTR", "FSMN", "DIRC\x00\x00\x00\x02", "DIRC\x00\x00\x00\x03", "DIRC\x00\x00\x00\x04"} {
			if bytes.Contains(raw, []byte(part)) {
				seen[part]++
			}
		}
		cmd := exec.Command("git", "ls-files", "-z")
		cmd.Dir, cmd.Env = top, w.env
		out, err := cmd.Output()
		if err != nil { // some git crash over an index that is both split and sparse
			crashed++
			continue
		}
		listed := map[string]bool{}
		for name := range strings.SplitSeq(string(out), "\x00") {
			listed[name] = true
		}
		for _, name := range append(names, "file", "part/one", "part", "fil", "none") {
			tracked, err := git.Tracked(filepath.Join(top, name))
			switch {
			case err != nil && !mayBeUnsure:
				t.Errorf("seed %d, %s: %v\nafter %s", seed, name, err, strings.Join(trail, "\n      "))
			case err != nil:
				unsure++
			case tracked != listed[name]:
				t.Errorf("seed %d, %s: %v, git says %v\nafter %s", seed, name, tracked, listed[name], strings.Join(trail, "\n      "))
			}
		}
	}
	t.Logf("%d of %d were not known; forms: %s", unsure, rounds*(len(names)+5), fmt.Sprintf("%q", fmt.Sprint(seen)))
	if len(seen) < 7 && !testing.Short() {
		t.Errorf("not all forms were made: %v", seen)
	}
	if added < rounds/2 {
		t.Errorf("%d submodules were made", added)
	}
	if crashed > rounds/20 {
		t.Errorf("git could not list the index %d times", crashed)
	}
	if unsure > rounds*(len(names)+5)/3 {
		t.Error("that is too often")
	}
}

// An index that is not understood is no reason to take a file for the user's
// own.
func TestDamagedIndexIsNotKnown(t *testing.T) {
	need.Program(t, "git")
	w := smallWorld(t, nil)
	path := filepath.Join(w.repo, ".git", "index")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, raw := range map[string]string{
		"empty": "", "half": string(whole[:len(whole)/2]), "version 5": string(whole[:7]) + "\x05" + string(whole[8:]), "text": strings.Repeat("x", 200),
		"a part that git must understand": string(whole[:len(whole)-20]) + "what\x00\x00\x00\x00" + string(whole[len(whole)-20:]),
		"its base is missing":             string(whole[:len(whole)-20]) + "link\x00\x00\x00\x14" + strings.Repeat("\x01", 20) + string(whole[len(whole)-20:]),
	} {
		if err := os.WriteFile(path, []byte(raw), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := git.Tracked(filepath.Join(w.repo, "none")); err == nil {
			t.Errorf("%s: it is known", name)
		}
	}
	// Around a repository that has not the file, another one may.
	w = smallWorld(t, nil)
	w.run(w.repo, "init", "-q", "part")
	if tracked, err := git.Tracked(filepath.Join(w.repo, "part", "one")); err != nil || !tracked {
		t.Errorf("a file of the outer repository: %v, %v", tracked, err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Join(w.repo, "file"), link); err != nil {
		t.Fatal(err)
	}
	if tracked, err := git.Tracked(link); err != nil || !tracked {
		t.Errorf("a link to a file of a repository: %v, %v", tracked, err)
	}
}

func FuzzIndex(f *testing.F) {
	f.Add([]byte("DIRC\x00\x00\x00\x02\x00\x00\x00\x00" + strings.Repeat("\x00", 20)))
	f.Add([]byte("DIRC\x00\x00\x00\x04\x00\x00\x00\x01" + strings.Repeat("\x00", 90)))
	top := f.TempDir()
	for _, dir := range []string{"objects", "refs"} {
		if err := os.MkdirAll(filepath.Join(top, ".git", dir), 0o755); err != nil {
			f.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(top, ".git", "HEAD"), []byte("ref: refs/heads/main\n"), 0o600); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if err := os.WriteFile(filepath.Join(top, ".git", "index"), raw, 0o600); err != nil {
			t.Fatal(err)
		}
		git.Tracked(filepath.Join(top, "den.toml"))
	})
}
