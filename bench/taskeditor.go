package main

import (
	"fmt"
	"strconv"
	"strings"
)

// editor is a merge conflict of which both sides are kept: in vim, which then
// also asks for the commit's message.
var editor = task{
	name: "editor", about: "a merge conflict, in vim", needs: []string{"git", "vim"},
	lay: func(g *ground) (map[string]string, error) { return map[string]string{"exit code": "0"}, layConflict(g) },
	done: func(g *ground) map[string]bool {
		// Two parents, and nothing left to commit.
		log, lerr := g.run("git", "log", "-1", "--format=%p")
		status, serr := g.run("git", "status", "--porcelain", "--untracked-files=no")
		return map[string]bool{
			"both sides": g.read("colours.txt") == "red\ndark green\nlight green\nblue\n",
			"commit":     lerr == nil && serr == nil && len(strings.Fields(log)) == 2 && status == "",
		}
	},
	cli: func(a *agent) {
		a.needs("<<<<<<<", a.sh(`den new work && den run work 'git merge feature; vim colours.txt && git commit -a' -j`))
		a.needs("light green", a.sh(`den answer work ':g/^[<=>]\{7\}/d' -j`))
		a.needs("Merge branch", a.sh(`den answer work ':wq' -j`))
		a.learns("exit code", `"exit_code":(\d+)`, a.sh(`den answer work ':wq' -j`))
	},
	mcp: func(a *agent) {
		a.needs("<<<<<<<", a.use("run", arguments{"code": "git merge feature; vim colours.txt && git commit -a"}))
		a.needs("light green", a.use("answer", arguments{"text": `:g/^[<=>]\{7\}/d`}))
		a.needs("Merge branch", a.use("answer", arguments{"text": ":wq"}))
		a.learns("exit code", `\[exit code (\d+)`, a.use("answer", arguments{"text": ":wq"}))
	},
	tmux: func(a *agent) {
		look := func() string { return a.sh(`look t`) }
		a.again("<<<<<<<", a.sh(`tmux new-session -d -s t; tmux send-keys -t t 'git merge feature; vim colours.txt && git commit -a; echo exit=$?' Enter; look t`), look)
		a.needs("light green", a.sh(`tmux send-keys -t t ':g/^[<=>]\{7\}/d' Enter; look t`))
		a.again("Merge branch", a.sh(`tmux send-keys -t t :wq Enter; look t`), look)
		a.learns("exit code", `exit=(\d+)`, a.sh(`tmux send-keys -t t :wq Enter; look t 'exit=[0-9]'`))
	},
	// Without a screen to look at, the editor is given its commands with its
	// start.
	commander: func(a *agent) {
		a.needs("<<<<<<<", a.ends(`git merge feature; cat colours.txt`))
		a.learns("exit code", `exit=(\d+)`, a.ends(`vim -es -c 'g/^[<=>]\{7\}/d' -c wq colours.txt; cat colours.txt; git commit -a --no-edit; echo exit=$?`))
	},
}

// layConflict makes two branches that changed the same line.
func layConflict(g *ground) error {
	commit := func(text, message string) error {
		if err := g.write("colours.txt", text); err != nil {
			return err
		}
		_, err := g.run("git", "commit", "-qam", message)
		return err
	}
	git := func(words ...string) func() error {
		return func() error { _, err := g.run(append([]string{"git"}, words...)...); return err }
	}
	for _, step := range []func() error{
		git("init", "-q", "-b", "main"),
		git("config", "user.name", "agent"),
		git("config", "user.email", "agent@localhost"),
		func() error { return g.write("colours.txt", "") },
		git("add", "colours.txt"),
		func() error { return commit("red\ngreen\nblue\n", "three colours") },
		git("checkout", "-q", "-b", "feature"),
		func() error { return commit("red\nlight green\nblue\n", "light green") },
		git("checkout", "-q", "main"),
		func() error { return commit("red\ndark green\nblue\n", "dark green") },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

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
