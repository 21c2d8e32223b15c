package main

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
)

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
