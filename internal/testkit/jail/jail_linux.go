// Package jail runs lines of shell for tests and reports what they did; nothing
// that they do lasts or gets out.
//
// A jail is a process of its own in new namespaces of users, mounts, processes
// and networks. Its root has the programs that it was given, the libraries of
// the machine and nothing else; only Dir, Home and /tmp can be written, and
// they are put back after each line. It needs a kernel that lets this user make
// user namespaces, and no other right.
package jail

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"den/internal/testkit/need"
)

// What a jail looks like from within.
const (
	Home = "/home"         // of the user; nothing in it belongs to the agent but Dir
	Dir  = "/home/project" // where lines run: the agent's directory, a repository
	// Outside has a file that lines in Dir must not read.
	Outside = "/home/outside"
	Port    = 7 // on 127.0.0.1, where every attempt to connect is seen
)

// Links are the symbolic links in a jail that lead from one of its places to another.
var Links = map[string]string{Dir + "/sub/secret": "../../outside/secret", Dir + "/out": "../outside"}

// Canaries are programs that note how they were called. None of them is
// harmless; some are such as shells and programs start by themselves.
var Canaries = []string{"pwn", "p1", "p2", "p3", "p4", "more", "less", "vi", "editor", "pager", "1", "a"}

// A Jail runs lines, one after the other.
type Jail struct {
	cmd *exec.Cmd
	in  *json.Encoder
	out *json.Decoder
}

// Did is what a line did.
type Did struct {
	Calls     [][]string // of canaries, each with its arguments
	Changed   []string   // files that were made, changed or removed
	Read      []string   // files in Outside that were read
	Reached   int        // connections that were made
	TimedOut  bool       // it was ended before its end
	Status    int        // of the shell
	Forgotten string     // why the jail could not be put back, "" otherwise
}

// Harm reports that a line did something at all.
func (d Did) Harm() bool {
	return len(d.Calls) > 0 || len(d.Changed) > 0 || len(d.Read) > 0 || d.Reached > 0
}

// setup is what the process in the jail is told first.
type setup struct {
	Programs map[string]string // name to path outside
	Canaries []string
	Repo     string // a directory outside with the files of a repository
}

type job struct{ Shell, Line string }

// asJail makes a test's process the one in the jail.
const asJail = "DEN_TEST_JAIL"

// A process that is to be a jail is one before anything of its test runs.
func init() {
	if os.Getenv(asJail) == "" {
		return
	}
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Open makes a jail with these programs. Those that the machine does not have
// are left out. It ends with the test.
func Open(t testing.TB, programs ...string) *Jail {
	t.Helper()
	given := setup{Programs: map[string]string{}, Canaries: Canaries, Repo: repository(t)}
	for _, name := range append(programs, "sh", "bash", "dash", "zsh") {
		if path, err := exec.LookPath(name); err == nil {
			given.Programs[name] = path
		}
	}
	j, err := start(given)
	if err == nil {
		_, err = j.Run("sh", ":")
	}
	if err != nil {
		need.Feature(t, "this user cannot make a jail of namespaces here: %v", err)
	}
	t.Cleanup(j.close)
	return j
}

func start(given setup) (*Jail, error) {
	j := &Jail{cmd: exec.Command("/proc/self/exe")}
	j.cmd.Env = []string{asJail + "=1", "TMPDIR=/tmp"}
	var said strings.Builder
	j.cmd.Stderr = &said
	j.cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
	}
	in, err := j.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := j.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := j.cmd.Start(); err != nil {
		return nil, err
	}
	j.in, j.out = json.NewEncoder(in), json.NewDecoder(out)
	ready := false
	if err = j.in.Encode(given); err == nil {
		err = j.out.Decode(&ready)
	}
	if err != nil {
		in.Close()
		return nil, fmt.Errorf("%w: %s", errors.Join(err, j.cmd.Wait()), strings.TrimSpace(said.String()))
	}
	return j, nil
}

// Run has a shell of the jail run a line, and returns when every process of it
// has ended.
func (j *Jail) Run(shell, line string) (Did, error) {
	var did Did
	if err := j.in.Encode(job{Shell: shell, Line: line}); err != nil {
		return did, fmt.Errorf("send line to the jail: %w", err)
	}
	if err := j.out.Decode(&did); err != nil {
		return did, fmt.Errorf("read what a line did in the jail: %w", err)
	}
	if did.Forgotten != "" {
		return did, fmt.Errorf("clean the jail after %q: %s", line, did.Forgotten)
	}
	return did, nil
}

func (j *Jail) close() {
	_ = j.cmd.Process.Kill() // Best effort: it may have ended, and the test has its results.
	_ = j.cmd.Wait()         // "signal: killed"
}

// repository makes the files of a repository with a commit.
func repository(t testing.TB) string {
	dir := t.TempDir()
	git := need.Program(t, "git")
	files := map[string]string{"a.txt": "a[$(pwn)]\n", "b c.txt": "pwn\n", "sub/d.txt": "x\n", ".env": "TOKEN=1\n", ".gitattributes": "*.txt diff=pwn\n"}
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one"}} {
		cmd := exec.Command(git, args...)
		cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "PATH=" + os.Getenv("PATH")}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v: %s", args, err, out)
		}
	}
	for _, name := range []string{"pwn", "a[$(pwn)]", "-exec"} { // for globs to find; not in the index
		if err := os.WriteFile(filepath.Join(dir, name), []byte("pwn\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
