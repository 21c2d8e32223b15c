package main

import (
	"fmt"
	"strconv"
)

// How an agent uses Desktop Commander. It has no terminal, so programs that
// want one are started by script(1), which makes one for them.

// withTerminal is a command line that runs another one in a terminal.
func withTerminal(line string) string { return "script -qefc '" + line + "' /dev/null" }

// start starts a command line and returns its process.
func (a *agent) start(line string, patienceMS int) (pid int, answer string) {
	answer = a.use("start_process", arguments{"command": line, "timeout_ms": patienceMS})
	if a.stuck != nil {
		return 0, ""
	}
	found := pidIn.FindStringSubmatch(answer)
	if found == nil {
		a.stuck = fmt.Errorf("no process in %q", answer)
		return 0, ""
	}
	pid, a.stuck = strconv.Atoi(found[1])
	return pid, answer
}

// ends runs a command line to its end.
func (a *agent) ends(line string) string {
	_, answer := a.start(line, 60_000)
	return answer
}

// enters types a line. Where no known prompt is printed, the answer comes when
// the patience is over.
func (a *agent) enters(pid int, line string) string {
	return a.use("interact_with_process", arguments{"pid": pid, "input": line, "timeout_ms": commanderPatience})
}

// last reads the last lines of a process, and how it ended.
func (a *agent) last(pid, lines int) string {
	return a.use("read_process_output", arguments{"pid": pid, "offset": -lines})
}
