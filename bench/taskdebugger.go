package main

// debugger is a program that is stopped at a function, looked into, and let go.
// Which variables the function has is not known before.
var debugger = task{
	name: "debugger", about: "a debugger (gdb)", needs: []string{"gdb", "gcc"},
	lay: func(g *ground) (map[string]string, error) {
		_, err := g.run("gcc", "-g", "-O0", "-o", "weigh", "weigh.c")
		return map[string]string{"weight": g.key, "exit code": "03"}, err // gdb writes it in octal
	},
	cli: func(a *agent) {
		a.needs("weights=", a.sh("den new work gdb -q ./weigh && den run work 'break weigh\nrun' -j"))
		end := a.sh("den run work 'print weights[1]\ncontinue' -j")
		a.learns("weight", `\$1 = (\d+)`, end)
		a.learns("exit code", `exited with code (\d+)`, end)
	},
	mcp: func(a *agent) {
		a.use("open", arguments{"name": "gdb", "command": []string{"gdb", "-q", "./weigh"}})
		a.needs("weights=", a.use("run", arguments{"session": "gdb", "code": "break weigh\nrun"}))
		end := a.use("run", arguments{"session": "gdb", "code": "print weights[1]\ncontinue"})
		a.learns("weight", `\$1 = (\d+)`, end)
		a.learns("exit code", `exited with code (\d+)`, end)
	},
	tmux: func(a *agent) {
		look := func() string { return a.sh(`look t`) }
		a.again("weights=", a.sh(`tmux new-session -d -s t gdb -q ./weigh; tmux send-keys -t t 'break weigh' Enter run Enter; look t 'Breakpoint 1, '`), look)
		end := a.sh(`tmux send-keys -t t 'print weights[1]' Enter continue Enter; look t 'exited .*]'`)
		a.learns("weight", `\$1 = (\d+)`, end)
		a.learns("exit code", `exited with code (\d+)`, end)
	},
	commander: func(a *agent) {
		pid, _ := a.start("gdb -q ./weigh", commanderPatience)
		a.needs("weights=", a.enters(pid, "break weigh\nrun"))
		end := a.enters(pid, "print weights[1]\ncontinue")
		a.learns("weight", `\$1 = (\d+)`, end)
		a.learns("exit code", `exited with code (\d+)`, end)
	},
}
