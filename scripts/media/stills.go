package main

import (
	"path/filepath"
	"strings"
	"time"

	"den/internal/testkit/modelstub/realcli"
)

// takeStills takes the pictures of the editor and of both dashboards, while
// coder asks for something and others have ended their work.
func (c *cast) takeStills(s *studio) {
	c.do("screenshot", "editor", "--frame", "--cursor", "--scale", "2", "-o", filepath.Join(s.out, "editor.png"))
	c.do("run", "tests", "go test ./...", "-t", patience)
	c.until(func() bool { return c.agent("ui").State == "ready" })
	c.do("agent", "nudge", "coder", tagTask, "-t", patience)
	c.until(func() bool { return strings.Contains(c.do("attention"), "v1.4.0") })
	c.takeDashboard(s)

	c.do("seen", c.session("ui"))
	p := c.watch(s, 8, 1400, 1236, 2)
	p.until(`document.querySelector('.request[data-state="open"]') && document.getElementById("attention").dataset.armed === "yes"`)
	for theme, name := range map[string]string{"dark": "web.png", "light": "web-light.png"} {
		s.check(p.page.Prefer(s.ctx, theme))
		p.until(`document.documentElement.dataset.theme === "` + theme + `"`)
		time.Sleep(time.Second) // screens are drawn anew
		s.frame(name, p, theme)
	}
}

// takeDashboard takes the picture of the dashboard in a terminal.
func (c *cast) takeDashboard(s *studio) {
	c.sight("dashboard", "120", "30", c.den, "dashboard", c.session("ui"), "-f", filepath.Join(c.shop, "den.toml"))
	c.camera("wait", "dashboard", "--text", "Pay now", "--stable", "1s", "-t", patience)
	s.save("dashboard.png", c.picture("dashboard", "--frame", "--scale", "2"))
}

// takeTeam takes the picture of a talk with two agents, in irssi. They are of a
// workspace of their own.
func (c *cast) takeTeam(s *studio) {
	place := *c.world
	place.shop = c.in("team")
	c = &cast{world: &place, stub: c.stub}
	c.write("team/den.toml", teamFile+variables(realcli.Claude(c.host, c.stub)))
	c.write("team/ci.sh", "cat >/dev/null # whatever it is asked\ncd ../shop && go test ./... | tr -s '\\t ' ' '\n")
	c.finally(c.env, c.den, "down")
	c.do("up", "--wait", "-t", patience)
	c.write(".irssi/config", irssiConfig)
	c.sight("irssi", "84", "18", "irssi", "--home="+c.in(".irssi"), "-c", c.socket())
	c.camera("wait", "irssi", "--text", "Mode change [+i]", "-t", patience)
	for _, talk := range []struct{ says, answer string }{
		{"/join #general", "Join to #general was synced"},
		{"@ci run the tests", "ok shop/cart"},
		{"@coder what was wrong with the cart?", "counts the quantity"},
		{"@coder thanks!", "You are welcome"},
	} {
		c.camera("type", "irssi", "--enter", "--", talk.says)
		c.camera("wait", "irssi", "--text", talk.answer, "-t", patience)
	}
	s.save("team.png", c.picture("irssi", "--frame", "--scale", "2"))
}

// socket is that of the workspace's chat server.
func (c *cast) socket() string {
	_, at, found := strings.Cut(c.do("ps", "-j"), `"socket":"`)
	if !found {
		c.Fatal("the workspace has no chat server")
	}
	at, _, _ = strings.Cut(at, `"`)
	return at
}

const teamFile = `[workspace]
name = "team"
[[agents]]
name = "coder"
agent = "claude"
channels = ["#general"]
[[agents]]
name = "ci"
agent = "script"
start_command = "sh ci.sh"
channels = ["#general"]
[defaults.env]
`

const irssiConfig = `settings = { core = { nick = "ada"; user_name = "ada"; real_name = "Ada"; }; };
`
