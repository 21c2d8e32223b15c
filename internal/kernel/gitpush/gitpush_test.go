package gitpush_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"den/internal/kernel/gitpush"
	"den/internal/need"
	"den/internal/pty"
	"den/internal/runner/local"
	"den/internal/supervise"
)

// world is a data repository with a remote.
type world struct {
	*testing.T
	repo, remote string
	env          []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	need.Program(t, "git")
	w := &world{T: t, repo: filepath.Join(t.TempDir(), "my data: 'x'"), remote: filepath.Join(t.TempDir(), "remote.git")}
	w.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org",
	}
	w.git(filepath.Dir(w.remote), "init", "--quiet", "--bare", "-b", "main", w.remote)
	w.git(filepath.Dir(w.repo), "init", "--quiet", "-b", "main", w.repo)
	return w
}

func (w *world) git(dir string, args ...string) string {
	w.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, w.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (w *world) commit() string {
	w.Helper()
	w.git(w.repo, "commit", "--quiet", "--allow-empty", "-m", "work")
	return w.git(w.repo, "rev-parse", "HEAD")
}

func (w *world) pusher() gitpush.Pusher {
	return gitpush.Pusher{Spawn: local.Spawner{Mark: w.Name(), Env: w.env}, Dir: w.repo, Limit: 5 * time.Minute}
}

func (w *world) push(p gitpush.Pusher, want gitpush.Status, detail string) {
	w.Helper()
	if r := p.Push(w.Context()); r.Status != want || !strings.Contains(r.Detail, detail) {
		w.Errorf("%v, want %s with %q", r, want, detail)
	}
}

// has checks what the remote has.
func (w *world) has(commit string) {
	w.Helper()
	if got := w.git(w.remote, "rev-parse", "main"); got != commit {
		w.Errorf("the remote has %s, want %s", got, commit)
	}
}

func (w *world) script(path, body string) {
	w.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755)); err != nil {
		w.Fatal(err)
	}
}

func TestPush(t *testing.T) {
	w := newWorld(t)
	p := w.pusher()
	w.push(p, gitpush.Skipped, "no remote")
	w.git(w.repo, "remote", "add", "origin", w.remote)
	commit := w.commit()
	w.push(p, gitpush.Failed, "upstream")
	w.git(w.repo, "config", "push.autoSetupRemote", "true")
	w.push(p, gitpush.Pushed, "main")
	w.has(commit)
	w.push(p, gitpush.Nothing, "")
	w.git(w.repo, "remote", "set-url", "origin", "https://me:hush@localhost:1/x.git")
	r := p.Push(t.Context())
	if r.Status != gitpush.Failed || strings.Contains(r.String(), "hush") {
		t.Errorf("%v", r)
	}
	w.push(gitpush.Pusher{Spawn: local.Spawner{Mark: t.Name()}, Dir: t.TempDir()}, gitpush.Skipped, "not a git repository")
}

// A remote that has more is a failure that says so.
func TestRejected(t *testing.T) {
	w := newWorld(t)
	w.git(w.repo, "remote", "add", "origin", w.remote)
	w.commit()
	w.git(w.repo, "push", "--quiet", "-u", "origin", "main")
	w.git(w.repo, "commit", "--quiet", "--allow-empty", "--amend", "-m", "other")
	w.push(w.pusher(), gitpush.Failed, "git push")
}

// At the limit everything that git has started ends.
func TestLimit(t *testing.T) {
	w := newWorld(t)
	ssh := filepath.Join(t.TempDir(), "ssh")
	w.script(ssh, "trap '' TERM; setsid sleep 1000 & sleep 1000")
	w.git(w.repo, "config", "core.sshCommand", ssh)
	w.git(w.repo, "remote", "add", "origin", "me@example:x.git")
	w.git(w.repo, "config", "push.autoSetupRemote", "true")
	w.commit()
	p := w.pusher()
	p.Limit = time.Second
	w.push(p, gitpush.Failed, "longer than 1s")
	if left := pty.Marked(supervise.RunnerMark + "=" + t.Name()); len(left) != 0 {
		t.Errorf("processes %v are left", left)
	}
}

// confined is a world whose agent lives in a container. Its remote is reached
// by a script in the place of ssh, which is the user's.
func confined(t *testing.T) (*world, gitpush.Pusher) {
	t.Helper()
	w := newWorld(t)
	ssh := filepath.Join(t.TempDir(), "ssh")
	w.script(ssh, `for last; do :; done; case "$*" in *"BatchMode=yes"*) exec sh -c "$last";; esac; echo asks >&2; exit 1`)
	p := w.pusher()
	p.Confined, p.Remote = true, "me@example:"+w.remote
	p.Getenv = func(key string) string { return map[string]string{"GIT_SSH_COMMAND": ssh}[key] }
	return w, p
}

func TestConfinedPush(t *testing.T) {
	w, p := confined(t)
	w.push(p, gitpush.Skipped, "no commits")
	w.git(w.repo, "remote", "add", "origin", p.Remote)
	first := w.commit()
	w.push(p, gitpush.Pushed, "main")
	w.has(first)
	second := w.commit()
	w.git(w.repo, "gc", "--quiet")
	w.push(p, gitpush.Pushed, "main")
	w.has(second)
	w.push(p, gitpush.Nothing, "")
	if got := w.git(w.repo, "rev-parse", "origin/main"); got != second {
		t.Errorf("origin/main is %s, want %s", got, second)
	}
	w.git(w.repo, "checkout", "--quiet", "--detach")
	w.push(p, gitpush.Skipped, "no branch")
	for remote, want := range map[string]gitpush.Status{"": gitpush.Skipped, w.remote: gitpush.Refused, "ext::sh -c x": gitpush.Refused, "-x": gitpush.Refused, "file://" + w.remote: gitpush.Refused} {
		p.Remote = remote
		w.push(p, want, "")
	}
}

// Commits of a clone that has not all of them, and of one with other hashes.
func TestConfinedPushOfOtherRepositories(t *testing.T) {
	w, p := confined(t)
	w.git(w.repo, "remote", "add", "origin", p.Remote)
	for range 3 {
		w.commit()
	}
	w.push(p, gitpush.Pushed, "main")
	if err := os.RemoveAll(w.repo); err != nil {
		t.Fatal(err)
	}
	w.git(filepath.Dir(w.repo), "clone", "--quiet", "--depth", "1", "file://"+w.remote, w.repo)
	commit := w.commit()
	w.push(p, gitpush.Pushed, "main")
	w.has(commit)
	if err := errors.Join(os.RemoveAll(w.repo), os.RemoveAll(w.remote)); err != nil {
		t.Fatal(err)
	}
	w.git(filepath.Dir(w.remote), "init", "--quiet", "--bare", "-b", "main", "--object-format=sha256", w.remote)
	w.git(filepath.Dir(w.repo), "init", "--quiet", "-b", "main", "--object-format=sha256", w.repo)
	commit = w.commit()
	w.push(p, gitpush.Pushed, "main")
	w.has(commit)
}

// Whatever the agent writes into .git, no program of its own runs, and nothing
// goes to a remote of its own.
func TestConfinedRunsNothing(t *testing.T) {
	w, p := confined(t)
	ran := filepath.Join(t.TempDir(), "ran")
	evil := filepath.Join(t.TempDir(), "evil")
	w.script(evil, `echo "$0 $*" >>"`+ran+`"; exit 1`)
	for _, name := range []string{"pre-push", "reference-transaction", "post-index-change", "fsmonitor-watchman"} {
		w.script(filepath.Join(w.repo, ".git/hooks", name), `echo "$0" >>"`+ran+`"`)
	}
	commit := w.commit()
	if err := os.Remove(ran); err != nil { // the agent's own git runs hooks where the agent lives
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other.git")
	w.git(w.repo, "init", "--quiet", "--bare", other)
	if err := os.Remove(ran); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	config := `
[core]
	sshCommand = ` + evil + `
	askPass = ` + evil + `
	fsmonitor = ` + evil + `
	hooksPath = ` + filepath.Join(w.repo, ".git/hooks") + `
	gitProxy = ` + evil + `
	pager = ` + evil + `
	alternateRefsCommand = ` + evil + `
[credential]
	helper = !` + evil + `
[push]
	gpgSign = true
	recurseSubmodules = on-demand
[gpg]
	program = ` + evil + `
[protocol "ext"]
	allow = always
[url "ext::` + evil + ` %S "]
	insteadOf = me@example
	pushInsteadOf = me@example
[remote "origin"]
	url = ` + p.Remote + `
	pushurl = ` + other + `
	receivepack = ` + evil + `
	vcs = evil
	push = +refs/heads/*:refs/heads/*
[pager]
	push = ` + evil + `
	config = ` + evil + `
`
	f, err := os.OpenFile(filepath.Join(w.repo, ".git/config"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(config); err != nil {
		t.Fatal(err)
	}
	f.Close()
	w.push(p, gitpush.Pushed, "main")
	w.has(commit)
	if lines, err := os.ReadFile(ran); err == nil {
		t.Errorf("these ran:\n%s", lines)
	}
	if refs := w.git(other, "for-each-ref"); refs != "" {
		t.Errorf("the other remote has %s", refs)
	}
	// The configuration is one that runs programs, if it is used.
	w.git(w.repo, "config", "--unset", "remote.origin.vcs")
	p.Confined = false
	p.Push(t.Context())
	if _, err := os.Stat(ran); err != nil {
		t.Errorf("the test has no teeth: %v", err)
	}
}

// A repository with parts of another one is not pushed.
func TestConfinedPushesNothingOfOthers(t *testing.T) {
	for what, change := range map[string]func(w *world, git string) error{
		".git is a link": func(w *world, git string) error {
			return errors.Join(os.Rename(git, git+"-real"), os.Symlink(git+"-real", git))
		},
		".git is a file": func(w *world, git string) error {
			return errors.Join(os.Rename(git, git+"-real"), os.WriteFile(git, []byte("gitdir: "+git+"-real\n"), 0o644))
		},
		"alternates": func(w *world, git string) error {
			return os.WriteFile(filepath.Join(git, "objects/info/alternates"), []byte(w.remote+"/objects\n"), 0o644)
		},
		"objects are a link": func(w *world, git string) error {
			return errors.Join(os.Rename(git+"/objects", git+"/real"), os.Symlink(git+"/real", git+"/objects"))
		},
		"some objects are a link": func(w *world, git string) error {
			return os.Symlink(w.remote+"/objects", git+"/objects/zz")
		},
	} {
		t.Run(what, func(t *testing.T) {
			w, p := confined(t)
			w.commit()
			if err := change(w, filepath.Join(w.repo, ".git")); err != nil {
				t.Fatal(err)
			}
			w.push(p, gitpush.Refused, "")
		})
	}
}
