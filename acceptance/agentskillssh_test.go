package acceptance

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"den/internal/testkit/servertest"
)

// newFarService makes a service with three faults behind ssh. As a task it is
// to debug it there, and to tell how each run of it ended.
func newFarService(t *testing.T) *farService {
	t.Helper()
	f := &farService{dir: t.TempDir(), ssh: strings.Join(servertest.SSHD(t), " ")}
	f.ssh = strings.Replace(f.ssh, "StrictHostKeyChecking=no", "StrictHostKeyChecking=ask", 1)
	var checks strings.Builder
	codes := rand.Perm(len(faultCodes))
	for i, check := range shuffled("cache", "port", "lock") {
		fmt.Fprintf(&checks, "check_%s || fail %d\n", check, faultCodes[codes[i]])
	}
	t.Logf("its faults:\n%s", checks.String())
	for name, text := range map[string]string{
		"service":      serviceScript + checks.String() + "sleep 2\necho serving\n", // longer than the agent waits
		"repair":       repairScript,
		"service.conf": "name=greeter\nport=eighty\n",
		"lock":         "",
	} {
		writeExecutable(t, filepath.Join(f.dir, name), text)
	}
	return f
}

type farService struct {
	dir string // where it is, on the other side
	ssh string // the client's command line

	doing  string // what the last cell was for
	codes  []string
	polled bool // a cell took longer than it waited
}

// faultCodes are exit codes of the service. Some of them mean something else
// when they are den's own.
var faultCodes = []int{1, 2, 3, 5, 11, 13, 14, 42, 126, 127, 130, 255}

const (
	serviceScript = `#!/bin/sh
cd "$(dirname "$0")" || exit
trap 'echo $? >>runs' EXIT
fail() {
	echo "service: failed; the reason is in service.log" >&2
	exit "$1"
}
reason() {
	echo "$1" >>service.log
	return 1
}
check_cache() { [ -d cache ] || reason "there is no directory named cache"; }
check_port() { grep -q '^port=[0-9][0-9]*$' service.conf || reason "service.conf: port is not a number"; }
check_lock() { [ ! -e lock ] || reason "there is a stale lock; ./repair removes it"; }
`
	repairScript = `#!/bin/sh
printf 'Remove the stale lock? [y/N] '
read -r answer
[ "$answer" = y ] && rm lock
`
)

func (f *farService) prompt() string {
	return "Use the den skill. Log in with: " + f.ssh + " . The program service in " + f.dir +
		" over there does not start. The port is to be 8080. Find out why, repair it, and tell me the exit code of each of its runs."
}

func (f *farService) next(verb string, r denAnswer) move {
	switch {
	case verb == "":
		return use("new", "work", "-j")
	case r.Status == "error":
		return say("den says: %s", r.Output)
	case verb == "new":
		return use("run", "work", f.ssh, "-t", "1m", "-j")
	case verb == "marks":
		return f.run("enter", "cd "+f.dir, "1m")
	case verb == "kill":
		return say("The exit codes are %s.", strings.Join(f.codes, ", "))
	case r.WaitingFor != "":
		return f.answer(r.Question)
	case r.Status == "done" && r.ExitCode != nil:
		return f.after(*r.ExitCode, r.Output)
	}
	f.polled = true
	return use("poll", "work", "-j")
}

func (f *farService) run(doing, code, timeout string) move {
	f.doing = doing
	return use("run", "work", code, "-t", timeout, "-j")
}

// answer chooses by the question. Of ssh's own there is one, about the host;
// the shell's prompt behind it is none.
func (f *farService) answer(question string) move {
	switch {
	case strings.Contains(question, "yes/no"):
		return use("answer", "work", "yes", "-j")
	case strings.Contains(question, "stale lock? [y/N]"):
		return use("answer", "work", "y", "-j")
	case strings.HasSuffix(question, "$"):
		return use("marks", "work", "-j")
	}
	return say("I cannot answer: %s", question)
}

// after decides by how a cell ended.
func (f *farService) after(code int, output string) move {
	switch {
	case f.doing == "start":
		f.codes = append(f.codes, strconv.Itoa(code))
		if code == 0 {
			return use("kill", "work", "-j")
		}
		return f.run("read", "tail -n 1 service.log", "1m")
	case code != 0:
		return say("To %s failed with exit code %d: %s", f.doing, code, output)
	case f.doing == "read":
		return f.repair(output)
	}
	return f.run("start", "./service", "1s")
}

func (f *farService) repair(reason string) move {
	switch {
	case strings.Contains(reason, "no directory named cache"):
		return f.run("repair", "mkdir cache", "1m")
	case strings.Contains(reason, "port is not a number"):
		return f.run("repair", "sed -i 's/^port=.*/port=8080/' service.conf", "1m")
	case strings.Contains(reason, "./repair removes it"):
		return f.run("repair", "./repair", "1m")
	}
	return say("I do not know what to do about: %s", reason)
}

// expectRuns compares what the agent says with what the service recorded.
func (f *farService) expectRuns(t *testing.T, said string) {
	t.Helper()
	runs, err := os.ReadFile(filepath.Join(f.dir, "runs"))
	if err != nil {
		t.Fatalf("the service did not run: %v", err)
	}
	codes := strings.Fields(string(runs))
	if len(codes) != 4 || codes[3] != "0" {
		t.Errorf("the runs ended with %v", codes)
	}
	if !f.polled {
		t.Error("the last run was not polled")
	}
	if want := "The exit codes are " + strings.Join(codes, ", ") + "."; !strings.Contains(said, want) {
		t.Errorf("the agent says %s; want %s", said, want)
	}
}
