package remote_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"den/internal/agent/runner"
	"den/internal/agent/runner/remote"
	"den/internal/agent/runner/remote/holder"
	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/provider/local"
	"den/internal/process/pty"
	"den/internal/process/tree"
	"den/internal/testkit/spawntest"
)

// spawnerRole makes this process one that spawns, and waits to be killed. Its
// value is the mark.
const spawnerRole = "REMOTE_TEST_SPAWNER"

// The test binary is den, as far as it is needed where processes are spawned.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == holder.Verb {
		os.Exit(holder.Main(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	if mark := os.Getenv(spawnerRole); mark != "" {
		os.Exit(spawnAndWait(mark))
	}
	os.Exit(m.Run())
}

// here spawns on this machine, by a provider's Exec.
func here(mark string) remote.Spawner {
	self, err := os.Executable()
	if err != nil {
		panic(err) // Linux and darwin know it
	}
	return remote.Spawner{
		Exec: func(ctx context.Context, e provider.ExecSpec) (int, error) {
			return local.Place{}.Exec(ctx, "w", provider.Config{}, e)
		},
		Den: self, Mark: mark,
	}
}

func TestConformance(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	spawntest.Run(t, spawntest.Place{
		Spawner:      func(t *testing.T) runner.Spawner { return here(t.Name()) },
		Dir:          dir,
		CommandLines: spawntest.OfThisMachine,
	})
}

// An engine that carries both outputs over one connection may bring much of the
// command's errors before the holder's answer. Spawn waited for ever.
func TestErrorsBeforeTheAnswer(t *testing.T) {
	errs := strings.Repeat("0123456789abcde\n", 1<<20/16)
	s := here(t.Name())
	s.Exec = func(_ context.Context, e provider.ExecSpec) (int, error) {
		if _, err := io.WriteString(e.Stderr, errs); err != nil {
			return 0, err
		}
		_, err := fmt.Fprintf(e.Stdout, "{\"v\":%d}\nsaid", holder.Version)
		return 3, err
	}
	p, err := s.Spawn(t.Context(), runner.Command{Argv: []string{"noisy"}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(p.Stderr()); string(got) != errs || err != nil {
		t.Errorf("%d bytes of errors, %v; want %d", len(got), err, len(errs))
	}
	if got, err := io.ReadAll(p.Stdout()); string(got) != "said" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if exit := p.Wait(); exit.Code != 3 {
		t.Errorf("%+v", exit)
	}
}

// spawnAndWait is the process that is killed: it tells the number of a process
// of what it has spawned.
func spawnAndWait(mark string) int {
	p, err := here(mark).Spawn(context.Background(), runner.Command{Argv: []string{"sh", "-c", `setsid sleep 1000 & echo $!; exec sleep 1000`}})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	line, err := bufio.NewReader(p.Stdout()).ReadString('\n')
	fmt.Print(line)
	if err != nil {
		return 1
	}
	p.Wait()
	return 0
}

// When the process that spawned ends, however that happens, so does what it
// spawned.
func TestSpawnerKilled(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	mark := t.TempDir() // nobody else has it
	spawner := exec.Command(self)
	spawner.Env = append(os.Environ(), spawnerRole+"="+mark)
	out, err := spawner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := spawner.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	if left := pty.Marked(tree.RunnerMark + "=" + mark); len(left) != 2 {
		t.Errorf("there are processes %v", left)
	}
	if err := spawner.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	spawner.Wait() // it was killed
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) {
		left := pty.Marked(tree.RunnerMark + "=" + mark)
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("processes %v outlive who spawned them", left)
		}
	}
}

// What a killed den left is found by the next one: of its own agent only.
func TestClean(t *testing.T) {
	s, other := here(t.Name()), here(t.Name()+"-other")
	stays, err := other.Spawn(t.Context(), runner.Command{Argv: []string{"cat"}})
	if err != nil {
		t.Fatal(err)
	}
	left := exec.Command("sleep", "1000")
	left.Env = append(os.Environ(), tree.RunnerMark+"="+t.Name())
	if err := left.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- left.Wait() }()
	if n, err := s.Clean(t.Context()); n != 1 || err != nil {
		t.Errorf("killed %d, %v", n, err)
	}
	if err := <-ended; err == nil {
		t.Error("it ended by itself")
	}
	if err := stays.Stdin().Close(); err != nil {
		t.Error(err)
	}
	if exit := stays.Wait(); exit.Code != 0 {
		t.Errorf("another agent's process: %+v", exit)
	}
}

// A place that cannot run den is told of, with what it said.
func TestNoDenThere(t *testing.T) {
	s := here(t.Name())
	s.Den = "/bin/false"
	if _, err := s.Spawn(t.Context(), runner.Command{Argv: []string{"true"}}); fault.KindOf(err) != fault.Unreachable {
		t.Errorf("%v", err)
	}
	s.Exec = func(context.Context, provider.ExecSpec) (int, error) {
		return 0, fault.Errorf(fault.NotRunning, "its container is not running")
	}
	// The long one cannot be written before the end is noticed.
	for _, arg := range []string{"short", strings.Repeat("long", 1<<16)} {
		if _, err := s.Spawn(t.Context(), runner.Command{Argv: []string{"true", arg}}); err == nil || !strings.Contains(err.Error(), "its container is not running") {
			t.Errorf("%v", err)
		}
	}
}

// The agent's own variables are there, the PATH of this machine is not, and den
// is found.
func TestEnvironmentThere(t *testing.T) {
	s := here(t.Name())
	s.Env = map[string]string{"KEY": "value", "OWN": "spawner's"}
	p, err := s.Spawn(t.Context(), runner.Command{
		Argv: []string{"sh", "-c", `echo "$KEY $OWN ${PATH%%:*}"; case $PATH in */elsewhere*) echo wrong PATH;; esac`},
		Env:  map[string]string{"OWN": "command's", "PATH": "/elsewhere"},
	})
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(p.Stdout()).ReadString('\n')
	if want := "value command's " + filepath.Dir(s.Den) + "\n"; line != want || err != nil {
		t.Errorf("%q, want %q, %v", line, want, err)
	}
	p.Wait()
}
