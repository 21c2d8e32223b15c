package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// agent does a task once, with one tool. It makes calls and reads what they
// return, and pays for both. A script is a function that uses one; once the
// agent is stuck, its methods do nothing.
type agent struct {
	ctx  context.Context // ends with the task's time
	env  []string
	dir  string     // of the task's files
	mcp  *mcpClient // or nil: the tool is a command line
	paid price

	learned    map[string]string
	stuck      error // why it could not go on; or nil
	transcript strings.Builder
}

// price is what an agent pays for a task.
type price struct {
	calls   int
	read    int // bytes that the calls returned
	written int // bytes of the calls themselves
	took    time.Duration
}

// sh runs a command line, as the shell tool of a coding agent does: the answer
// is what it printed, and its exit code unless that is 0.
func (a *agent) sh(line string) string {
	if a.stuck != nil {
		return ""
	}
	cmd := exec.CommandContext(a.ctx, "/bin/sh", "-c", line)
	cmd.Env, cmd.Dir = a.env, a.dir
	cmd.WaitDelay = time.Second // for what it left running, and should not have
	begun := time.Now()
	out, err := cmd.CombinedOutput()
	took := time.Since(begun)
	answer := string(out)
	var exit *exec.ExitError
	switch {
	case a.ctx.Err() != nil:
		a.stuck = a.ctx.Err()
	case errors.As(err, &exit):
		answer += fmt.Sprintf("[exit code %d]\n", exit.ExitCode())
	case err != nil:
		a.stuck = err
	}
	a.pay(line, answer, took)
	return answer
}

// arguments are those of a tool of an MCP server.
type arguments map[string]any

// use calls a tool of the MCP server. What the tool refuses is an answer, too.
func (a *agent) use(tool string, given arguments) string {
	if a.stuck != nil {
		return ""
	}
	stop := context.AfterFunc(a.ctx, func() { a.mcp.cmd.Process.Kill() }) // Best effort: the call returns when it has ended.
	defer stop()
	answer, ms, err := a.mcp.call(tool, given)
	if err != nil && answer == "" {
		a.stuck = err
	}
	a.pay(tool+" "+string(must(json.Marshal(given))), answer, time.Duration(ms*float64(time.Millisecond)))
	return answer
}

// pause is an agent that waits before it looks again.
func (a *agent) pause(d time.Duration) {
	if a.stuck == nil {
		time.Sleep(d)
		a.paid.took += d
	}
}

func (a *agent) pay(call, answer string, took time.Duration) {
	a.paid.calls++
	a.paid.written += len(call)
	a.paid.read += len(answer)
	a.paid.took += took
	fmt.Fprintf(&a.transcript, "--> %s\n<-- %.2f s, %d bytes\n%s\n", call, took.Seconds(), len(answer), strings.TrimRight(answer, "\n"))
}

// needs has an agent stop whose answer lacks what its script expects, and
// returns the answer.
func (a *agent) needs(words, answer string) string {
	if a.stuck == nil && !strings.Contains(answer, words) {
		a.stuck = fmt.Errorf("no %q in %q", words, answer)
	}
	return answer
}

// again looks until an answer has what the script expects, as an agent does that
// looked too early.
func (a *agent) again(words, answer string, look func() string) string {
	const most = 20
	for range most {
		if a.stuck != nil || strings.Contains(answer, words) {
			break
		}
		answer = look()
	}
	return a.needs(words, answer)
}

// learns notes what an answer says: the group of the last match.
func (a *agent) learns(fact, pattern, answer string) {
	if all := regexp.MustCompile(pattern).FindAllStringSubmatch(answer, -1); a.stuck == nil && len(all) > 0 {
		a.learned[fact] = all[len(all)-1][1]
	}
}
