package main

import (
	"os"
	"time"
)

// server is one that is started, asked something, watched until it logs the
// job's end, and stopped.
var server = task{
	name: "server", about: "a server and its log line", needs: []string{"python3", "curl"},
	lay: func(g *ground) (map[string]string, error) {
		return map[string]string{"job": g.key, "exit code": "7"}, nil
	},
	done: func(g *ground) map[string]bool {
		_, err := os.Stat(g.path("asked"))
		return map[string]bool{"request": err == nil}
	},
	cli: func(a *agent) {
		port := a.port(a.sh(`den new work ./server.py && den wait work --regex 'listening on \d+' -j`))
		a.learns("job", `job (\d+) finished`, a.sh(`curl -s 127.0.0.1:`+port+`/; den wait work --regex 'job \d+ finished' -j`))
		a.learns("exit code", `"exit_code":(\d+)`, a.sh(`den keys work C-c && den wait work --exit -j`))
	},
	mcp: func(a *agent) {
		a.use("open", arguments{"name": "server", "command": []string{"./server.py"}})
		port := a.port(a.use("wait", arguments{"session": "server", "regex": `listening on \d+`}))
		a.use("run", arguments{"code": "curl -s 127.0.0.1:" + port + "/"})
		a.learns("job", `job (\d+) finished`, a.use("wait", arguments{"session": "server", "regex": `job \d+ finished`}))
		a.use("keys", arguments{"session": "server", "keys": []string{"C-c"}})
		a.learns("exit code", `exit code (\d+)`, a.use("wait", arguments{"session": "server", "exit": true}))
	},
	tmux: func(a *agent) {
		port := a.port(a.sh(`tmux new-session -d -s t; tmux send-keys -t t './server.py; echo exit=$?' Enter; look t 'listening on [0-9]'`))
		a.learns("job", `job (\d+) finished`, a.sh(`curl -s 127.0.0.1:`+port+`/; look t 'job [0-9]+ finished'`))
		a.learns("exit code", `exit=(\d+)`, a.sh(`tmux send-keys -t t C-c; look t 'exit=[0-9]'`))
	},
	commander: func(a *agent) {
		pid, first := a.start("./server.py", commanderPatience)
		port := a.port(first)
		a.ends("curl -s 127.0.0.1:" + port + "/")
		look := func() string {
			a.pause(time.Second)
			return a.last(pid, 5)
		}
		a.learns("job", `job (\d+) finished`, a.again("finished", look(), look))
		a.use("force_terminate", arguments{"pid": pid})
		a.pause(time.Second)
		a.learns("exit code", `exit code (\d+)`, a.last(pid, 5))
	},
}

// port is what the server listens on.
func (a *agent) port(answer string) string {
	a.needs("listening on", answer)
	a.learns("port", `listening on (\d+)`, answer)
	return a.learned["port"]
}
