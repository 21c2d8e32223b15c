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
	"time"

	"den/internal/dashboard/web/browser"
)

func init() {
	suites = append(suites, struct {
		name string
		run  func(*bench) error
	}{"dashboard", dashboards})
}

// webFlood prints a screenful twenty times a second, once a file is there. It
// starts no process: the terminals are measured, not the programs.
const webFlood = `while ! [ -e "$0" ]; do read -t 0.2 _; done
i=0; while :; do i=$((i+1)); for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; do
printf '\033[3%dmline %d.%d of a flood that does not end\033[m\n' $(((i+n)%7+1)) $i $n; done; read -t 0.05 _; done`

// dashboards measures the page in a real browser: how soon it is there, and
// what it shows of many sessions that flood, at what price.
func dashboards(b *bench) (err error) {
	if _, err := browser.Path(); err != nil {
		b.out.note("the page was not measured: %v (apt-get install chromium)", err)
		return nil
	}
	home, err := b.newHome()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, home.close()) }()
	n := 50
	if b.quick {
		n = 10
	}
	gate := filepath.Join(b.tmp, "flood")
	for i := range n {
		if err := home.do("new", fmt.Sprintf("f%d", i), "--cols", "80", "--rows", "24", "--log-limit", "8MiB", "bash", "-c", webFlood, gate); err != nil {
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
	chromium, err := browser.Start(b.ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, chromium.Close()) }()
	page, err := chromium.Open(b.ctx, url, 1600, 1200)
	if err != nil {
		return err
	}
	if err := b.pageLoads(page, url, n); err != nil {
		return err
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		return err
	}
	if err := b.fleetUnderFlood(page, server.Process.Pid, n); err != nil {
		return err
	}
	return b.pageUnderFlood(page, server.Process.Pid, n)
}

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
	for range b.rounds(15, 3) {
		b.calm.await()
		if err := page.Navigate(b.ctx, url); err != nil {
			return err
		}
		if err := page.Until(b.ctx, `globalThis.denDrawn?.first`); err != nil {
			return err
		}
		var ms float64
		if err := page.Eval(b.ctx, `denDrawn.first`, &ms); err != nil {
			return err
		}
		s.add(ms)
	}
	b.out.aim(of+" under 500 ms", s.median() < 500, "%.0f ms", s.median())
	return nil
}

// webDrawn is what the page says that it has drawn.
type webDrawn struct{ Large, Thumbs float64 }

// pageUnderFlood measures one large screen and the thumbnails beside it.
func (b *bench) pageUnderFlood(page *browser.Page, pid, n int) error {
	for _, step := range []string{
		`document.querySelectorAll(".card").length >= ` + fmt.Sprint(n),
		`(location.hash = document.querySelector(".card").hash)`,
		`denDrawn.large > 30`,
	} {
		if err := page.Until(b.ctx, step); err != nil {
			return err
		}
	}
	of := fmt.Sprintf("%d sessions flood", n)
	large := b.out.series(of+", the large screen", "den", "fps", true)
	cpu := b.out.series(of+", CPU for it and the thumbnails beside it", "den", "%", false)
	if err := b.watchDrawing(page, pid, func(drawn webDrawn, busy float64) {
		large.add(drawn.Large)
		cpu.add(busy)
	}); err != nil {
		return err
	}
	m, err := readMemory(pid)
	if err != nil {
		return err
	}
	b.out.one(of+", memory of the dashboard", "den", "MB", m.rss)
	b.out.aim(of+": the large screen holds 15 fps", large.median() >= 15, "%.0f fps; the flood has 20 screens a second", large.median())
	return nil
}

// fleetUnderFlood measures all thumbnails at once.
func (b *bench) fleetUnderFlood(page *browser.Page, pid, n int) error {
	if err := page.Size(b.ctx, 1600, 700+270*n/4, 1); err != nil { // all are in sight
		return err
	}
	if err := page.Until(b.ctx, fmt.Sprintf(`denDrawn.thumbs > %d`, 3*n)); err != nil {
		return err
	}
	of := fmt.Sprintf("%d sessions flood", n)
	thumbs := b.out.series(of+", each thumbnail", "den", "fps", true)
	cpu := b.out.series(of+", CPU for all thumbnails", "den", "%", false)
	err := b.watchDrawing(page, pid, func(drawn webDrawn, busy float64) {
		thumbs.add(drawn.Thumbs / float64(n))
		cpu.add(busy)
	})
	if err != nil {
		return err
	}
	b.out.aim(of+": each thumbnail holds 2 fps", thumbs.median() >= 2, "%.1f fps of at most 4", thumbs.median())
	return page.Size(b.ctx, 1600, 1200, 1)
}

// watchDrawing tells what is drawn a second, and the CPU that the dashboard
// takes for it in percent of one.
func (b *bench) watchDrawing(page *browser.Page, pid int, each func(webDrawn, float64)) error {
	for range b.rounds(10, 2) {
		var before, after webDrawn
		begun := time.Now()
		busy, err := b.webCPU(pid)
		if err != nil {
			return err
		}
		if err := page.Eval(b.ctx, `denDrawn`, &before); err != nil {
			return err
		}
		select {
		case <-b.ctx.Done():
			return b.ctx.Err()
		case <-time.After(2 * time.Second):
		}
		if err := page.Eval(b.ctx, `denDrawn`, &after); err != nil {
			return err
		}
		took := time.Since(begun).Seconds()
		used, err := b.webCPU(pid)
		if err != nil {
			return err
		}
		each(webDrawn{(after.Large - before.Large) / took, (after.Thumbs - before.Thumbs) / took}, (used-busy).Seconds()/took*100)
	}
	return nil
}

func (b *bench) webCPU(pid int) (time.Duration, error) {
	user, system, err := cpuOf(pid)
	return user + system, err
}
