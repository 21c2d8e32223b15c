package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// slowStart is a workspace of one agent whose start can be held at each of its
// stages: the stage's command waits until somebody opens its pipe.
type slowStart struct {
	*chaos
	hold string // the stage that waits
}

// newSlowStart makes the workspace. The stages leave their names in a file;
// the one called hold waits for its pipe.
func newSlowStart(t *testing.T, kind, hold string) *slowStart {
	t.Helper()
	c := &slowStart{chaos: newChaos(t, kind, 0), hold: hold}
	if err := syscall.Mkfifo(filepath.Join(c.traces, "gate"), 0o600); err != nil {
		t.Fatal(err)
	}
	stage := func(name string) string {
		wait := ""
		if name == hold {
			wait = fmt.Sprintf("; echo %s >>%[2]s/reached; test -e %[2]s/open || cat %[2]s/gate; echo %[1]s >>%[2]s/passed", name, c.traces)
		}
		return fmt.Sprintf("echo %s >>%s/stages%s", name, c.traces, wait)
	}
	script := filepath.Join(c.dir, "script.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"+stage("script")+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	command := fmt.Sprintf("[%q, \"a0\", %q]", filepath.Join(c.dir, "agent.sh"), c.traces)
	if hold == "ready" { // it never waits for its terminal
		command = fmt.Sprintf("[\"sh\", \"-c\", 'tail -f /dev/null | \"$0\" a0 \"$1\"', %q, %q]", filepath.Join(c.dir, "agent.sh"), c.traces)
	}
	config := fmt.Sprintf("[workspace]\nname = \"slow\"\n[session]\nprovider = %q\n[[agents]]\nname = \"a0\"\nstart_command = %s\nstartup_timeout = \"5m\"\n"+
		"pre_start = [%q]\nsession_setup = [%q]\nsession_setup_script = %q\nnudge = \"first words\"\n",
		kind, command, stage("pre"), stage("setup"), script)
	if kind != "subprocess" {
		prompt := "ready>"
		if hold == "ready" {
			prompt = "never shown>"
		}
		config += fmt.Sprintf("ready_prompt_prefix = %q\n", prompt)
	}
	if err := os.WriteFile(filepath.Join(c.dir, "den.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return c
}

// awaitHold returns when the start waits at the stage.
func (c *slowStart) awaitHold() {
	c.t.Helper()
	if c.hold == "ready" {
		for len(c.agentsRunning()) == 0 {
			time.Sleep(5 * time.Millisecond)
		}
		return
	}
	for c.lines("reached") == "" {
		time.Sleep(5 * time.Millisecond)
	}
}

// open lets all stages pass from now on.
func (c *slowStart) open() {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.traces, "open"), nil, 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// release lets the stage that waits go on, and all others.
func (c *slowStart) release() {
	c.t.Helper()
	c.open()
	gate, err := os.OpenFile(filepath.Join(c.traces, "gate"), os.O_WRONLY, 0)
	if err == nil {
		err = gate.Close()
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// lines are what stands in a file of the traces, in one line.
func (c *slowStart) lines(file string) string {
	raw, err := os.ReadFile(filepath.Join(c.traces, file))
	if err != nil {
		return ""
	}
	return strings.Join(strings.Fields(string(raw)), " ")
}

// A keeper that is killed in the middle of a start is followed by one that
// finishes it, or begins it anew: every stage is done in the end, the agent
// runs once and hears its first words once.
func TestStartCutOffIsFinished(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, kind string) {
		for hold, want := range map[string]string{
			"pre":    "pre pre setup script",
			"setup":  "pre setup pre setup script", // it was among the user's commands: begun anew
			"script": "pre setup script pre setup script",
		} {
			t.Run(hold, func(t *testing.T) {
				c := newSlowStart(t, kind, hold)
				c.must("up", "-t", "60s")
				c.awaitHold()
				c.killKeeper()
				c.open()
				c.must("up", "--wait", "-t", "60s")
				c.mustRun(1)
				if got := c.lines("stages"); got != want {
					t.Errorf("stages %q, want %q", got, want)
				}
				for c.lines("a0.got") == "" {
					time.Sleep(5 * time.Millisecond)
				}
				c.must("down", "-t", "60s")
				if got := c.lines("a0.got"); got != "first words" {
					t.Errorf("it read %q", got)
				}
			})
		}
	})
}

// 'agent stop' and 'down' end a start wherever it is, and leave nothing behind.
// The stage that waits is never let go on, and has more time than the command:
// it can only have been cut off.
func TestStartIsCancelled(t *testing.T) {
	t.Parallel()
	for _, end := range [][]string{{"agent", "stop", "a0", "-t", "4m"}, {"down", "-t", "4m"}} {
		for hold, stages := range map[string]string{"pre": "pre", "ready": "pre", "setup": "pre setup", "script": "pre setup script"} {
			t.Run(end[0]+"/"+hold, func(t *testing.T) {
				c := newSlowStart(t, "native", hold)
				c.must("up", "-t", "60s")
				c.awaitHold()
				c.must(end...)
				c.mustRun(0)
				if got := c.lines("stages"); got != stages || c.lines("passed") != "" {
					t.Errorf("stages %q, want %q; %q went on", got, stages, c.lines("passed"))
				}
				if left := c.waiting(); len(left) > 0 {
					t.Errorf("processes %v of the stage are left", left)
				}
				log := c.must("agent", "logs")
				if strings.Count(log, "agent.start_cancelled a0: it is not wanted any more") != 1 || strings.Contains(log, "start_failed") || strings.Contains(log, "agent.started") {
					t.Errorf("it was not cancelled, or counts as a failure:\n%s", log)
				}
			})
		}
	}
}

// A workspace file that is read again in the middle of a start makes nobody
// type at an agent that is not set up yet.
func TestReloadInStart(t *testing.T) {
	c := newSlowStart(t, "native", "setup")
	c.must("up", "-t", "60s")
	c.awaitHold()
	file := filepath.Join(c.dir, "den.toml")
	config, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, append([]byte("# edited\n"), config...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.must("reload")
	out, errOut, code := c.try("agent", "nudge", "a0", "early", "--id", "n1", "-t", "1s")
	if code == 0 {
		t.Errorf("nudge in a start: exit %d\n%s%s", code, out, errOut)
	}
	c.release()
	c.must("up", "--wait", "-t", "60s")
	c.must("agent", "nudge", "a0", "early", "--id", "n1", "-t", "30s")
	if got := c.lines("a0.got"); strings.Count(got, "early") != 1 {
		t.Errorf("it read %q", got)
	}
}

// The user's set-up commands end with the keeper that ran them, and with all
// that they started: the next keeper begins the start anew, and nothing of the
// first may meet it.
func TestSetupEndsWithItsKeeper(t *testing.T) {
	for _, hold := range []string{"pre", "setup", "script"} {
		t.Run(hold, func(t *testing.T) {
			c := newSlowStart(t, "native", hold)
			c.must("up", "-t", "60s")
			c.awaitHold()
			for len(c.waiting()) == 0 { // its shell has said so, and starts it now; the test's own deadline bounds it
				time.Sleep(5 * time.Millisecond)
			}
			c.killKeeper()
			for left := c.waiting(); len(left) > 0; left = c.waiting() { // the test's own deadline bounds it
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
}

// waiting lists the processes of the stage that waits: a child of its shell
// has the gate in its command line.
func (c *slowStart) waiting() []int {
	c.t.Helper()
	var found []int
	for _, pid := range c.processes("cat") {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && strings.Contains(string(raw), c.traces) {
			found = append(found, pid)
		}
	}
	return found
}
