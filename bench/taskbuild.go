package main

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
