package git_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"den/internal/place/worktree"
	"den/internal/process/git"
	"den/internal/testkit/need"
	"den/internal/ticks/gitpush"
)

// commands are settings of git whose value is run as a program, or leads to
// others: another file, another server, another repository. %s is a program.
// 'git help -c' lists all settings; a test below plants those, too.
var commands = []string{
	"alias.status=!%s", "alias.rev-list=!%s", "alias.push=!%s",
	"core.fsmonitor=%s", "core.hooksPath=HOOKS", "core.pager=%s", "core.editor=%s", "core.sshCommand=%s", "core.askPass=%s", "core.gitProxy=%s",
	"core.alternateRefsCommand=%s", "core.attributesFile=HOOKS/attributes", "core.excludesFile=HOOKS/everything", "core.worktree=/",
	"credential.helper=!%s", "credential.https://example.org.helper=!%s",
	"diff.external=%s", "diff.evil.command=%s", "diff.evil.textconv=%s", "difftool.evil.cmd=%s", "diff.tool=evil",
	"filter.evil.clean=%s", "filter.evil.smudge=%s", "filter.evil.process=%s", "filter.evil.required=true",
	"filter.lfs.clean=%s", "filter.lfs.smudge=%s", "filter.lfs.process=%s",
	"merge.evil.driver=%s", "merge.default=evil", "mergetool.evil.cmd=%s", "merge.tool=evil",
	"gpg.program=%s", "gpg.ssh.program=%s", "gpg.x509.program=%s", "gpg.ssh.defaultKeyCommand=%s", "log.showSignature=true", "commit.gpgSign=true", "tag.gpgSign=true", "push.gpgSign=true",
	"remote.origin.uploadpack=%s", "remote.origin.receivepack=%s", "remote.origin.vcs=evil", "remote.origin.proxy=http://127.0.0.1:1", "remote.evil.url=ext::%s", "remote.evil.promisor=true", "remote.evil.uploadpack=%s",
	"extensions.partialClone=evil", "protocol.allow=always", "protocol.ext.allow=always", "url.ext::%s .insteadOf=me@", "url.ext::%s .insteadOf=/",
	"uploadpack.packObjectsHook=%s", "receive.procReceiveRefs=refs", "include.path=HOOKS/included", "includeIf.gitdir:/.path=HOOKS/included",
	"trailer.x.command=%s", "trailer.x.cmd=%s", "sequence.editor=%s", "submodule.sub.update=!%s", "submodule.recurse=true", "status.submoduleSummary=true", "interactive.diffFilter=%s",
	"tar.x.command=%s", "browser.x.cmd=%s", "man.x.cmd=%s", "web.browser=x", "pager.status=%s", "pager.log=%s", "pager.rev-list=%s", "pager.clone=%s", "pager.init=%s", "sendemail.tocmd=%s", "imap.tunnel=%s", "gc.auto=1", "maintenance.auto=true",
	"trace2.eventTarget=HOOKS/trace", "core.splitIndex=true", "core.untrackedCache=true", "blame.ignoreRevsFile=HOOKS/x", "commit.template=HOOKS/x", "init.templateDir=HOOKS", "status.showUntrackedFiles=no",
}

// hooks are the names of all hooks that git knows.
var hooks = strings.Fields(`applypatch-msg commit-msg fsmonitor-watchman p4-changelist p4-post-changelist p4-pre-submit p4-prepare-changelist post-applypatch post-checkout
	post-commit post-index-change post-merge post-receive post-rewrite post-update pre-applypatch pre-auto-gc pre-commit pre-merge-commit pre-push pre-rebase
	pre-receive prepare-commit-msg proc-receive push-to-checkout query-watchman reference-transaction sendemail-validate update`)

// evil is a program that leaves a note when it runs, and how to plant it.
type evil struct {
	*testing.T
	dir, note, program string
}

func newEvil(t *testing.T) evil {
	t.Helper()
	e := evil{T: t, dir: t.TempDir()}
	e.note, e.program = filepath.Join(e.dir, "ran"), filepath.Join(e.dir, "evil")
	e.file(e.program, "#!/bin/sh\necho \"$0 $*\" >>"+e.note+"\nexec cat\n")
	for _, name := range append([]string{"git-remote-evil"}, hooks...) {
		e.file(filepath.Join(e.dir, "hooks", name), "#!/bin/sh\necho \"$0 $*\" >>"+e.note+"\n")
	}
	e.file(filepath.Join(e.dir, "hooks", "attributes"), "* filter=evil diff=evil merge=evil\n")
	e.file(filepath.Join(e.dir, "hooks", "everything"), "*\n")
	e.file(filepath.Join(e.dir, "hooks", "included"), e.config(slices.DeleteFunc(slices.Clone(commands), func(s string) bool { return strings.HasPrefix(s, "include") })))
	return e
}

func (e evil) file(path, text string) {
	e.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil {
		e.Fatal(err)
	}
}

func (e evil) add(path, text string) {
	e.Helper()
	had, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		e.Fatal(err)
	}
	e.file(path, string(had)+text)
}

// config is a configuration with settings of the form KEY=VALUE.
func (e evil) config(settings []string) string {
	var b strings.Builder
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		key, value = strings.ReplaceAll(key, "%s", e.program), strings.ReplaceAll(strings.ReplaceAll(value, "%s", e.program), "HOOKS", filepath.Join(e.dir, "hooks"))
		first, last := strings.IndexByte(key, '.'), strings.LastIndexByte(key, '.')
		if first == last {
			fmt.Fprintf(&b, "[%s]\n", key[:first])
		} else {
			fmt.Fprintf(&b, "[%s %q]\n", key[:first], key[first+1:last])
		}
		fmt.Fprintf(&b, "\t%s = %q\n", key[last+1:], value)
	}
	return b.String()
}

// ran returns what ran.
func (e evil) ran() string {
	raw, err := os.ReadFile(e.note)
	if err != nil && !os.IsNotExist(err) {
		e.Fatal(err)
	}
	return string(raw)
}

// all are the settings that this git knows, each with a program for its value.
func all(t *testing.T) []string {
	out, err := exec.Command("git", "help", "-c").Output()
	if err != nil {
		t.Fatal(err)
	}
	placeholder := regexp.MustCompile(`<[^>]*>|\*`)
	var settings []string
	for key := range strings.FieldsSeq(string(out)) {
		key = placeholder.ReplaceAllString(key, "evil")
		if !regexp.MustCompile(`^[A-Za-z]+\.([^ ]+\.)?[A-Za-z][A-Za-z0-9-]*$`).MatchString(key) || strings.HasPrefix(key, "extensions.") || strings.EqualFold(key, "core.repositoryFormatVersion") || strings.HasPrefix(key, "remote.evil") {
			continue // where den refuses other values, with words; and what is no key
		}
		settings = append(settings, key+"=%s", key+"=!%s")
	}
	if len(settings) < 1000 {
		t.Fatalf("git knows %d settings only", len(settings)/2)
	}
	return settings
}

// world is a repository of a person with the worktrees of three agents, and what
// den does with them.
type world struct {
	evil
	top, repo, trees, remote, server string
	env                              []string
	git                              worktree.Git
}

func newWorld(t *testing.T) *world {
	t.Helper()
	need.Program(t, "git")
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{evil: newEvil(t), top: top, repo: filepath.Join(top, "project"), trees: filepath.Join(top, "trees"), remote: filepath.Join(top, "remote.git"), server: filepath.Join(top, "server.git")}
	w.env = []string{
		"PATH=" + filepath.Join(w.dir, "hooks") + ":" + os.Getenv("PATH"), "HOME=" + top, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org",
	}
	w.git = worktree.Git{Environ: w.env}
	w.run(top, "init", "-q", "-b", "main", "project")
	w.run(top, "init", "-q", "--bare", "-b", "main", "remote.git")
	w.run(top, "init", "-q", "--bare", "-b", "main", "server.git") // of which nothing is planted
	w.file(filepath.Join(w.repo, "file"), "one\n")
	w.file(filepath.Join(w.repo, "sub", "inner"), "one\n")
	w.run(w.repo, "add", "-A")
	w.run(w.repo, "commit", "-qm", "begin")
	w.run(w.repo, "remote", "add", "origin", w.remote)
	for _, agent := range []string{"a", "b", "gone"} {
		w.must(w.make(t.Context(), agent))
	}
	return w
}

func (w *world) run(dir string, args ...string) string {
	w.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, w.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Error(err)
	}
}

func (w *world) make(ctx context.Context, agent string) error {
	_, err := w.git.Make(ctx, worktree.Plan(worktree.Spec{Root: w.trees, Workspace: "ws", Agent: agent, Dir: w.repo, Session: "s-" + agent, Provider: "native"}))
	return err
}

func (w *world) tree(agent string) string { return filepath.Join(w.trees, agent, "project") }

func idle(context.Context, worktree.Record) (string, error) { return "", nil }

// operations is all that den does with git. Each is called with a repository in
// which anything may be planted. fine says that none may fail.
func (w *world) operations(fine bool) map[string]func() error {
	ctx := w.Context()
	pushed := func(r gitpush.Result) error {
		if r.Status != gitpush.Pushed && r.Status != gitpush.Nothing {
			return errors.New(r.String())
		}
		return nil
	}
	ssh := append(slices.Clone(w.env), "GIT_SSH_COMMAND="+filepath.Join(w.top, "ssh"))
	w.file(filepath.Join(w.top, "ssh"), "#!/bin/sh\nfor last; do :; done; cd /; exec env -i PATH=\"$PATH\" sh -c \"$last\"\n")
	return map[string]func() error{
		"1 look": func() error {
			records, err := worktree.Records(w.trees)
			for _, r := range records {
				err = errors.Join(err, w.git.Look(ctx, r).Problem)
			}
			return err
		},
		"2 list": func() error {
			verdicts, err := w.git.List(ctx, w.trees, idle)
			for _, v := range verdicts {
				err = errors.Join(err, v.Problem)
			}
			return err
		},
		"3 make": func() error { return w.make(ctx, "new") },
		"4 make again": func() error {
			return errors.Join(w.make(ctx, "a"), os.RemoveAll(w.tree("gone")), w.make(ctx, "gone"))
		},
		"5 prune": func() error {
			verdicts, err := w.git.Prune(ctx, w.trees, worktree.Choice{Agents: []string{"b", "new"}}, idle)
			for _, v := range verdicts {
				if !v.Removed && fine {
					err = errors.Join(err, errors.New(v.Agent+" was kept: "+v.Keep))
				}
			}
			return err
		},
		"6 push": func() error {
			return pushed(gitpush.Pusher{Git: git.Git{Environ: w.env}, Dir: w.repo, Limit: time.Minute}.Push(ctx))
		},
		"7 push from a container": func() error {
			return pushed(gitpush.Pusher{Git: git.Git{Environ: ssh}, Dir: w.repo, Limit: time.Minute, Confined: true, Remote: "me@example:" + w.server, Store: filepath.Join(w.top, "store")}.Push(ctx))
		},
		"8 origin": func() error { _, err := git.Origin(w.repo); return err },
		"9 init": func() error {
			// Below a repository, and in one that is there.
			return errors.Join(os.MkdirAll(filepath.Join(w.repo, "below"), 0o755), git.Git{Environ: w.env}.Init(ctx, filepath.Join(w.repo, "below")), git.Git{Environ: w.env}.Init(ctx, w.repo), os.RemoveAll(filepath.Join(w.repo, "below")))
		},
		"11 trust": func() error { _, err := git.Tracked(filepath.Join(w.repo, "file")); return err },
		"10 clone": func() error {
			w.Chdir(w.repo)
			defer w.Chdir("/")
			return git.Git{Environ: w.env}.Clone(ctx, w.server, "", filepath.Join(w.top, "cloned"), os.Stderr)
		},
	}
}

// everything runs all operations, and says what ran meanwhile.
func (w *world) everything(fine bool) {
	w.Helper()
	w.touch()
	if err := os.Remove(w.note); err != nil && !os.IsNotExist(err) {
		w.Fatal(err)
	}
	operations := w.operations(fine)
	for i := 1; i <= len(operations); i++ {
		for name, do := range operations {
			if !strings.HasPrefix(name, fmt.Sprint(i, " ")) {
				continue
			}
			if err := do(); err != nil && fine {
				w.Errorf("%s: %v", name, err)
			}
			if ran := w.ran(); ran != "" {
				w.Errorf("%s ran:\n%s", name, ran)
				os.Remove(w.note) // Best effort: the next one says it again.
			}
		}
	}
}

// touch has git look into the files of all trees.
func (w *world) touch() {
	w.Helper()
	for _, dir := range []string{w.repo, w.tree("a"), w.tree("b"), w.tree("gone")} {
		now := time.Now().Add(time.Second)
		if err := os.Chtimes(filepath.Join(dir, "file"), now, now); err != nil && !os.IsNotExist(err) {
			w.Fatal(err)
		}
	}
}

func (w *world) gitDirs() []string {
	dirs, err := filepath.Glob(filepath.Join(w.repo, ".git", "worktrees", "*"))
	if err != nil || len(dirs) != 3 {
		w.Fatal(dirs, err)
	}
	return append(dirs, filepath.Join(w.repo, ".git"))
}

// plant writes settings and hooks wherever git looks for them.
func (w *world) plant(settings []string) {
	w.Helper()
	config := w.config(settings)
	for _, dir := range w.gitDirs() {
		w.add(filepath.Join(dir, "config"), config)
		w.add(filepath.Join(dir, "config.worktree"), config)
		w.file(filepath.Join(dir, "info", "attributes"), "* filter=evil diff=evil merge=evil\n")
		for _, hook := range hooks {
			w.file(filepath.Join(dir, "hooks", hook), "#!/bin/sh\necho \"$0\" >>"+w.note+"\n")
			w.file(filepath.Join(w.remote, "hooks", hook), "#!/bin/sh\necho \"$0\" >>"+w.note+"\n")
		}
	}
	w.add(filepath.Join(w.remote, "config"), config)
}

// Whatever an agent writes into its repository, den runs nothing of it.
func TestNothingOfARepositoryRuns(t *testing.T) {
	t.Run("settings that run programs", func(t *testing.T) {
		w := newWorld(t)
		w.plant(slices.DeleteFunc(slices.Clone(commands), func(s string) bool {
			return strings.HasPrefix(s, "remote.origin") || strings.HasPrefix(s, "core.worktree")
		}))
		w.add(filepath.Join(w.repo, ".git", "config"), "[extensions]\n\tworktreeConfig = true\n[core]\n\trepositoryFormatVersion = 1\n")
		w.everything(true)
		// They are settings that run programs, where git is run as usual.
		w.touch()
		for _, args := range [][]string{{"status"}, {"log", "-p"}, {"checkout", "-f", "HEAD", "--", "."}} {
			os.Remove(w.note) // Best effort: it may not be there.
			cmd := exec.Command("git", args...)
			cmd.Dir, cmd.Env = w.tree("a"), w.env
			if cmd.Run(); w.ran() == "" {
				t.Errorf("git %v ran nothing: the test has no teeth", args)
			}
		}
	})
	t.Run("all settings", func(t *testing.T) {
		w := newWorld(t)
		w.plant(all(t))
		w.add(filepath.Join(w.remote, "config"), "[core]\n\tbare = true\n")
		w.everything(true)
	})
	t.Run("attributes in the tree", func(t *testing.T) {
		w := newWorld(t)
		w.plant(commands[:0])
		for _, dir := range []string{w.repo, w.tree("a"), w.tree("b")} {
			w.file(filepath.Join(dir, ".gitattributes"), "* filter=evil diff=evil\nfile filter=lfs\n")
			w.file(filepath.Join(dir, ".gitmodules"), "[submodule \"sub\"]\n\tpath = sub\n\turl = ext::"+w.program+"\n\tupdate = !"+w.program+"\n")
			w.run(dir, "add", "-A")
			w.run(dir, "-c", "core.hooksPath=/dev/null", "commit", "-qm", "attributes")
		}
		w.plant(slices.DeleteFunc(slices.Clone(commands), func(s string) bool { return strings.HasPrefix(s, "remote.origin") }))
		w.everything(false)
	})
	t.Run("the user's own filters", func(t *testing.T) {
		w := newWorld(t)
		w.file(filepath.Join(w.top, ".gitconfig"), w.config([]string{"filter.lfs.clean=%s", "filter.lfs.smudge=%s", "filter.lfs.process=%s", "core.fsmonitor=%s", "core.hooksPath=HOOKS"}))
		for _, dir := range w.gitDirs() {
			w.file(filepath.Join(dir, "info", "attributes"), "* filter=lfs\n")
		}
		w.touch()
		operations := w.operations(true)
		for _, name := range []string{"1 look", "2 list", "3 make", "4 make again", "5 prune"} {
			w.must(operations[name]())
			if ran := w.ran(); ran != "" {
				t.Errorf("%s ran:\n%s", name, ran)
			}
		}
	})
	// These mislead den, which may say so; it runs nothing.
	for name, mislead := range map[string]func(w *world){
		"another common directory": func(w *world) {
			other := filepath.Join(w.top, "other")
			w.run(w.top, "init", "-q", "other")
			w.add(filepath.Join(other, ".git", "config"), w.config(commands))
			for _, dir := range w.gitDirs() {
				w.file(filepath.Join(dir, "commondir"), filepath.Join(other, ".git")+"\n")
			}
		},
		"another repository behind .git": func(w *world) {
			other := filepath.Join(w.top, "other")
			w.run(w.top, "init", "-q", "other")
			w.add(filepath.Join(other, ".git", "config"), w.config(commands))
			for _, tree := range []string{"a", "b", "gone"} {
				w.file(filepath.Join(w.tree(tree), ".git"), "gitdir: "+filepath.Join(other, ".git")+"\n")
			}
		},
		"a partial clone whose commits are missing": func(w *world) {
			w.plant(slices.DeleteFunc(slices.Clone(commands), func(s string) bool { return strings.HasPrefix(s, "remote.origin") }))
			w.add(filepath.Join(w.repo, ".git", "config"), "[core]\n\trepositoryFormatVersion = 1\n")
			for _, ref := range []string{"main", "den/ws/a", "den/ws/b"} {
				w.file(filepath.Join(w.repo, ".git", "refs", "heads", ref), strings.Repeat("1", 40)+"\n")
			}
		},
		"other objects": func(w *world) {
			other := filepath.Join(w.top, "other")
			w.run(w.top, "init", "-q", "other")
			w.add(filepath.Join(other, ".git", "config"), w.config(commands))
			w.file(filepath.Join(w.repo, ".git/objects/info/alternates"), filepath.Join(other, ".git/objects")+"\n")
			w.file(filepath.Join(w.remote, "objects/info/alternates"), filepath.Join(other, ".git/objects")+"\n")
			w.plant(slices.DeleteFunc(slices.Clone(commands), func(s string) bool { return strings.HasPrefix(s, "remote.origin") }))
		},
		"repositories inside": func(w *world) {
			for _, dir := range []string{w.repo, w.tree("a"), w.tree("b")} {
				w.run(dir, "init", "-q", "sub")
				w.run(filepath.Join(dir, "sub"), "commit", "-q", "--allow-empty", "-m", "x")
				w.run(dir, "rm", "-rq", "--cached", "sub")
				w.run(dir, "add", "sub")
				w.add(filepath.Join(dir, "sub", ".git", "config"), w.config(commands))
				w.file(filepath.Join(dir, "sub", "inner"), "two\n")
			}
		},
		"extensions that den does not know": func(w *world) {
			w.plant(append(slices.Clone(commands), "extensions.evil=%s", "extensions.refStorage=reftable"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			mislead(w)
			w.everything(false)
		})
	}
}
