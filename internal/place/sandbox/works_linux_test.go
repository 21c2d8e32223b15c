package sandbox_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/base/fault"
	"den/internal/place/sandbox"
	"den/internal/testkit/need"
)

// What an agent has to do works, as whoever, held in either way.
func TestWorkGetsDone(t *testing.T) {
	for _, program := range []string{"python3", "node", "go"} {
		need.Program(t, program)
	}
	work := []struct{ name, script, want string }{
		{"write in its directory", `echo hi >f && mkdir -p d/e && mv f d/e/g && cat d/e/g && rm -r d`, "hi"},
		{"see the system", `ls /usr/bin/env && head -1 /etc/passwd | cut -d: -f1`, "/usr/bin/env\nroot"},
		{"git status", `git status --porcelain`, ""},
		{"git commit", `echo b >b && git add b && git commit -qm b && git log --format=%s -1 && git branch --show-current`, "b\nden/coder"},
		{"git branch", `git switch -qc fix && echo c >c && git add c && git commit -qm c && git log --format=%s -1; git switch -q den/coder`, "c"},
		{"git stash", `echo x >a && git stash -q && cat a && git stash apply -q && cat a && git checkout -q a`, "a\nx"},
		{"temporary files", `f=$(mktemp) && echo t >$f && cat $f && cat <<E
here
E`, "t\nhere"},
		{"its home", `mkdir -p ~/.cache/x && echo c >~/.cache/x/y && cat ~/.cache/x/y`, "c"},
		{"the vendor's directory", `echo '{"t":1}' >~/.vendor/new.json && mv ~/.vendor/new.json ~/.vendor/credentials.json && cat ~/.vendor/credentials.json`, `{"t":1}`},
		{"a shell's parts", `echo a | sed s/a/b/ >/dev/null && (sleep 0 & wait) && trap : INT && kill -INT $$ && echo ok`, "ok"},
		{"python", `python3 -c 'import tempfile, subprocess, json; f = tempfile.NamedTemporaryFile(); print(subprocess.check_output(["echo", "py"]).decode().strip())'`, "py"},
		{"node", `node -e 'const {execSync} = require("child_process"); console.log(execSync("echo js").toString().trim())'`, "js"},
		{"go build", `mkdir m && cd m && printf 'module m\n' >go.mod && printf 'package m\n\nfunc F() int { return 1 }\n' >m.go && CGO_ENABLED=0 go build -o m.a . && test -s m.a && echo go; cd .. && rm -r m`, "go"}, // a library: its cache is empty, and a program's runtime takes a minute
		{"run what it made", `cp /bin/echo made && ./made up && rm made`, "up"},
		{"a child's signal", `sleep 1000 & kill $! && wait $! 2>/dev/null; test $? = 143 && echo ok`, "ok"},
	}
	everywhere(t, func(t *testing.T, w *world, _ bool) {
		for _, one := range work {
			if got, err := w.run(one.script); err != nil || got != one.want {
				t.Errorf("%s: %q, %v; want %q", one.name, got, err, one.want)
			}
		}
	})
}

// Servers of the agent's own work where its network is its own loopback.
func TestOwnLoopback(t *testing.T) {
	need.Program(t, "python3")
	w := newWorld(t, users["nobody"], true)
	w.policy.Network = sandbox.NetworkLoopback
	got, err := w.run(`python3 -c '
import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen()
c = socket.create_connection(s.getsockname()); print("own")'`)
	if err != nil || got != "own" {
		t.Errorf("%q, %v", got, err)
	}
}

// A terminal in the sandbox is a terminal, and new ones can be made where there
// is a /dev of its own.
func TestTerminals(t *testing.T) {
	need.Program(t, "script")
	w := newWorld(t, users["nobody"], true)
	if got, err := w.run(`script -qec 'test -t 0 && stty size >/dev/null && echo yes' /dev/null`); err != nil || got != "yes" {
		t.Errorf("%q, %v", got, err)
	}
}

// The socket that a policy names can be connected to, and no other.
func TestNamedSocket(t *testing.T) {
	need.Program(t, "python3")
	w := newWorld(t, users["nobody"], true)
	named, other := w.at("named.sock"), w.at("other.sock")
	for _, path := range []string{named, other} {
		listen(t, "unix", path)
		if err := os.Chmod(path, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	w.policy.Sockets = []string{named}
	for path, want := range map[string]string{named: "in", other: "FileNotFoundError"} {
		got, _ := w.run(fmt.Sprintf(`python3 -c '
import socket
s = socket.socket(socket.AF_UNIX)
try: s.connect("%s"); print("in")
except OSError as e: print(type(e).__name__)'`, path))
		if got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// In a directory that is a whole repository, or the workspace's own, what runs
// outside stays as it is: not even by moving its directory away can it be
// replaced.
func TestProtectedFilesInItsOwnDirectory(t *testing.T) {
	for name, uid := range users {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, uid, true)
			w.write("repo/den.toml", "version = 1", 0o644)
			w.write("repo/prompts/team/coder.md", "be good", 0o644)
			w.write("repo/.den/state.json", secret, 0o600)
			w.give()
			w.policy.WorkDir = w.at("repo")
			w.policy.Protect = []string{w.at("repo/den.toml"), w.at("repo/prompts/team/coder.md")}
			w.policy.Hide = []string{w.at("repo/.den"), w.at("den")}
			for script, kept := range map[string]string{
				"echo evil >den.toml":              "den.toml",
				"rm den.toml":                      "den.toml",
				"echo evil >new; mv new den.toml":  "den.toml",
				"echo evil >prompts/team/coder.md": "prompts/team/coder.md",
				"mv prompts/team t; mkdir -p prompts/team; echo evil >prompts/team/coder.md":            "prompts/team/coder.md",
				"mv prompts p; mkdir -p prompts/team; echo evil >prompts/team/coder.md":                 "prompts/team/coder.md",
				"rm -rf prompts; mkdir -p prompts/team; echo evil >prompts/team/coder.md":               "prompts/team/coder.md",
				"git config core.fsmonitor evil":                                                        ".git/config",
				"mv .git g; mkdir .git; cp g/config .git/config; git config -f .git/config core.x evil": ".git/config",
				"echo evil >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit":                      ".git/hooks/pre-commit",
				"mv .git/hooks h; mkdir .git/hooks; echo evil >.git/hooks/pre-commit":                   ".git/hooks/pre-commit",
				"rm -rf .den; mkdir -p .den; echo evil >.den/state.json":                                ".den/state.json",
			} {
				before, _ := os.ReadFile(w.at("repo/" + kept))
				out, _ := w.run(script)
				if after, err := os.ReadFile(w.at("repo/" + kept)); string(after) != string(before) {
					t.Errorf("%s: %s became %q, %v (%s)", script, kept, after, err, out)
				}
			}
			const commit = "ls -A .den; cat .den/state.json; git commit -q --allow-empty -m free; git log --format=%s -1; git config den.x y"
			got, err := w.run(commit)
			if !strings.Contains(got, "\na\n") || strings.Contains(got, secret) {
				t.Errorf("%q, %v", got, err)
			}
			// It is told why it cannot commit, and what to write.
			told := strings.Join(w.policy.Denials(got, nil), "\n")
			for _, name := range []string{"index.lock", "config"} {
				want := fmt.Sprintf(`it may not write %s: it is protected: it decides what runs outside of the sandbox (%[2]s); worktree = true lets it commit, or, where nobody else uses git, sandbox = { write = ["%[2]s"] }`, w.at("repo/.git/"+name), w.at("repo/.git"))
				if !strings.Contains(told, want) {
					t.Errorf("%s; want %s; it said %s", told, want, got)
				}
			}
			w.policy.Write = append(w.policy.Write, w.at("repo/.git")) // the person says so
			if got, err = w.run(commit); !strings.HasSuffix(got, "free") || strings.Contains(got, secret) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// What the agent can write grants it nothing at its next start: neither links in
// its directory, nor what its worktree says of its repository.
func TestLinksOfTheAgentGrantNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world, _ bool) {
		tree := w.policy.WorkDir
		w.policy.Write = append(w.policy.Write, filepath.Join(tree, "out"))
		w.policy.Read = []string{filepath.Join(tree, "in"), w.at("home/.vendor/in")}
		w.sh(fmt.Sprintf(`cd %s && ln -s %s out && ln -s %s in && ln -s %s %s && rm .git && mkdir -p fake/worktrees/x &&
			echo %s/.git >fake/worktrees/x/gitdir && echo %s >fake/worktrees/x/commondir && echo "gitdir: %s/fake/worktrees/x" >.git`,
			tree, w.at("home/.ssh"), w.at("home/.aws"), w.at("home/.kube"), w.at("home/.vendor/in"), tree, w.at("home/.ssh"), tree))
		for _, gitdir := range []string{"", w.at("home/.ssh"), w.at("repo/.git"), w.at("repo/.git/worktrees/tree1")} {
			if gitdir != "" {
				w.sh(fmt.Sprintf("echo 'gitdir: %s' >%s/.git", gitdir, tree))
			}
			for _, path := range []string{"out/id_ed25519", "in/credentials", "~/.vendor/in/config", w.at("home/.ssh/id_ed25519")} {
				if got, err := w.run("cat " + path); err == nil {
					t.Errorf("gitdir %q: it could read %s: %q", gitdir, path, got)
				}
			}
			if _, err := w.run("echo x >" + w.at("repo/.git/worktrees/tree1/HEAD")); err == nil {
				t.Errorf("gitdir %q: it could write another worktree's part", gitdir)
			}
		}
	})
}

// Links in the agent's own home do not lead den out when it makes the next
// sandbox.
func TestLinksInItsHomeLeadNowhere(t *testing.T) {
	w := newWorld(t, users["root"], true)
	w.policy.Read = []string{w.at("home/.tool/x")}
	w.write("home/.tool/x/file", "granted", 0o644)
	w.give()
	if got, err := w.run("cat ~/.tool/x/file"); got != "granted" {
		t.Fatalf("%q, %v", got, err)
	}
	own := filepath.Join(w.policy.Private, "home/.tool")
	w.sh("rm -r " + own + " && ln -s " + w.at("elsewhere") + " " + own)
	got, err := w.run("echo started")
	if _, there := os.Lstat(w.at("elsewhere/x")); there == nil {
		t.Error("a directory was made outside")
	}
	if err == nil || !strings.Contains(got, "is a link in its way?") {
		t.Errorf("%q, %v", got, err)
	}
}

// What cannot be held is refused in words, and never started with less.
func TestRefusals(t *testing.T) {
	base := func() sandbox.Policy {
		return sandbox.Policy{Agent: "coder", WorkDir: "/w", Private: t.TempDir(), Network: sandbox.NetworkAny, Held: sandbox.Support{Landlock: 7, Why: "no right to"}}
	}
	for name, c := range map[string]struct {
		change func(*sandbox.Policy)
		want   string
	}{
		"no Landlock":       {func(p *sandbox.Policy) { p.Held = sandbox.Support{Namespaces: "direct"} }, "no Landlock"},
		"an old Landlock":   {func(p *sandbox.Policy) { p.Held.Landlock = 2 }, "could be emptied"},
		"loopback":          {func(p *sandbox.Policy) { p.Network = sandbox.NetworkLoopback }, "network namespace"},
		"protected inside":  {func(p *sandbox.Policy) { p.Protect = []string{"/w/den.toml"} }, "cannot be protected"},
		"hidden inside":     {func(p *sandbox.Policy) { p.Hide = []string{"/w/.den"} }, "cannot be protected"},
		"den's files shown": {func(p *sandbox.Policy) { p.Read, p.Hide = []string{"/h"}, []string{"/h/.den"} }, "cannot be hidden"},
	} {
		p := base()
		c.change(&p)
		if err := p.Prepare(); fault.KindOf(err) != fault.Unsupported || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// A program that the sandbox does not hold is told in words, with what to grant:
// by the command, and to who awaits it.
func TestProgramOutside(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world, namespaces bool) {
		w.write("home/.tool/lib/run.sh", "#!/bin/sh\necho ran\nread end\nexit 0\n", 0o755)
		w.sh("ln -s " + w.at("home/.tool/lib/run.sh") + " " + w.at("tools/bin/run"))
		w.give()
		entry, cmd := w.await("run") // through the link on PATH
		if ok, err := entry.Entered(); ok || err != nil {
			t.Errorf("entered before it was started: %v, %v", ok, err)
		}
		in, out := w.start(cmd)
		if line, err := out.ReadString('\n'); line != "ran\n" || err != nil {
			t.Errorf("%q, %v", line, err)
		}
		if ok, err := entry.Entered(); !ok || err != nil { // while it runs
			t.Errorf("entered: %v, %v", ok, err)
		}
		if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
			t.Error(err)
		}
		// A link on PATH leads to a file, and not to what lies beside that.
		w.write("home/company/deploy.sh", "#!/bin/sh\necho deployed\n", 0o755)
		w.write("home/company/keys", secret, 0o644)
		w.sh("ln -s " + w.at("home/company/deploy.sh") + " " + w.at("tools/bin/deploy"))
		w.give()
		if got, _ := w.run("deploy; cat " + w.at("home/company/keys")); !strings.HasPrefix(got, "deployed") || strings.Contains(got, secret) {
			t.Errorf("through a link on PATH: %q", got)
		}
		entry, cmd = w.await("missing")
		said, err := cmd.CombinedOutput()
		if !strings.Contains(string(said), "missing: no such program on PATH") || err.(*exec.ExitError).ExitCode() != 126 {
			t.Errorf("%s, %v", said, err)
		}
		if ok, err := entry.Entered(); ok || fault.KindOf(err) != fault.NotRunning || !strings.Contains(err.Error(), "missing: no such program on PATH") {
			t.Errorf("entered: %v, %v", ok, err)
		}
		if namespaces { // it may be started anywhere, and says what it lacks
			entry, cmd = w.await("sh", "-c", "echo started")
			cmd.Dir = w.at("elsewhere")
			said, _ = cmd.CombinedOutput()
			_, err := entry.Entered()
			if want := fmt.Sprintf(`sandbox = { write = ["%s"] }`, w.at("elsewhere")); !strings.Contains(string(said), want) || !strings.Contains(fault.HintOf(err), want) {
				t.Errorf("%s, %v; want %s", said, err, want)
			}
		}
	})
}
