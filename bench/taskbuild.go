package main

import "strings"

// build is a build of five seconds that fails, with its reason in the middle of
// 1500 lines. No tool needs to show them all.
var build = task{
	name: "build", about: "a long build that fails",
	lay: func(g *ground) (map[string]string, error) {
		return map[string]string{"exit code": "2", "undeclared": g.key}, nil
	},
	cli: func(a *agent) {
		end := a.sh(`den new work && den run work './build.sh >log 2>&1' -t 60 -j; grep error: log`)
		a.learns("exit code", `"exit_code":(\d+)`, end)
		a.learns("undeclared", `'lamp(\d+)'`, end)
	},
	mcp: func(a *agent) {
		end := a.use("run", arguments{"code": "./build.sh >log 2>&1; echo exit=$?; grep error: log", "timeout": 60})
		a.learns("exit code", `exit=(\d+)`, end)
		a.learns("undeclared", `'lamp(\d+)'`, end)
	},
	tmux: func(a *agent) {
		end := a.sh(`tmux new-session -d -s t; tmux send-keys -t t './build.sh >log 2>&1; echo exit=$?' Enter; look t 'exit=[0-9]' 60; grep error: log`)
		a.learns("exit code", `exit=(\d+)`, end)
		a.learns("undeclared", `'lamp(\d+)'`, end)
	},
	commander: func(a *agent) {
		end := a.ends(`./build.sh >log 2>&1; echo exit=$?; grep error: log`)
		a.learns("exit code", `exit=(\d+)`, end)
		a.learns("undeclared", `'lamp(\d+)'`, end)
	},
}

// failing is a test that fails, whose cause is found and removed.
var failing = task{
	name: "test", about: "a failing test, found and fixed", needs: []string{"python3"},
	lay: func(*ground) (map[string]string, error) {
		return map[string]string{"test": "test_at_the_limit", "exit code before": "1", "exit code after": "0"}, nil
	},
	done: func(g *ground) map[string]bool {
		return map[string]bool{"fixed": strings.Contains(g.read("shop.py"), "amount >= LIMIT")}
	},
	cli: func(a *agent) {
		first := a.sh(`den new work && den run work 'python3 -m unittest' -j`)
		a.learns("test", `FAIL: (\w+)`, first)
		a.learns("exit code before", `"exit_code":(\d+)`, first)
		a.needs("amount > LIMIT", a.sh(`cat shop.py`))
		a.learns("exit code after", `"exit_code":(\d+)`, a.sh(`sed -i 's/amount > LIMIT/amount >= LIMIT/' shop.py && den run work 'python3 -m unittest' -j`))
	},
	mcp: func(a *agent) {
		first := a.use("run", arguments{"code": "python3 -m unittest"})
		a.learns("test", `FAIL: (\w+)`, first)
		a.learns("exit code before", `\[exit code (\d+)`, first)
		a.needs("amount > LIMIT", a.use("run", arguments{"code": "cat shop.py"}))
		end := a.use("run", arguments{"code": "sed -i 's/amount > LIMIT/amount >= LIMIT/' shop.py && python3 -m unittest"})
		a.learns("exit code after", `\[exit code (\d+)`, end)
	},
	tmux: func(a *agent) {
		first := a.sh(`tmux new-session -d -s t; tmux send-keys -t t 'python3 -m unittest; echo exit=$?' Enter; look t 'exit=[0-9]'`)
		a.learns("test", `FAIL: (\w+)`, first)
		a.learns("exit code before", `exit=(\d+)`, first)
		a.needs("amount > LIMIT", a.sh(`cat shop.py`))
		end := a.sh(`sed -i 's/amount > LIMIT/amount >= LIMIT/' shop.py && tmux send-keys -t t 'clear; python3 -m unittest; echo end=$?' Enter; look t 'end=[0-9]'`)
		a.learns("exit code after", `end=(\d+)`, end)
	},
	commander: func(a *agent) {
		first := a.ends(`python3 -m unittest; echo exit=$?`)
		a.learns("test", `FAIL: (\w+)`, first)
		a.learns("exit code before", `exit=(\d+)`, first)
		a.needs("amount > LIMIT", a.ends(`cat shop.py`))
		a.learns("exit code after", `exit=(\d+)`, a.ends(`sed -i 's/amount > LIMIT/amount >= LIMIT/' shop.py && python3 -m unittest; echo exit=$?`))
	},
}
