package gitpush_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"den/internal/process/git"
	"den/internal/process/pty"
	"den/internal/process/tree"
	"den/internal/testkit/need"
	"den/internal/ticks/gitpush"
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
	return gitpush.Pusher{Git: git.Git{Environ: w.env, Mark: w.Name()}, Dir: w.repo, Store: filepath.Join(w.TempDir(), "store"), Limit: 5 * time.Minute}
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
	w.push(p, gitpush.Pushed, "main")
	w.has(commit)
	w.push(p, gitpush.Nothing, "")
	if got := w.git(w.repo, "rev-parse", "origin/main"); got != commit {
		t.Errorf("origin/main is %s, want %s", got, commit)
	}
	w.git(w.repo, "config", "branch.main.remote", "origin")
	w.git(w.repo, "config", "branch.main.merge", "refs/heads/other")
	w.push(p, gitpush.Refused, "the branch of the same name")
	w.git(w.repo, "config", "--remove-section", "branch.main")
	w.git(w.repo, "remote", "set-url", "--add", "origin", "https://localhost:1/x.git")
	w.push(p, gitpush.Refused, "2 addresses")
	w.git(w.repo, "config", "--unset-all", "remote.origin.url")
	for _, url := range []string{"ext::touch ran", "../x.git", "-x", "http://localhost:1/x.git", "git://localhost:1/x.git"} {
		w.git(w.repo, "config", "remote.origin.url", url)
		w.push(p, gitpush.Refused, "https and ssh")
	}
	w.git(w.repo, "remote", "set-url", "origin", "https://me:hush@localhost:1/x.git")
	r := p.Push(t.Context())
	if r.Status != gitpush.Failed || strings.Contains(r.String(), "hush") {
		t.Errorf("%v", r)
	}
	w.push(gitpush.Pusher{Dir: t.TempDir()}, gitpush.Skipped, "not a git repository")
}

// A remote that has more is a failure that says so.
func TestRejected(t *testing.T) {
	w := newWorld(t)
	w.git(w.repo, "remote", "add", "origin", w.remote)
	w.commit()
	w.git(w.repo, "push", "--quiet", "-u", "origin", "main")
	w.git(w.repo, "commit", "--quiet", "--allow-empty", "--amend", "-m", "other")
	w.push(w.pusher(), gitpush.Failed, "git push")
	w.push(w.pusher(), gitpush.Failed, "; by hand: git -C '"+w.repo+"' push -u origin main")
}

// At the limit everything that git has started ends.
func TestLimit(t *testing.T) {
	w := newWorld(t)
	ssh := filepath.Join(t.TempDir(), "ssh")
	w.script(ssh, "trap '' TERM; setsid sleep 1000 & sleep 1000")
	w.git(w.repo, "remote", "add", "origin", "me@example:x.git")
	w.commit()
	p := w.pusher()
	p.Git.Environ = append(p.Git.Environ, "GIT_SSH_COMMAND="+ssh)
	p.Limit = time.Second
	w.push(p, gitpush.Failed, "longer than 1s")
	if left := pty.Marked(tree.RunnerMark + "=" + t.Name()); len(left) != 0 {
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
	p.Git.Environ = append(p.Git.Environ, "GIT_SSH_COMMAND="+ssh)
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
	// An agent of this machine chooses where its commits go, and no more.
	p.Confined = false
	w.script(filepath.Join(other, "hooks/post-receive"), `echo "$0" >>"`+ran+`"`)
	w.push(p, gitpush.Pushed, "main")
	if lines, err := os.ReadFile(ran); err == nil {
		t.Errorf("of an agent on this machine these ran:\n%s", lines)
	}
	if refs := w.git(other, "rev-parse", "main"); refs != commit {
		t.Errorf("the other remote has %s", refs)
	}
	// The configuration is one that runs programs, if it is used.
	w.git(w.repo, "config", "--unset", "remote.origin.vcs")
	cmd := exec.Command("git", "push")
	cmd.Dir, cmd.Env = w.repo, w.env
	if cmd.Run(); !there(ran) {
		t.Error("the test has no teeth")
	}
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// A repository that calls itself a partial clone has git ask a program for the
// commit that is missing: not on this machine.
func TestPartialCloneFetchesNothing(t *testing.T) {
	for _, inContainer := range []bool{true, false} {
		w, p := confined(t)
		p.Confined = inContainer
		w.commit()
		ran := filepath.Join(t.TempDir(), "ran")
		config := "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tpartialClone = evil\n" +
			"[remote \"evil\"]\n\turl = .\n\tpromisor = true\n\tuploadpack = \"id > '" + ran + "'; true\"\n[remote \"origin\"]\n\turl = " + p.Remote + "\n"
		git := filepath.Join(w.repo, ".git")
		if err := errors.Join(os.WriteFile(git+"/config", []byte(config), 0o644), os.WriteFile(git+"/refs/heads/main", []byte(strings.Repeat("1", 40)+"\n"), 0o644)); err != nil {
			t.Fatal(err)
		}
		r := p.Push(t.Context())
		if r.Status == gitpush.Pushed || there(ran) {
			t.Errorf("confined %v: %v, and the program ran: %v", inContainer, r, there(ran))
		}
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
		"one object is a link": func(w *world, git string) error {
			hash := w.git(w.repo, "rev-parse", "HEAD")
			file := git + "/objects/" + hash[:2] + "/" + hash[2:]
			return errors.Join(os.Rename(file, w.remote+"/theirs"), os.Symlink(w.remote+"/theirs", file))
		},
		"a directory of objects is a link": func(w *world, git string) error {
			hash := w.git(w.repo, "rev-parse", "HEAD")
			dir := git + "/objects/" + hash[:2]
			return errors.Join(os.Rename(dir, w.remote+"/theirs"), os.Symlink(w.remote+"/theirs", dir))
		},
		"a pack is a link": func(w *world, git string) error {
			w.git(w.repo, "gc", "--quiet")
			packs, err := filepath.Glob(git + "/objects/pack/*.pack")
			for _, pack := range packs {
				err = errors.Join(err, os.Rename(pack, w.remote+"/theirs"), os.Symlink(w.remote+"/theirs", pack))
			}
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			w, p := confined(t)
			w.commit()
			if err := change(w, filepath.Join(w.repo, ".git")); err != nil {
				t.Fatal(err)
			}
			w.push(p, gitpush.Refused, "")
			if refs := w.git(w.remote, "for-each-ref"); refs != "" {
				t.Errorf("the remote has %s", refs)
			}
		})
	}
}

// A store that a push left behind follows what the repository has.
func TestStoreFollows(t *testing.T) {
	w, p := confined(t)
	first := w.commit()
	w.push(p, gitpush.Pushed, "main")
	w.git(w.repo, "commit", "--quiet", "--allow-empty", "--amend", "-m", "other")
	w.git(w.repo, "reflog", "expire", "--expire=now", "--all")
	w.git(w.repo, "gc", "--quiet", "--prune=now")
	w.push(p, gitpush.Failed, "rejected")
	w.has(first)
	files := func(top string) []string {
		var all []string
		err := fs.WalkDir(os.DirFS(top), ".", func(name string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() && (strings.HasSuffix(name, ".pack") || strings.HasSuffix(name, ".idx") || len(name) == 41) {
				all = append(all, name)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	if here, there := files(filepath.Join(p.Store, "objects")), files(filepath.Join(w.repo, ".git/objects")); len(here) == 0 || !slices.Equal(here, there) {
		t.Errorf("the store has %v, the repository %v", here, there)
	}
}
