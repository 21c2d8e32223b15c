package acceptance

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"den/internal/agent/harness"
	"den/internal/agent/permission"
	"den/internal/keeper"
	"den/internal/place/decisive"

	"golang.org/x/sys/unix"
)

// openings records which files below a directory are opened, by anybody.
type openings struct {
	t    *testing.T
	fd   int
	dirs map[int32]string
}

func recordOpenings(t *testing.T, top string) *openings {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	o := &openings{t: t, fd: fd, dirs: map[int32]string{}}
	err = filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() || e.Name() == ".git" {
			return err
		}
		wd, err := unix.InotifyAddWatch(fd, path, unix.IN_OPEN)
		o.dirs[int32(wd)] = path
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// files returns those that were opened so far.
func (o *openings) files() []string {
	o.t.Helper()
	all := map[string]bool{}
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.Read(o.fd, buf)
		if err == unix.EAGAIN {
			return slices.Sorted(maps.Keys(all))
		}
		if err != nil {
			o.t.Fatal(err)
		}
		for b := buf[:n]; len(b) > 0; {
			wd, mask, size := int32(binary.NativeEndian.Uint32(b)), binary.NativeEndian.Uint32(b[4:]), binary.NativeEndian.Uint32(b[12:])
			if mask&unix.IN_Q_OVERFLOW != 0 {
				o.t.Fatal("openings were lost")
			}
			name, _, _ := bytes.Cut(b[unix.SizeofInotifyEvent:unix.SizeofInotifyEvent+size], []byte{0})
			if mask&unix.IN_ISDIR == 0 && len(name) > 0 {
				all[filepath.Join(o.dirs[wd], string(name))] = true
			}
			b = b[unix.SizeofInotifyEvent+size:]
		}
	}
}

// decisiveFiles are workspaces that read files of every kind, by file of each
// format. $OUT is a directory outside.
var decisiveWorkspaces = map[string]map[string]string{
	"den.toml": {
		"den.toml": `include = ["conf/more.yaml"]
[[agents]]
name = "coder"
dir = "$OUT"
agent = "script"
start_command = "sh $W/bin/mind.sh"
prompt_template = "texts/role.md"
pre_start = ["sh $W/bin/pre.sh </dev/null"]
session_setup = ["cat $W/bin/list"]
session_setup_script = "bin/setup"
overlay_dir = "over"
copy_files = ["one.txt", { src = "two", dst = "there" }]
env = { A = { file = "keys/a" }, B = { command = ["cat", "$W/keys/b"] } }
permissions = [{ outcome = "allow", kind = "edit" }]
`,
		"conf/more.yaml":       "include: [deep/third.toml]\nagents:\n  - {name: shell, start_command: 'sh ./bin/shell.sh', pre_start: ['. \"{{.WorkDir}}/bin/env.sh\"', 'sh bin/{{.Name}}.pre']}\n",
		"conf/deep/third.toml": "[[agents]]\nname = \"pool\"\nstart_command = \"cat\"\npool = { min = 1, max = 2, check = \"cat bin/count\" }\n",
	},
	"agents.yaml": {
		"agents.yaml": `include: [conf/more.toml]
agents:
  - name: coder
    dir: $OUT
    agent: script
    start_command: sh $W/bin/mind.sh
    prompt_template: texts/role.md
    session_setup_script: bin/setup
    overlay_dir: over
    copy_files: [one.txt, {src: two, dst: there}]
    env: {A: {file: keys/a}, B: {command: [cat, $W/keys/b]}}
    permissions: [{outcome: allow, kind: edit}]
`,
		"conf/more.toml": "[[agents]]\nname = \"shell\"\nstart_command = \"sh bin/shell.sh\"\npre_start = [\"sh bin/shell.pre\"]\n",
	},
}

// Every file that loading a workspace and starting its agents opens is one that
// no agent of it changes unasked, whatever its rules allow.
func TestWhatAWorkspaceReadsIsDecisive(t *testing.T) {
	for name, files := range decisiveWorkspaces {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			dir, out := realTempDir(t), realTempDir(t)
			write := func(file, text string) {
				t.Helper()
				file = filepath.Join(dir, file)
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				text = strings.NewReplacer("$OUT", out, "$W", dir).Replace(text)
				if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			for file, text := range map[string]string{
				"bin/mind.sh": "cat\n", "bin/shell.sh": "cat\n", "bin/pre.sh": "true\n", "bin/shell.pre": "true\n", "bin/env.sh": "true\n", "bin/list": "x\n", "bin/count": "1\n",
				"bin/setup": "#!/bin/sh\ntrue\n", "texts/role.md": "Be kind.\n", "over/a/b": "x\n", "over/c": "x\n", "one.txt": "x\n", "two/three": "x\n", "keys/a": "a\n", "keys/b": "b\n",
				"notes.txt": "nobody reads it\n", "texts/other.md": "nor this\n",
			} {
				write(file, text)
			}
			for file, text := range files {
				write(file, text)
			}
			record := recordOpenings(t, dir)
			config := filepath.Join(dir, name)
			w.do("up", "-f", config, "--wait", "--trust")
			t.Cleanup(func() { w.try("down", "-f", config) })
			w.do("reload", "-f", config)
			opened := record.files()
			if len(opened) < 12 {
				t.Fatalf("only %d files were opened: %q", len(opened), opened)
			}

			state, err := keeper.At(config)
			if err != nil {
				t.Fatal(err)
			}
			c, err := harness.Load(state.Harness("coder"))
			if err != nil {
				t.Fatal(err)
			}
			p, err := permission.NewPolicy(permission.Settings{
				Dir: dir, Rules: append(c.Permissions, permission.Rule{Outcome: permission.Allow, Path: "/**"}, permission.Rule{Outcome: permission.Allow, Command: "tee *"}),
				Workspace: func() ([]decisive.File, error) { return decisive.Load(c.Decisive) },
			})
			if err != nil {
				t.Fatal(err)
			}
			decide := func(file string) (permission.Outcome, permission.Outcome) {
				edited, _ := p.Decide(permission.Request{Tool: "Write", Kind: permission.Edit, Paths: []string{file}})
				run, _ := p.Decide(permission.Request{Tool: "Bash", Kind: permission.Execute, Command: "echo x | tee " + file})
				return edited, run
			}
			for _, file := range opened {
				if edited, run := decide(file); edited != permission.Ask || run != permission.Ask {
					t.Errorf("%s was opened; its change: %s, by a command: %s", file, edited, run)
				}
			}
			for _, file := range []string{"notes.txt", "texts/other.md"} {
				if edited, run := decide(filepath.Join(dir, file)); edited != permission.Allow || run != permission.Allow {
					t.Errorf("%s, which nobody reads: %s, by a command: %s", file, edited, run)
				}
			}
		})
	}
}

// A command of an agent in a git worktree runs the worktree's own copy of a
// script, and that decides, too.
func TestScriptsOfAWorktreeAreDecisive(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := realTempDir(t)
	for file, text := range map[string]string{
		"den.toml":   "[[agents]]\nname = \"tree\"\nstart_command = \"sh bin/agent.sh\"\npre_start = [\"sh ./bin/pre.sh\"]\nworktree = true\n",
		"bin/pre.sh": "true\n", "bin/agent.sh": "cat\n",
	} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(file)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "x"}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	config := filepath.Join(dir, "den.toml")
	w.do("up", "-f", config, "--wait", "--trust")
	t.Cleanup(func() { w.try("down", "-f", config) })
	state, err := keeper.At(config)
	if err != nil {
		t.Fatal(err)
	}
	own, err := decisive.Load(state.Decisive())
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{"bin/pre.sh", "bin/agent.sh"} {
		copies := 0
		for _, f := range own {
			if strings.HasSuffix(f.Path, "/"+script) {
				copies++
			}
		}
		if copies != 2 {
			t.Errorf("%s: %d copies are known, want 2: %+v", script, copies, own)
		}
	}
}

func realTempDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
