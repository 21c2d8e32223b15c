package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// story plays it: agents are started, one is given a task, it asks for
// permission, a person sees it on the page and approves it, and goes back to
// what it was all about.
func (f *film) story(c *cast) {
	f.now.Kind, f.now.Title = "terminal", "~/shop"
	f.sight("terminal", "90", "25", "bash", "--norc")
	f.chapter("Agents are listed in a file. Start them, give one a task.")
	f.hold(f.screen(), 300*time.Millisecond)
	f.types("cat den.toml", "opencode")
	f.hold(nil, 2000*time.Millisecond)
	c.finally(c.env, c.den, "down")
	f.types("den up", "the keeper of shop runs")
	f.hold(nil, 700*time.Millisecond)
	c.settle()
	p := c.watch(f.studio, 8, filmWidth, filmHeight, filmScale)
	f.types("den agent nudge coder '"+fixTask+"'", "(?m)^(sent|taken|answered)$")
	f.hold(nil, 1000*time.Millisecond)

	c.until(func() bool { return strings.Contains(c.do("snapshot", c.session("coder")), "ok ") })
	f.now.Kind, f.now.Title = "browser", p.address()
	f.chapter("Watch every session, live, on one page.")
	f.now.Pointer = &pointer{X: filmWidth * 0.62, Y: filmHeight * 0.55}
	f.live(p, 4)
	f.scroll(p, 300)
	f.live(p, 2)
	f.scroll(p, 2000)
	f.live(p, 3)
	p.eval(`document.getElementById("fleet").scrollTop = 0`, nil)
	f.approve(c, p)
	f.follow(c, p)
	f.goBack(p)
}

// screen is the terminal as it is.
func (f *film) screen() []byte {
	f.camera("wait", "terminal", "--stable", "60ms", "-t", patience)
	return f.picture("terminal", "--scale", "1.75", "--cursor=block")
}

// types types a command, a few letters at a time, and waits for its answer.
func (f *film) types(command, answer string) {
	const letters = 3
	for at := 0; at < len(command); at += letters {
		f.camera("type", "terminal", "--", command[at:min(at+letters, len(command))])
		f.hold(f.screen(), 70*time.Millisecond)
	}
	f.hold(nil, 300*time.Millisecond)
	f.camera("keys", "terminal", "Enter")
	f.camera("wait", "terminal", "--regex", answer, "-t", patience)
	f.hold(f.screen(), 200*time.Millisecond)
}

// live shows what happens on a page, as it happens.
func (f *film) live(p *tab, frames int) {
	for range frames {
		f.hold(p.picture(), 400*time.Millisecond)
		time.Sleep(300 * time.Millisecond)
	}
}

// scroll moves the page, in a few steps.
func (f *film) scroll(p *tab, to int) {
	var from float64
	p.eval(`document.getElementById("fleet").scrollTop`, &from)
	p.eval(fmt.Sprintf(`Math.min(%d, document.getElementById("fleet").scrollHeight - document.getElementById("fleet").clientHeight)`, to), &to)
	const steps = 7
	for i := 1; i <= steps; i++ {
		p.eval(fmt.Sprintf(`document.getElementById("fleet").scrollTop = %f`, from+(float64(to)-from)*float64(i)/steps), nil)
		f.hold(p.picture(), 60*time.Millisecond)
	}
}

// approve lets the agent ask, and a person decide.
func (f *film) approve(c *cast, p *tab) {
	close(c.pushes)
	p.until(`document.querySelector('.request[data-state="open"]') && document.getElementById("attention").dataset.armed === "yes"`)
	f.chapter("One agent wants to push. It waits for you.")
	f.hold(p.picture(), 2200*time.Millisecond)
	button := p.middle(".request .approve")
	f.glide(button)
	p.mouse("mouseMoved", button)
	f.chapter("Approve it here: the command runs.")
	f.hold(p.picture(), 500*time.Millisecond)
	f.press()
	p.mouse("mousePressed", button)
	p.mouse("mouseReleased", button)
	p.until(`document.querySelector('.request[data-state="approved"]')`)
	f.hold(p.picture(), 1100*time.Millisecond)
}

// follow opens the agent's session, and shows it to the end of its turn.
func (f *film) follow(c *cast, p *tab) {
	link := p.middle(".request header a")
	f.glide(link)
	f.press()
	p.mouse("mousePressed", link)
	p.mouse("mouseReleased", link)
	p.until(`document.body.dataset.view === "session" && document.getElementById("timeline").width > 300`)
	c.until(func() bool { return strings.Contains(c.do("snapshot", c.session("coder")), "Fixed and pushed") })
	p.until(`document.getElementById("text").innerText.includes("Fixed and pushed")`)
	time.Sleep(time.Second) // the timeline is read again
	f.chapter("The agent goes on and finishes its work.")
	f.hold(p.picture(), 200*time.Millisecond)
	f.glide(pointer{X: filmWidth * 0.86, Y: filmHeight * 0.55})
	f.hold(nil, 1600*time.Millisecond)
}

// goBack drags the timeline to the test that failed, and comes back.
func (f *film) goBack(p *tab) {
	f.chapter("All of it is recorded: drag back to the failing test.")
	var line struct{ Left, Right, Y float64 }
	p.eval(`(r => ({Left: r.left, Right: r.right, Y: r.top + 18}))(document.getElementById("line").getBoundingClientRect())`, &line)
	head := pointer{X: line.Right - 12, Y: line.Y}
	f.glide(head)
	head.Pressed = true
	p.mouse("mousePressed", head)
	for ; head.X > line.Left; head.X -= (line.Right - line.Left) / 24 {
		p.mouse("mouseMoved", head)
		time.Sleep(400 * time.Millisecond) // the screen of that moment is fetched and drawn
		f.now.Pointer = &pointer{X: head.X, Y: head.Y, Pressed: true}
		f.hold(p.picture(), 160*time.Millisecond)
		var text string
		p.eval(`document.getElementById("text").innerText`, &text)
		if strings.Contains(text, "FAIL") && !strings.Contains(text, "* Read") {
			break
		}
	}
	p.mouse("mouseReleased", head)
	f.now.Pointer = &pointer{X: head.X, Y: head.Y}
	failure := pointer{X: line.Left + 330, Y: line.Y - 250}
	p.mouse("mouseMoved", failure)
	f.hold(p.picture(), 60*time.Millisecond)
	f.glide(failure)
	f.hold(nil, 2000*time.Millisecond)
	now := p.middle("#now")
	f.glide(now)
	f.press()
	p.mouse("mousePressed", now)
	p.mouse("mouseReleased", now)
	p.until(`document.body.dataset.time === "now"`)
	f.hold(p.picture(), 2000*time.Millisecond)
}

// settle waits for the agents, and gives all but coder something to do.
func (c *cast) settle() {
	c.do("up", "--wait", "-t", patience)
	for _, name := range []string{"ui", "review", "docs"} {
		c.do("resize", c.session(name), "76", "24")
	}
	for _, work := range []struct{ agent, task, shows string }{
		{"review", reviewTask, "looks good"}, {"docs", docsTask, "three steps"}, {"ui", labelTask, "aria-label"},
	} {
		c.do("agent", "nudge", work.agent, work.task, "-t", patience)
		c.do("wait", c.session(work.agent), "--text", work.shows, "-t", patience)
	}
	// Its recording begins with the task.
	c.do("agent", "restart", "coder", "-t", patience)
	c.until(func() bool { return c.agent("coder").State == "ready" })
	c.do("resize", c.session("coder"), "80", "19")
	c.until(func() bool { // somebody has looked at what is done
		for _, name := range []string{"review", "docs", "coder", "ui"} {
			c.do("seen", c.session(name))
		}
		return !strings.Contains(c.do("attention"), " done ")
	})
}

// played is what the keeper tells of an agent.
type played struct {
	Name, State string
	Session     string `json:"den_session"`
}

func (c *cast) agent(name string) played {
	var ps struct{ Agents []played }
	c.check(json.Unmarshal([]byte(c.do("ps", "-j")), &ps))
	for _, a := range ps.Agents {
		if a.Name == name {
			return a
		}
	}
	c.Fatalf("there is no agent %s", name)
	return played{}
}

func (c *cast) session(agent string) string { return c.agent(agent).Session }

// until waits for something.
func (c *cast) until(ok func() bool) {
	for !ok() {
		c.check(c.ctx.Err())
		time.Sleep(100 * time.Millisecond)
	}
}

// watch serves the page and opens it, with so many sessions at least.
func (c *cast) watch(s *studio, sessions, width, height int, scale float64) *tab {
	t := s.visit(c.serve(), width, height, scale)
	t.until(fmt.Sprintf(`document.querySelectorAll(".card").length >= %d && document.querySelector("#agents tbody tr")`, sessions))
	t.until(`document.querySelector(".card canvas.drawn")`)
	time.Sleep(time.Second) // all of them are drawn
	return t
}

// serve serves the page, and returns its address.
func (c *cast) serve() string {
	cmd := exec.Command(c.den, "dashboard", "--web", "--allow-actions")
	cmd.Dir, cmd.Env = c.shop, c.env
	out, err := cmd.StdoutPipe()
	c.check(err)
	c.check(cmd.Start())
	c.Cleanup(func() {
		c.check(cmd.Process.Signal(syscall.SIGINT))
		cmd.Wait() // Best effort: it was interrupted.
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	c.check(err)
	return strings.TrimSpace(address)
}
