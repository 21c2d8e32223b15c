package main

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
)

// replCode is what the agent gives to Python first: it takes a while.
const replCode = `import time
def total(path):
    return sum(int(line) for line in open(path))
time.sleep(1.2)
print(total('numbers'))`

// repl is a function that is defined, used and used wrongly in Python.
var repl = task{
	name: "repl", about: "a Python REPL", needs: []string{"python3"},
	lay: func(g *ground) (map[string]string, error) {
		sum, numbers := 0, g.key+"\n"
		for i := range 5 {
			sum += i
			numbers += fmt.Sprintln(i)
		}
		var key int
		if _, err := fmt.Sscan(g.key, &key); err != nil {
			return nil, err
		}
		return map[string]string{"sum": fmt.Sprint(sum + key), "exception": "FileNotFoundError"}, g.write("numbers", numbers)
	},
	cli: func(a *agent) {
		a.learns("sum", `"output":"(\d+)"`, a.sh(`den new work python3 -q && den run work "`+replCode+`" -j`))
		a.learns("exception", `([A-Z]\w*Error):`, a.sh(`den run work "total('nothing')" -j`))
	},
	mcp: func(a *agent) {
		a.use("open", arguments{"name": "py", "command": []string{"python3", "-q"}})
		a.learns("sum", `(?m)^(\d+)$`, a.use("run", arguments{"session": "py", "code": replCode}))
		a.learns("exception", `([A-Z]\w*Error):`, a.use("run", arguments{"session": "py", "code": "total('nothing')"}))
	},
	tmux: func(a *agent) {
		a.learns("sum", `(?m)^(\d+)$`, a.sh(`tmux new-session -d -s t python3 -q; tmux send-keys -t t 'import time' Enter 'def total(path):' Enter `+
			`'    return sum(int(line) for line in open(path))' Enter Enter 'time.sleep(1.2); print(total("numbers"))' Enter; look t '^[0-9]'`))
		a.learns("exception", `([A-Z]\w*Error):`, a.sh(`tmux send-keys -t t "total('nothing')" Enter; look t Error:`))
	},
	commander: func(a *agent) {
		pid, _ := a.start("python3 -i -q", 5000)
		// An answer comes at the first prompt: what takes a while is sent by itself.
		a.enters(pid, "import time\ndef total(path):\n    return sum(int(line) for line in open(path))\n\n")
		a.learns("sum", `(?m)^(\d+)$`, a.enters(pid, "time.sleep(1.2); print(total('numbers'))"))
		a.learns("exception", `([A-Z]\w*Error):`, a.enters(pid, "total('nothing')"))
	},
}

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

// installer is a program that asks three things and ends with a code of its
// own. What it asks is not known before.
var installer = task{
	name: "installer", about: "an installer with three questions",
	lay: func(g *ground) (map[string]string, error) {
		return map[string]string{"name": g.key, "exit code": "4"}, nil
	},
	done: func(g *ground) map[string]bool {
		return map[string]bool{"answers": g.read("answers") == "/srv/widget 9000 y\n"}
	},
	cli: func(a *agent) {
		a.needs("Install directory", a.sh(`den new work && den run work ./install.sh -j`))
		a.needs("Port", a.sh(`den answer work /srv/widget -j`))
		a.needs("Start it now?", a.sh(`den answer work 9000 -j`))
		end := a.sh(`den answer work y -j`)
		a.learns("exit code", `"exit_code":(\d+)`, end)
		a.learns("name", `installed as widget-(\d+)`, end)
	},
	mcp: func(a *agent) {
		a.needs("Install directory", a.use("run", arguments{"code": "./install.sh"}))
		a.needs("Port", a.use("answer", arguments{"text": "/srv/widget"}))
		a.needs("Start it now?", a.use("answer", arguments{"text": "9000"}))
		end := a.use("answer", arguments{"text": "y"})
		a.learns("exit code", `\[exit code (\d+)`, end)
		a.learns("name", `installed as widget-(\d+)`, end)
	},
	tmux: func(a *agent) {
		look := func() string { return a.sh(`look t`) }
		a.again("Install directory", a.sh(`tmux new-session -d -s t; tmux send-keys -t t './install.sh; echo exit=$?' Enter; look t`), look)
		a.again("Port", a.sh(`tmux send-keys -t t /srv/widget Enter; look t`), look)
		a.again("Start it now?", a.sh(`tmux send-keys -t t 9000 Enter; look t`), look)
		end := a.sh(`tmux send-keys -t t y Enter; look t 'exit=[0-9]'`)
		a.learns("exit code", `exit=(\d+)`, end)
		a.learns("name", `installed as widget-(\d+)`, end)
	},
	commander: func(a *agent) {
		pid, first := a.start(withTerminal(`./install.sh; echo exit=$?`), commanderPatience)
		look := func() string { return a.last(pid, 5) }
		a.again("Install directory", first, look)
		a.again("Port", a.enters(pid, "/srv/widget"), look)
		a.again("Start it now?", a.enters(pid, "9000"), look)
		end := a.enters(pid, "y")
		a.learns("exit code", `exit=(\d+)`, end)
		a.learns("name", `installed as widget-(\d+)`, end)
	},
}

// menuEntries is what the menu has, in an order that is not known before.
var menuEntries = []string{"production", "staging", "canary", "preview", "archive", "backup"}

// menu is a menu of a full-screen program: an entry is chosen by its place, and
// confirmed.
var menu = task{
	name: "menu", about: "a menu on a full screen (curses)", needs: []string{"python3"},
	lay: func(g *ground) (map[string]string, error) {
		order := slices.Clone(menuEntries)
		rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		return map[string]string{"deployment": g.key, "exit code": "6"}, g.write("entries", strings.Join(order, "\n"))
	},
	done: func(g *ground) map[string]bool {
		return map[string]bool{"target": g.read("deployed") == "staging"}
	},
	cli: func(a *agent) {
		place := a.place(a.sh(`den new work && den run work ./menu.py -j`))
		a.needs("yes", a.sh(fmt.Sprintf(`den answer work --keys %s Enter -j`, strings.Repeat("Down ", place))))
		end := a.sh(`den answer work --keys Down Enter -j`)
		a.learns("exit code", `"exit_code":(\d+)`, end)
		a.learns("deployment", `staging as (\d+)`, end)
	},
	mcp: func(a *agent) {
		place := a.place(a.use("run", arguments{"code": "./menu.py"}))
		a.needs("yes", a.use("answer", arguments{"keys": append(slices.Repeat([]string{"Down"}, place), "Enter")}))
		end := a.use("answer", arguments{"keys": []string{"Down", "Enter"}})
		a.learns("exit code", `\[exit code (\d+)`, end)
		a.learns("deployment", `staging as (\d+)`, end)
	},
	tmux: func(a *agent) {
		look := func() string { return a.sh(`look t`) }
		place := a.place(a.again("Deploy where?", a.sh(`tmux new-session -d -s t; tmux send-keys -t t './menu.py; echo exit=$?' Enter; look t`), look))
		a.again("yes", a.sh(fmt.Sprintf(`tmux send-keys -t t %s Enter; look t`, strings.Repeat("Down ", place))), look)
		end := a.sh(`tmux send-keys -t t Down Enter; look t 'exit=[0-9]'`)
		a.learns("exit code", `exit=(\d+)`, end)
		a.learns("deployment", `staging as (\d+)`, end)
	},
	// The screen comes as the bytes that draw it, and keys are sent as those of
	// an xterm. Enter is behind every input.
	commander: func(a *agent) {
		pid, first := a.start(withTerminal(`./menu.py; echo exit=$?`), commanderPatience)
		look := func() string { return a.last(pid, 20) }
		place := a.place(a.again("Deploy where?", first, look))
		a.again("yes", a.enters(pid, strings.Repeat("\x1bOB", place)), look)
		end := a.again("exit=", a.enters(pid, "\x1bOB"), look)
		a.learns("exit code", `exit=(\d+)`, end)
		a.learns("deployment", `staging as (\d+)`, end)
	},
}

// place is how many entries are above the one that is wanted, as a screen shows
// them.
func (a *agent) place(screen string) int {
	shown := regexp.MustCompile(strings.Join(menuEntries, "|")).FindAllString(a.needs("staging", screen), -1)
	return max(0, slices.Index(shown, "staging"))
}
