package local_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"den/internal/fault"
	"den/internal/runner"
	"den/internal/runner/local"
)

func spawn(t *testing.T, script string) runner.Process {
	t.Helper()
	s := local.Spawner{Mark: t.Name()}
	p, err := s.Spawn(t.Context(), runner.Command{Argv: []string{"sh", "-c", script}, Dir: t.TempDir(), Env: map[string]string{"GIVEN": "value"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Signal(syscall.SIGKILL)
		p.Wait()
	})
	return p
}

func TestPipesAndExit(t *testing.T) {
	p := spawn(t, `read line; echo "$GIVEN $line"; echo told >&2; exit 7`)
	if _, err := io.WriteString(p.Stdin(), "hello\n"); err != nil {
		t.Fatal(err)
	}
	out, _ := io.ReadAll(p.Stdout())
	told, _ := io.ReadAll(p.Stderr())
	if exit := p.Wait(); exit.Code != 7 || string(out) != "value hello\n" || string(told) != "told\n" {
		t.Errorf("exit %+v, stdout %q, stderr %q", exit, out, told)
	}
	if err := p.Signal(syscall.SIGTERM); err == nil {
		t.Error("a process that has ended took a signal")
	}
}

func TestOutputIsKeptUntilItIsRead(t *testing.T) {
	p := spawn(t, `echo last words`)
	p.Wait()
	if out, err := io.ReadAll(p.Stdout()); string(out) != "last words\n" || err != nil {
		t.Errorf("%q, %v", out, err)
	}
}

func TestSignalReachesTheGroup(t *testing.T) {
	p := spawn(t, `sleep 1000 & echo up; wait`)
	line, err := bufio.NewReader(p.Stdout()).ReadString('\n')
	if err != nil || line != "up\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if err := p.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if exit := p.Wait(); exit.Code != 137 {
		t.Errorf("%+v", exit)
	}
}

// A daemon in a session of its own is ended with the process that started it.
func TestNothingIsLeftBehind(t *testing.T) {
	p := spawn(t, `setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo $!`)
	pid, err := bufio.NewReader(p.Stdout()).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	p.Wait()
	if data, err := os.ReadFile("/proc/" + strings.TrimSpace(pid) + "/cmdline"); err == nil && strings.Contains(string(data), "sleep") {
		t.Errorf("process %s runs on: %q", strings.TrimSpace(pid), data)
	}
}

// Two processes of one agent do not end each other.
func TestOthersStay(t *testing.T) {
	stays := spawn(t, `echo up; cat`)
	if line, err := bufio.NewReader(stays.Stdout()).ReadString('\n'); err != nil || line != "up\n" {
		t.Fatalf("%q, %v", line, err)
	}
	spawn(t, `true`).Wait()
	stays.Stdin().Close()
	if exit := stays.Wait(); exit.Code != 0 {
		t.Errorf("%+v", exit)
	}
}

// What a killed den left is found by the next one.
func TestClean(t *testing.T) {
	s := local.Spawner{Mark: t.Name()}
	left := exec.Command("sleep", "1000")
	left.Env = append(os.Environ(), "DEN_RUNNER_MARK="+t.Name())
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
}

func TestCannotStart(t *testing.T) {
	_, err := local.Spawner{Mark: t.Name()}.Spawn(t.Context(), runner.Command{Argv: []string{"/nonexistent/agent"}})
	if fault.KindOf(err) != fault.NotFound {
		t.Errorf("%v", err)
	}
	if _, err := (local.Spawner{}).Spawn(t.Context(), runner.Command{}); fault.KindOf(err) != fault.Usage {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (local.Spawner{}).Spawn(ctx, runner.Command{Argv: []string{"true"}}); err == nil {
		t.Error("started although cancelled")
	}
}
