package git_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"den/internal/base/fault"
	"den/internal/process/git"
	"den/internal/process/tree"
	"den/internal/testkit/need"
)

// A view shows git what the repository shows it, in whatever form that is.
func TestViewShowsWhatGitSees(t *testing.T) {
	need.Program(t, "git")
	type prepare func(w *world, dir string)
	for name, form := range map[string]struct {
		init    []string
		prepare prepare
	}{
		"plain":    {},
		"sha256":   {init: []string{"--object-format=sha256"}},
		"packed":   {prepare: func(w *world, dir string) { w.run(dir, "gc", "-q") }},
		"detached": {prepare: func(w *world, dir string) { w.run(dir, "checkout", "-q", "--detach") }},
		"unborn":   {prepare: func(w *world, dir string) { w.run(dir, "checkout", "-q", "--orphan", "new") }},
		"crlf": {prepare: func(w *world, dir string) {
			w.run(dir, "config", "core.autocrlf", "true")
			w.file(filepath.Join(dir, "file"), "one\r\n")
		}},
		"modes": {prepare: func(w *world, dir string) {
			w.run(dir, "config", "core.fileMode", "false")
			w.must(os.Chmod(filepath.Join(dir, "file"), 0o600))
		}},
		"split index": {prepare: func(w *world, dir string) {
			w.run(dir, "update-index", "--split-index")
			w.file(filepath.Join(dir, "new"), "1")
			w.run(dir, "add", "new")
		}},
		"index of version 4": {prepare: func(w *world, dir string) { w.run(dir, "update-index", "--index-version", "4") }},
		"untracked cache":    {prepare: func(w *world, dir string) { w.run(dir, "update-index", "--force-untracked-cache") }},
		"sparse":             {prepare: func(w *world, dir string) { w.run(dir, "sparse-checkout", "set", "--cone", "--sparse-index", "part") }},
		"ignored by the user": {prepare: func(w *world, dir string) {
			w.file(filepath.Join(w.top, "ignore"), "*.tmp\n")
			w.file(filepath.Join(w.top, "more"), "[core]\n\texcludesFile = ~/ignore\n")
			w.file(filepath.Join(w.top, ".gitconfig"), "[include]\n\tpath = more\n")
			w.file(filepath.Join(dir, "x.tmp"), "1")
		}},
		"excluded": {prepare: func(w *world, dir string) {
			w.file(filepath.Join(w.run(dir, "rev-parse", "--path-format=absolute", "--git-path", "info/exclude")), "*.tmp\n")
			w.file(filepath.Join(dir, "x.tmp"), "1")
		}},
		"changed in the same moment": {prepare: func(w *world, dir string) {
			// As long as the index is as old as the file, git compares contents.
			w.file(filepath.Join(dir, "file"), "two\n")
			w.run(dir, "add", "file")
			index := w.run(dir, "rev-parse", "--path-format=absolute", "--git-path", "index")
			info, err := os.Stat(index)
			w.must(err)
			w.file(filepath.Join(dir, "file"), "owt\n")
			w.must(os.Chtimes(filepath.Join(dir, "file"), info.ModTime(), info.ModTime()))
		}},
		"staged, removed, renamed": {prepare: func(w *world, dir string) {
			w.run(dir, "rm", "-q", "part/one")
			w.run(dir, "mv", "file", "moved")
			w.file(filepath.Join(dir, "intended"), "1")
			w.run(dir, "add", "-N", "intended")
		}},
		"conflict": {prepare: func(w *world, dir string) {
			w.run(dir, "checkout", "-q", "-b", "left")
			w.file(filepath.Join(dir, "file"), "left\n")
			w.run(dir, "commit", "-qam", "left")
			w.run(dir, "checkout", "-q", "-b", "right", "HEAD~1")
			w.file(filepath.Join(dir, "file"), "right\n")
			w.run(dir, "commit", "-qam", "right")
			cmd := exec.Command("git", "merge", "left")
			cmd.Dir, cmd.Env = dir, w.env
			if cmd.Run() == nil {
				w.Error("no conflict")
			}
		}},
		"shared objects": {prepare: func(w *world, dir string) { w.run(w.top, "clone", "-q", "--shared", dir, "moved") }},
		"shallow": {prepare: func(w *world, dir string) {
			w.run(dir, "commit", "-q", "--allow-empty", "-m", "two")
			w.run(w.top, "clone", "-q", "--depth", "1", "file://"+w.repo, "moved")
		}},
	} {
		for _, linked := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := smallWorld(t, form.init)
				dir := w.repo
				if linked {
					dir = filepath.Join(w.top, "linked")
					w.run(w.repo, "worktree", "add", "-q", dir)
				}
				if form.prepare != nil {
					form.prepare(w, dir)
				}
				if moved := filepath.Join(w.top, "moved"); git.IsTop(moved) { // it made another one
					dir = moved
				}
				w.file(filepath.Join(dir, "untracked"), "1")
				r, err := git.At(dir)
				if err != nil {
					t.Fatal(err)
				}
				v, err := git.Git{Environ: w.env}.Open(r)
				if err != nil {
					t.Fatal(err)
				}
				defer v.Close()
				for _, args := range [][]string{
					{"status", "--porcelain=v2"}, {"for-each-ref"}, {"ls-files", "-v", "-s"}, {"rev-list", "--all"}, {"reflog", "--format=%H %gs"}, {"symbolic-ref", "-q", "HEAD"},
				} {
					cmd := exec.Command("git", append([]string{"--no-optional-locks"}, args...)...)
					cmd.Dir, cmd.Env = dir, w.env
					want, wantErr := cmd.Output()
					got, err := v.Run(t.Context(), args...)
					if got != strings.TrimRight(string(want), "\n") || (err == nil) != (wantErr == nil) {
						t.Errorf("linked %v: git %v:\n%s (%v)\nwant\n%s (%v)", linked, args, got, err, want, wantErr)
					}
				}
			})
		}
	}
}

// smallWorld has a repository only.
func smallWorld(t *testing.T, init []string) *world {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{evil: evil{T: t}, top: top, repo: filepath.Join(top, "project")}
	w.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + top, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org",
	}
	w.run(top, append(append([]string{"init", "-q", "-b", "main"}, init...), "project")...)
	for _, name := range []string{"file", "part/one", "part/two", "other/three"} {
		w.file(filepath.Join(w.repo, name), "one\n")
	}
	w.run(w.repo, "add", "-A")
	w.run(w.repo, "commit", "-qm", "begin")
	return w
}

// What git cannot know without running something is an error with words.
func TestRefusedRepositories(t *testing.T) {
	need.Program(t, "git")
	for config, want := range map[string]string{
		"[extensions]\n\trefStorage = reftable\n": "extensions.refstorage",
		"[extensions]\n\tobjectFormat = md5\n":    "extensions.objectformat",
		"[core]\n\trepositoryFormatVersion = 2\n": "version",
		"[core\n":                   "line",
		"[core]\n\tfilemode = \"\n": "line",
		"[extensions]\n\tcompatObjectFormat = sha256\n":  "extensions.compatobjectformat",
		"[extensions]\n\tsomethingNew = " + "yes" + "\n": "extensions.somethingnew",
	} {
		w := smallWorld(t, nil)
		w.add(filepath.Join(w.repo, ".git", "config"), config)
		r, err := git.At(w.repo)
		if err == nil {
			_, err = git.Git{Environ: w.env}.Open(r)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", config, err, want)
		}
	}
	if _, err := git.Find(t.TempDir()); fault.KindOf(err) != fault.NotFound {
		t.Errorf("no repository: %v", err)
	}
}

// The environment has what is needed and no more, and a mark: nothing that a
// git of den's may ever start decides what agents may do.
func TestEnvironmentOfGit(t *testing.T) {
	w := smallWorld(t, nil)
	bin := t.TempDir()
	w.file(filepath.Join(bin, "git"), "#!/bin/sh\nenv | cut -d= -f1\n")
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	r, err := git.At(w.repo)
	if err != nil {
		t.Fatal(err)
	}
	v, err := git.Git{Environ: append(w.env, "SECRET=1", "GIT_DIR=/", "GIT_EXTERNAL_DIFF=/x", "GIT_SSH_COMMAND=/x", "GIT_CONFIG_COUNT=1", "LD_PRELOAD=")}.Open(r)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	out, err := v.Run(t.Context(), "status")
	if err != nil {
		t.Fatal(err)
	}
	known := strings.Fields(`PATH HOME PWD OLDPWD SHLVL _ LC_ALL GIT_OPTIONAL_LOCKS GIT_NO_LAZY_FETCH GIT_GRAFT_FILE GIT_TERMINAL_PROMPT GCM_INTERACTIVE GIT_ASKPASS SSH_ASKPASS SSH_ASKPASS_REQUIRE
		GIT_CONFIG_NOSYSTEM GIT_CONFIG_GLOBAL GIT_ALLOW_PROTOCOL GIT_DIR GIT_WORK_TREE DEN_RUNNER_MARK DEN_RUNNER_PROCESS`)
	names := strings.Fields(out)
	for _, name := range names {
		if !slices.Contains(known, name) {
			t.Errorf("git gets %s", name)
		}
	}
	if !slices.Contains(names, tree.RunnerMark) {
		t.Errorf("git gets no mark: %v", names)
	}
}
