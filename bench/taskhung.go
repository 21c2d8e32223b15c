package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// hung is a command that never ends. The agent has three seconds of patience.
var hung = task{
	name: "hung", about: "a hung command",
	lay: func(g *ground) (map[string]string, error) {
		g.stop = append(g.stop, func() error {
			for _, pid := range sleepers(g) {
				if p, err := os.FindProcess(pid); err == nil {
					p.Kill() // Best effort: it may have ended meanwhile.
				}
			}
			return nil
		})
		return map[string]string{"state": "running", "exit code": "130"}, nil
	},
	done: func(g *ground) map[string]bool {
		return map[string]bool{"nothing left running": len(sleepers(g)) == 0}
	},
	cli: func(a *agent) {
		a.runsOn(`"status":"timeout"`, a.sh(`den new work && den run work ./sync.sh -t 3 -j`))
		a.learns("exit code", `"exit_code":(\d+)`, a.sh(`den int work -j`))
	},
	mcp: func(a *agent) {
		a.runsOn("still running", a.use("run", arguments{"code": "./sync.sh", "timeout": 3}))
		a.use("keys", arguments{"keys": []string{"C-c"}})
		a.learns("exit code", `\[exit code (\d+)`, a.use("wait", arguments{}))
	},
	tmux: func(a *agent) {
		seen := a.sh(`tmux new-session -d -s t; tmux send-keys -t t './sync.sh; echo exit=$?' Enter; look t 'exit=[0-9]' 3`)
		a.runsOn("connecting", seen)
		// Ctrl-C ends the whole line: the code is asked for by another one.
		a.learns("exit code", `exit=(\d+)`, a.sh(`tmux send-keys -t t C-c; tmux send-keys -t t 'echo exit=$?' Enter; look t 'exit=[0-9]'`))
	},
	commander: func(a *agent) {
		pid, seen := a.start("./sync.sh", 3000)
		a.runsOn("Process is running", seen)
		a.use("force_terminate", arguments{"pid": pid})
		a.pause(2 * time.Second) // it kills after one
		a.learns("exit code", `exit code (\d+)`, a.last(pid, 5))
	},
}

// runsOn notes that the command is said to be running.
func (a *agent) runsOn(words, answer string) {
	if a.needs(words, answer); a.stuck == nil {
		a.learned["state"] = "running"
	}
}

// sleepers are the processes of the hung command that run.
func sleepers(g *ground) []int {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil // the pattern is ours
	}
	var pids []int
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(raw, []byte("1000."+g.key)) {
			continue // it ended, or is another one
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
