package main

import (
	"fmt"
	"time"
)

// webDrawn is what the page says that it has drawn.
type webDrawn struct{ Large, Thumbs float64 }

// pageUnderFlood measures one large screen and the thumbnails beside it.
func (b *bench) pageUnderFlood(w watched) error {
	for _, step := range []string{
		`document.querySelectorAll(".card").length >= ` + fmt.Sprint(w.n),
		`(location.hash = document.querySelector(".card").hash)`,
		fmt.Sprintf(`denDrawn.large > %d`, w.flood.enough(30)),
	} {
		if err := w.page.Until(b.ctx, step); err != nil {
			return err
		}
	}
	of := w.String()
	large := b.out.series(of+", the large screen", "den", "fps", true)
	cpu := b.out.series(of+", CPU for it and the thumbnails beside it", "den", "%", false)
	browsing := b.out.series(of+", CPU of the browser for it and the thumbnails", "den", "%", false)
	if err := b.watchDrawing(w, func(drawn webDrawn, busy webBusy) {
		large.add(drawn.Large)
		cpu.add(busy.server)
		browsing.add(busy.browser)
	}); err != nil {
		return err
	}
	m, err := readMemory(w.pid)
	if err != nil {
		return err
	}
	b.out.one(of+", memory of the dashboard", "den", "MB", m.rss)
	b.out.one(of+", the same without its binary", "den", "MB", m.own)
	if w.flood.paced {
		b.out.aim(of+": the large screen holds 15 fps", large.median() >= 15, "%.0f fps; the flood has 20 screens a second", large.median())
	} else {
		b.out.aim(of+": the large screen lives", large.quantile(1) > 0, "%.1f fps at best, of what is left of the machine", large.quantile(1))
	}
	return nil
}

// fleetUnderFlood measures all thumbnails at once.
func (b *bench) fleetUnderFlood(w watched) error {
	if err := w.page.Size(b.ctx, 1600, 700+270*w.n/4, 1); err != nil { // all are in sight
		return err
	}
	if err := w.page.Until(b.ctx, fmt.Sprintf(`denDrawn.thumbs > %d`, w.flood.enough(3*w.n))); err != nil {
		return err
	}
	of := w.String()
	thumbs := b.out.series(of+", each thumbnail", "den", "fps", true)
	cpu := b.out.series(of+", CPU for all thumbnails", "den", "%", false)
	browsing := b.out.series(of+", CPU of the browser for all thumbnails", "den", "%", false)
	err := b.watchDrawing(w, func(drawn webDrawn, busy webBusy) {
		thumbs.add(drawn.Thumbs / float64(w.n))
		cpu.add(busy.server)
		browsing.add(busy.browser)
	})
	if err != nil {
		return err
	}
	if w.flood.paced {
		b.out.aim(of+": each thumbnail holds 2 fps", thumbs.median() >= 2, "%.1f fps of at most 4", thumbs.median())
	} else {
		b.out.aim(of+": the thumbnails live", thumbs.quantile(1) > 0, "%.2f fps each at best, of what is left of the machine", thumbs.quantile(1))
	}
	return w.page.Size(b.ctx, 1600, 1200, 1)
}

// floodWatched measures what the sessions print while the page shows them, and
// while it shows nothing: nobody who looks on may slow a session.
func (b *bench) floodWatched(w watched) error {
	of := w.String() + ", what they print"
	with := b.out.series(of+", watched", "den", "MB/s", true)
	without := b.out.series(of+", unwatched", "den", "MB/s", true)
	for range b.rounds(5, 2) {
		for _, look := range []struct {
			url string
			s   *series
		}{{w.url, with}, {"about:blank", without}} { // the browser stays
			if err := w.page.Navigate(b.ctx, look.url); err != nil {
				return err
			}
			rate, err := b.printed(w)
			if err != nil {
				return err
			}
			look.s.add(rate)
		}
	}
	b.out.aim(w.String()+": watching takes at most a third from them", with.median() >= without.median()*2/3, "%.1f of %.1f MB/s", with.median(), without.median())
	return nil
}

// printed is what all sessions together print, in MB a second.
func (b *bench) printed(w watched) (float64, error) {
	begun := time.Now()
	before, err := logged(w)
	if err != nil {
		return 0, err
	}
	if err := b.rest(5 * time.Second); err != nil {
		return 0, err
	}
	after, err := logged(w)
	return (after - before) / 1e6 / time.Since(begun).Seconds(), err
}

// logged is how many bytes the logs of all sessions have taken so far.
func logged(w watched) (sum float64, err error) {
	for i := range w.n {
		var s struct {
			Log struct {
				Bytes   float64 `json:"bytes"`
				Dropped float64 `json:"dropped_bytes"`
			} `json:"log"`
		}
		if err := w.home.ask(&s, "status", fmt.Sprintf("f%d", i)); err != nil {
			return 0, err
		}
		sum += s.Log.Bytes + s.Log.Dropped
	}
	return sum, nil
}

// webBusy is the CPU that the page's server and the browser take, in percent of
// one.
type webBusy struct{ server, browser float64 }

// watchDrawing tells what is drawn a second, and at what price.
func (b *bench) watchDrawing(w watched, each func(webDrawn, webBusy)) error {
	for range b.rounds(10, 2) {
		var before, after webDrawn
		begun := time.Now()
		server, browser, err := w.used()
		if err != nil {
			return err
		}
		if err := w.page.Eval(b.ctx, `denDrawn`, &before); err != nil {
			return err
		}
		if err := b.rest(2 * time.Second); err != nil {
			return err
		}
		if err := w.page.Eval(b.ctx, `denDrawn`, &after); err != nil {
			return err
		}
		took := time.Since(begun).Seconds()
		serverNow, browserNow, err := w.used()
		if err != nil {
			return err
		}
		percent := func(d time.Duration) float64 { return d.Seconds() / took * 100 }
		each(webDrawn{(after.Large - before.Large) / took, (after.Thumbs - before.Thumbs) / took}, webBusy{percent(serverNow - server), percent(browserNow - browser)})
	}
	return nil
}

// used is the CPU time that the server and the browser have used so far.
func (w watched) used() (server, browser time.Duration, err error) {
	user, system, err := cpuOf(w.pid)
	if err != nil {
		return 0, 0, err
	}
	browser, err = cpuOfTree(w.browser)
	return user + system, browser, err
}
