package main

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"den/internal/testkit/modelstub"
	"den/internal/testkit/modelstub/realcli"
)

//go:embed testdata/shop
var shopFiles embed.FS

// cast is who plays: the agents, and what the model says to them.
type cast struct {
	*world
	stub   *modelstub.Server
	pushes chan struct{} // closed when coder may ask to push
}

func newCast(w *world, stub *modelstub.Server) *cast {
	return &cast{world: w, stub: stub, pushes: make(chan struct{})}
}

// What the agents are asked to do.
const (
	fixTask    = "The cart test fails. Fix it and push."
	labelTask  = "Label the checkout button for screen readers."
	reviewTask = "Review the last commit."
	docsTask   = "Write docs/install.md."
	tagTask    = "Tag it as v1.4.0, too."
)

// openShop makes the repository, the workspace's file and the plain sessions,
// and teaches the model its lines. The agents are started by the story.
func (c *cast) openShop() {
	c.check(fs.WalkDir(shopFiles, "testdata/shop", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := shopFiles.ReadFile(path)
		c.write(strings.TrimPrefix(path, "testdata/"), string(text))
		return err
	}))
	c.write("shop/go.mod", "module shop\n\ngo 1.26\n")
	c.write("shop/local.toml", c.local())
	c.run(c.env, "git", "init", "-q", "-b", "main")
	c.write("shop/.git/info/exclude", "den.toml\nlocal.toml\n.den/\n")
	for _, args := range [][]string{
		{"add", "."}, {"commit", "-q", "-m", "cart: give items a quantity"}, {"init", "-q", "--bare", "../git/shop.git"},
		{"remote", "add", "origin", c.in("git/shop.git")}, {"push", "-q", "-u", "origin", "main"}, {"checkout", "-q", "-b", "fix-cart"},
	} {
		c.run(c.env, append([]string{"git"}, args...)...)
	}
	c.script()

	c.do("new", "server", "--cols", "76", "--rows", "22", "python3", "-u", "serve.py")
	c.do("new", "tests", "--cols", "76", "--rows", "22", "bash", "--norc")
	c.do("new", "editor", "--cols", "76", "--rows", "22", "vim", "--clean", "-N", "-c", "set number background=dark", "-c", "syntax on", "-c", "colorscheme habamax", "cart/cart.go")
	c.do("new", "repl", "--cols", "76", "--rows", "22", "python3", "-q")
	for _, name := range []string{"server", "tests", "editor", "repl"} {
		c.finally(c.env, c.den, "kill", name)
	}
	c.do("run", "tests", "clear; git log --oneline --color")
	c.do("run", "tests", "go test ./...", "-t", patience)
	for _, code := range []string{"cart = {'tea': (450, 2), 'cup': (900, 1)}", "sum(price * n for price, n in cart.values())", "for name, (price, n) in cart.items():\n    print(f'{n} x {name:<4} {price * n / 100:6.2f}')\n"} {
		c.do("run", "repl", code, "-t", patience)
	}
	c.do("wait", "editor", "--text", "func Total")
	c.do("type", "editor", "/sum +", "--enter")
}

// opencode is told a name for its model: it shows it.
func (c *cast) opencode() *realcli.Home {
	h := realcli.OpenCode(c.host, c.stub)
	const name = ".config/opencode/opencode.json"
	text, err := os.ReadFile(filepath.Join(h.Dir, name))
	c.check(err)
	h.Write(c.host, name, []byte(strings.ReplaceAll(string(text), `"Stub"`, `"Model"`)))
	return h
}

// local is what den.toml includes: how agents are started so that they find
// the stub, and ask for nothing on their screens.
func (c *cast) local() string {
	env := variables(c.opencode(), realcli.Codex(c.host, c.stub, ""), realcli.Claude(c.host, c.stub))
	return "[presets.claude]\napproval = \"edits\"\n[presets.opencode]\napproval = \"bypass\"\n" +
		"[presets.codex]\nstart_command = [\"codex\", \"--ask-for-approval\", \"on-request\", \"--sandbox\", \"workspace-write\"]\n" +
		"[defaults]\nsession_template = \"{{.Workspace}}-{{.Agent}}\"\n[defaults.env]\n" + env
}

// variables are what agents need to find the stub, as a table: the variables
// of all homes, the XDG directories of the first, and HOME of the last.
func variables(homes ...*realcli.Home) string {
	all := map[string]string{}
	for _, h := range homes {
		for _, kv := range h.Env {
			key, value, _ := strings.Cut(kv, "=")
			if _, known := all[key]; !known || !strings.HasPrefix(key, "XDG_") {
				all[key] = value
			}
		}
	}
	for _, kv := range tools() {
		key, value, _ := strings.Cut(kv, "=")
		all[key] = value
	}
	var b strings.Builder
	for key, value := range all {
		fmt.Fprintf(&b, "%s = %q\n", key, value)
	}
	return b.String()
}

// pace is how long the model thinks: steps are told apart on a timeline.
const pace = 1200 * time.Millisecond

// step is a reply that says something and uses a tool.
func (c *cast) step(words, tool string, input map[string]string) modelstub.Reply {
	text, err := json.Marshal(input)
	c.check(err)
	r := modelstub.Reply{Wait: pace, Calls: []modelstub.Call{{Name: tool, Input: text}}}
	if words != "" {
		r.Text = []string{words}
	}
	return r
}

func bash(command, what string) map[string]string {
	return map[string]string{"command": command, "description": what}
}

// script teaches the model what it says to whom.
func (c *cast) script() {
	cart, button := filepath.Join(c.shop, "cart/cart.go"), filepath.Join(c.shop, "web/checkout.html")
	push := c.step("The test passes.", "Bash", bash("git commit -qm 'Count quantities' cart && git push origin fix-cart", "Commit the fix and push the branch"))
	push.Hold = c.pushes
	c.stub.When(hears(fixTask, "Bash"),
		c.step("I run the test first.", "Bash", bash("go test ./cart | head -4", "Run the cart's test")),
		c.step("", "Read", map[string]string{"file_path": cart}),
		c.step("Total leaves out the quantities.", "Edit", map[string]string{"file_path": cart, "old_string": "sum += item.Price\n", "new_string": "sum += item.Price * item.Quantity\n"}),
		c.step("", "Bash", bash("go test ./cart", "Run the cart's test again")),
		push,
		modelstub.Reply{Wait: pace, Text: []string{"Fixed and pushed to fix-cart."}})
	c.stub.When(hears(tagTask, "Bash"),
		c.step("", "Bash", bash("git tag v1.4.0 && git push origin v1.4.0", "Tag the release and push the tag")),
		modelstub.Reply{Text: []string{"v1.4.0 is tagged and pushed."}})
	c.stub.When(hears(labelTask, "Edit"),
		c.step("I look at the page first.", "Read", map[string]string{"file_path": button}),
		c.step("The button has an icon and no words.", "Edit", map[string]string{"file_path": button, "old_string": `<button type="submit">`, "new_string": `<button type="submit" aria-label="Pay now">`}),
		modelstub.Reply{Wait: pace, Text: strings.SplitAfter(labelText, " "), Gap: 2 * pace}) // it is busy while the film is made
	c.stub.When(modelstub.All(modelstub.Is(reviewTask), modelstub.Offers("exec")), modelstub.Reply{Text: []string{reviewText}})
	c.stub.When(modelstub.All(modelstub.Is(docsTask), modelstub.Offers("write")),
		c.step("", "write", map[string]string{"filePath": filepath.Join(c.shop, "docs/install.md"), "content": installText}),
		modelstub.Reply{Text: []string{"`docs/install.md` has the **three steps**: clone, build, serve."}})
	c.stub.When(modelstub.Contains("what was wrong"), modelstub.Say("Total added each price once. Now it counts the quantity."))
	c.stub.When(modelstub.Contains("thanks"), modelstub.Say("You are welcome. v1.4.0 is tagged, too."))
	c.stub.Always(modelstub.Any, modelstub.Say("Work on the shop")) // titles of conversations
}

// hears matches what an agent is told, and not what it asks for on the side.
func hears(text, tool string) modelstub.Match {
	return modelstub.All(modelstub.Contains(text), modelstub.Offers(tool))
}

const reviewText = "Carts now have **quantities**, but `Total` does not use them:\n\n" +
	"```go\nfor _, item := range items {\n\tsum += item.Price\n}\n```\n\n" +
	"1. `cart.go`: two cups cost as much as one\n2. `cart_test.go` finds it: want 1800, got 1350\n\nEverything else looks good."

const labelText = "The button now says **Pay now** to screen readers. I looked at the other forms, too: " +
	"the search has a label, the newsletter has one, and the login names both of its fields. " +
	"Nothing else on these pages is without words. The new label is in English only, as all others are; " +
	"once the shop has a second language, it belongs among the texts that are translated."

const installText = `# Install

1. git clone https://example.com/shop
2. go build ./...
3. ./shop --listen :8080
`
