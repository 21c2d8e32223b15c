package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"den/internal/testkit/browser"
)

// A webFlood is a program that begins to print once the file $0 is there. It
// starts no process: the terminals are measured, not the programs.
type webFlood struct {
	name   string // what the sessions do
	script string
	paced  bool
}

// enough is how many screens show that the page follows: a flood without a
// pause leaves little of the machine to browsers.
func (f webFlood) enough(n int) int {
	if f.paced {
		return n
	}
	return n / 10
}

const atGate = `while ! [ -e "$0" ]; do read -t 0.2 _; done; `

var webFloods = []webFlood{
	{"flood", atGate + `i=0; while :; do i=$((i+1)); for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; do
printf '\033[3%dmline %d.%d of a flood that does not end\033[m\n' $(((i+n)%7+1)) $i $n; done; read -t 0.05 _; done`, true},
	{"flood without a pause", atGate + `exec yes $'\033[35ma line of a flood\033[m that knows no pause'`, false},
}

// dashboards measures the page in a real browser: how soon it is there, and
// what it shows of many sessions that flood, at what price.
func dashboards(b *bench) error {
	if _, err := browser.Path(); err != nil {
		b.out.note("the page was not measured: %v (apt-get install chromium)", err)
		return nil
	}
	for _, f := range webFloods {
		if err := b.dashboard(f); err != nil {
			return fmt.Errorf("sessions that %s: %w", f.name, err)
		}
	}
	return nil
}

func (b *bench) dashboard(f webFlood) (err error) {
	home, err := b.newHome()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, home.close()) }()
	w := watched{flood: f, home: home, n: 50}
	if b.quick || !f.paced { // fifty without a pause leave two cores nothing to draw with
		w.n = 10
	}
	gate := filepath.Join(home.run, "flood")
	for i := range w.n {
		if err := home.do("new", fmt.Sprintf("f%d", i), "--cols", "80", "--rows", "24", "--log-limit", "8MiB", "bash", "-c", f.script, gate); err != nil {
			return err
		}
	}
	server, url, err := b.serveWeb(home)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, server.Process.Signal(syscall.SIGTERM), server.Wait())
	}()
	w.pid, w.url = server.Process.Pid, url
	chromium, err := browser.Start(b.ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, chromium.Close()) }()
	w.browser = chromium.PID()
	if w.page, err = chromium.Open(b.ctx, url, 1600, 1200); err != nil {
		return err
	}
	if f.paced { // before the flood begins there is no difference
		if err := b.pageLoads(w.page, url, w.n); err != nil {
			return err
		}
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		return err
	}
	if err := b.fleetUnderFlood(w); err != nil {
		return err
	}
	if err := b.pageUnderFlood(w); err != nil {
		return err
	}
	if f.paced {
		return nil
	}
	return b.floodWatched(w)
}

// watched is a flood, the page that shows it, and the page's server.
type watched struct {
	flood webFlood
	home  *denHome
	page  *browser.Page
	url   string
	pid   int // of the server
	n     int // sessions

	browser int // its PID
}

func (w watched) String() string { return fmt.Sprintf("%d sessions %s", w.n, w.flood.name) }

// serveWeb starts the page's server: den becomes it, so the number stays.
func (b *bench) serveWeb(home *denHome) (*exec.Cmd, string, error) {
	cmd := exec.Command(b.den, "dashboard", "--web")
	cmd.Env, cmd.Dir, cmd.Stderr = home.env, b.tmp, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, "", errors.Join(fmt.Errorf("no address: %w", err), cmd.Process.Kill(), cmd.Wait())
	}
	return cmd, strings.TrimSpace(line), nil
}

// pageLoads measures from the navigation to the first thumbnail.
func (b *bench) pageLoads(page *browser.Page, url string, n int) error {
	of := fmt.Sprintf("%d sessions, page load to the first screen", n)
	s := b.out.series(of, "den", "ms", false)
	err := b.race(b.rounds(15, 3), lane{s, func() (ms float64, err error) {
		for _, to := range []string{"about:blank", url} { // the page is loaded anew only from elsewhere
			if err := page.Navigate(b.ctx, to); err != nil {
				return 0, err
			}
		}
		if err := page.Until(b.ctx, `globalThis.denDrawn?.first`); err != nil {
			return 0, err
		}
		err = page.Eval(b.ctx, `denDrawn.first`, &ms)
		return ms, err
	}})
	b.out.aim(of+" under 500 ms", s.median() < 500, "%.0f ms", s.median())
	return err
}
