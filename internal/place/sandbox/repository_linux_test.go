package sandbox_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"den/internal/base/fault"
	"den/internal/testkit/need"
)

// plant is what a hostile agent does to a repository, so that another's git runs
// its canary: every file that decides what git runs, or where git looks for it,
// in every directory of .git in which git could look; and every way to put
// something else in the place of these.
const plant = `
repo=$1 canary=$2
evil() { # a git directory whose configuration runs the canary
	mkdir -p "$1/hooks" "$1/objects" "$1/refs" "$1/info"
	printf '[core]\n\tbare = false\n\trepositoryformatversion = 1\n\tfsmonitor = %s\n\thooksPath = %s\n\tpager = %s\n[diff]\n\texternal = %s\n[filter "x"]\n\tclean = %s\n\tsmudge = %s\n[extensions]\n\tworktreeConfig = true\n' \
		"$canary" "$1/hooks" "$canary" "$canary" "$canary" "$canary" >"$1/config"
	cp "$1/config" "$1/config.worktree"
	for hook in pre-commit post-commit post-index-change post-checkout reference-transaction prepare-commit-msg; do
		cp "$canary" "$1/hooks/$hook"
	done
	echo '* filter=x diff=x' >"$1/info/attributes"
	echo ref: refs/heads/main >"$1/HEAD"
}
evil "$PWD/evil"
cp -r "$repo/.git/refs" "$repo/.git/objects" evil/
for dir in "$repo/.git" "$repo/.git/worktrees/tree" "$repo/.git/worktrees/tree1" "$repo/.git/worktrees/new" "$repo/.git/modules/sub" "$repo/.git/modules/new"; do
	for name in config config.worktree info/attributes objects/info/alternates; do
		mkdir -p "$dir/$(dirname $name)"
		rm -f "$dir/$name" && cp "evil/$name" "$dir/$name"
	done
	mkdir -p "$dir/hooks" && cp evil/hooks/* "$dir/hooks"
	[ "$dir" = "$repo/.git/worktrees/tree" ] && continue # its own
	echo "$PWD/evil" >"$dir/commondir"
	rm -f "$dir/commondir"; ln -s "$PWD/leads" "$dir/commondir"
done
echo "$PWD/evil" >leads
for sub in sub empty; do
	mkdir -p "$repo/$sub" && rm -rf "$repo/$sub/.git" && cp -r evil "$repo/$sub/.git"
	mv "$repo/$sub" "$repo/$sub.moved" && mkdir "$repo/$sub" && cp -r evil "$repo/$sub/.git"
done
mv "$repo/.git/worktrees/tree1" "$repo/.git/worktrees/moved" && cp -r evil "$repo/.git/worktrees/tree1" && cp "$repo/.git/worktrees/moved/"* "$repo/.git/worktrees/tree1"
mv "$repo/.git" "$repo/moved.git" && cp -r evil "$repo/.git" && cp -r "$repo/moved.git/index" "$repo/.git"
true
`

// use is what the person does afterwards, in the repository and in a worktree
// that is not the agent's. Its errors do not matter: what ran does.
const use = `for dir in %s %s; do
	cd $dir && echo changed >>a
	git status; git -p log -p; git -p diff; git add a; git commit -m more; git switch -c b$(basename $dir)
	git worktree list; git submodule status; git stash
done`

// The law: whatever an agent makes in a repository in which it works, in
// whatever part of it, a person's git in that repository and in other worktrees
// runs nothing of it.
func TestGitOutsideRunsNothingOfTheAgent(t *testing.T) {
	for place, set := range map[string]func(w *world){
		"the repository itself":  func(w *world) { w.policy.WorkDir = w.at("repo") },
		"a directory of it":      func(w *world) { w.policy.WorkDir = w.at("repo/part") },
		"a worktree":             func(*world) {},
		"one that it may write":  func(w *world) { w.policy.Write = append(w.policy.Write, w.at("repo")) },
		"of which it has a part": func(w *world) { w.policy.Write = append(w.policy.Write, w.at("repo/sub")) },
		"by a link": func(w *world) {
			w.sh("ln -s repo " + w.at("link"))
			w.policy.WorkDir = w.at("link")
		},
	} {
		for how, namespaces := range map[string]bool{"namespaces": true, "landlock": false} {
			t.Run(place+"/"+how, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, users["nobody"], namespaces)
				ran := w.withSubmodules()
				set(w)
				if err := w.policy.Prepare(); err != nil {
					if namespaces || fault.KindOf(err) != fault.Unsupported || !strings.Contains(err.Error(), "cannot be protected") {
						t.Error(err)
					}
					return // refused
				}
				if out, err := w.run("git status --short --ignore-submodules=all . && git log -1 --format=%s && git diff --ignore-submodules=all ."); err != nil {
					t.Errorf("git does not work: %v: %s", err, out)
				}
				out, err := w.confine("sh", "-c", plant, "sh", w.at("repo"), w.at("repo/part/canary")).CombinedOutput()
				if err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				w.person()
				if text, err := os.ReadFile(ran); err == nil {
					t.Errorf("it ran: %s", text)
				}
			})
		}
	}
}

// The same without a sandbox runs: the law above could fail.
func TestGitOutsideRunsWhatIsPlanted(t *testing.T) {
	w := newWorld(t, users["nobody"], true)
	ran := w.withSubmodules()
	cmd := w.as(exec.Command("sh", "-c", plant, "sh", w.at("repo"), w.at("repo/part/canary")))
	cmd.Dir = w.policy.WorkDir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	w.person()
	if _, err := os.Stat(ran); err != nil {
		t.Error(err)
	}
}

// withSubmodules adds a submodule that is there, one that is not, and the
// canary. It returns the file that the canary writes.
func (w *world) withSubmodules() string {
	w.t.Helper()
	ran := w.at("ran")
	w.write("repo/part/canary", fmt.Sprintf("#!/bin/sh\necho $0 $@ >>%s\ncat 2>/dev/null\n", ran), 0o755)
	if os.Getuid() == 0 {
		w.sh("chown -R 0:0 " + w.dir) // give gives it back
	}
	w.sh(fmt.Sprintf(`export HOME=%s; cd %s && git init -q sub && git -C sub commit -q --allow-empty -m s && git add sub part && git update-index --add --cacheinfo 160000,$(git -C sub rev-parse HEAD),empty && mkdir empty && git commit -qm modules`,
		w.at("home"), w.at("repo")))
	w.give()
	return ran
}

// person uses git as the person does, outside.
func (w *world) person() {
	w.t.Helper()
	cmd := w.as(exec.Command("sh", "-c", fmt.Sprintf(use, w.at("repo"), w.at("den/workspaces/1/worktrees/two/tree"))))
	cmd.Env = append(cmd.Env, "GIT_EDITOR=true", "GIT_PAGER_IN_USE=")
	out, err := cmd.CombinedOutput()
	if err != nil && !strings.Contains(string(out), "git") {
		w.t.Fatalf("%v: %s", err, out)
	}
}

// tryLinks is what a hostile agent does so that a person's git follows its links
// elsewhere. It prints what worked: links that are made, moved and hard-linked
// into what it may write of a repository, alone and in a directory; the way to
// the repository moved to where it, or its next process, may make links; and
// another's objects named as alternates.
const tryLinks = `
import os, shutil, sys
git, other, keeps = sys.argv[1] + "/.git", sys.argv[2], sys.argv[3] == "true"
def attempt(what, do, *args):
    try: do(*args)
    except OSError: return False
    print("it could", what, *args)
    return True
def fresh():
    shutil.rmtree("d", True)
    os.mkdir("d")
    os.symlink(other + "/refs/heads", "d/link")
    if not os.path.lexists("link"): os.symlink(other + "/refs/heads", "link")
def hard(old, new): os.link(old, new, follow_symlinks=False)
for name in "objects", "objects/pack", "refs", "refs/heads", "logs", "logs/refs/heads", "worktrees/tree", "worktrees/tree/logs":
    dir = git + "/" + name
    os.makedirs(dir + "/new/deep", exist_ok=True)
    for at in dir, dir + "/new", dir + "/new/deep":
        fresh()
        attempt("link", os.symlink, other + "/refs/heads", at + "/zz")
        attempt("hard-link", hard, "link", at + "/hard")
        attempt("move", os.rename, "link", at + "/moved")
        attempt("move", os.rename, "d", at + "/directory")
        attempt("move", os.rename, "d/link", at + "/moved")
    shutil.rmtree(dir + "/new", True)
for n in range(256):
    attempt("link", os.symlink, "%s/objects/%02x" % (other, n), "%s/objects/%02x" % (git, n))
attempt("link", os.symlink, other + "/logs/HEAD", git + "/logs/refs/heads/bb")
home = os.environ["HOME"]
os.makedirs(home + "/.cache", exist_ok=True)
os.makedirs(home + "/new", exist_ok=True)
for to in home + "/.cache/repo", home + "/new/repo", home + "/away", os.getcwd() + "/away":
    for path in os.path.dirname(sys.argv[1]), sys.argv[1], git:
        if attempt("move", os.rename, path, to): os.rename(to, path)
if keeps:
    attempt("write alternates", lambda: open(git + "/objects/info/alternates", "w").write(other + "/objects\n"))
    attempt("move", os.rename, git + "/objects/info", git + "/objects/away")
`

// The law: whatever an agent makes in what it may write of its repository, a
// person's git is led to no other repository by it. Its own git works, and so do
// links elsewhere.
func TestGitOutsideIsLedNowhere(t *testing.T) {
	need.Program(t, "python3")
	base := "/var" // /tmp is its own
	if os.Getuid() != 0 {
		base = os.Getenv("HOME")
	}
	const links = "ln -s a l && ln -s l ~/.cache/l && "
	for _, c := range []struct{ place, base, repo, work string }{
		{"elsewhere", base, "repo", links + `ln -s l "${TMPDIR:-/tmp}/l" && ln -s l ~/l`},
		{"below its home", base, "home/src/repo", links + `ln -s l "${TMPDIR:-/tmp}/l" && ln -s l ~/new/l`},
		{"in /tmp", "/tmp", "repo", links + "ln -s l ~/l"},
	} {
		for how, namespaces := range map[string]bool{"namespaces": true, "landlock": false} {
			t.Run(c.place+"/"+how, func(t *testing.T) {
				t.Parallel()
				w := newWorldIn(t, c.base, users["nobody"], namespaces)
				repo := w.at(c.repo)
				w.sh(fmt.Sprintf(`export HOME=%s; git config --global safe.directory '*'; mkdir -p $(dirname %[2]s); test -e %[2]s || mv %[3]s %[2]s; git -C %[2]s worktree repair %[4]s; rmdir %[2]s/.git/objects/info
					git init -q %[5]s; cd %[5]s; for n in 1 2 3 4; do echo $n >f; git add f; git commit -qm $n; done; git branch side`, w.at("home"), repo, w.at("repo"), w.policy.WorkDir, w.at("other")))
				w.give()
				before := w.tree("other")
				for range 2 { // what the first start leaves is there at the next
					out, err := w.confine("python3", "-c", tryLinks, repo, w.at("other/.git"), fmt.Sprint(namespaces)).CombinedOutput()
					if err != nil || len(out) > 0 {
						t.Errorf("%v: %s", err, out)
					}
				}
				if got, err := w.run(c.work + ` && git add l && git commit -qm more && git branch topic && git switch -qc third && git commit -q --allow-empty -m third &&
					git fetch -q . third:fourth && git tag -a -m t v1 && git reset -q --soft HEAD~ && git log -1 --format=%s fourth`); err != nil || got != "third" {
					t.Errorf("its work does not get done: %q, %v", got, err)
				}
				out, err := w.as(exec.Command("sh", "-c", fmt.Sprintf("cd %s && git commit -q --allow-empty -m p && git gc -q --prune=now && git fsck", repo))).CombinedOutput()
				if err != nil {
					t.Errorf("%v: %s", err, out)
				}
				if after := w.tree("other"); after != before {
					t.Errorf("another repository became\n%s\nit was\n%s", after, before)
				}
			})
		}
	}
}

// tree lists what is in a directory, with sums.
func (w *world) tree(name string) string {
	w.t.Helper()
	out, err := exec.Command("sh", "-c", "cd "+w.at(name)+" && find . | sort && find . -type f | sort | xargs cksum").CombinedOutput()
	if err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}
