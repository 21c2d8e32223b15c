package main

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
