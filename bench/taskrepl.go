package main

import "fmt"

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
