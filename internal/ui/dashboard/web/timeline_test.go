package web_test

import (
	"slices"
	"testing"
)

// The timeline goes on while nothing is printed, and has round steps.
func TestTimelineRunsToNow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.Do("new", "sh", "bash")
	w.Do("run", "sh", "echo quiet from now on")
	p := w.browse(1200, 800)
	p.openSession(w.Dir("sh").ID)
	p.until(text + `.includes("quiet from now on") && document.getElementById("line").dataset.labels`)
	end := `Number(document.getElementById("line").getAttribute("aria-valuemax"))`
	p.eval(`window.before = `+end, nil)
	p.until(end + ` > window.before`)
	p.until(`document.getElementById("line").dataset.labels.endsWith(" now")`)
	w.Do("kill", "sh")
	p.until(`!document.getElementById("line").dataset.labels.endsWith(" now")`)

	var got struct {
		Labels []string
		Steps  []float64
		Places []float64
	}
	p.eval(`import("/assets/scale.js").then(({ Scale, roundStep, stepLabel }) => {
		const label = (until, apart) => { const { step, at } = new Scale(until, until, 1000).ticks(apart); return at.map((ns) => stepLabel(ns, step)).join(" "); };
		const folded = new Scale(60e9, 86400e9, 1000);
		return {
			Steps: [1, 3e6, 0.9e9, 7e9, 61e9, 5e12, 1e20].map(roundStep),
			Labels: [label(1e9, 250), label(90e9, 300), label(3 * 3600e9, 330), label(9 * 86400e9, 400)],
			Places: [folded.x(0), folded.x(30e9), folded.x(60e9), folded.x(86400e9), folded.ns(folded.x(30e9)) / 1e9, Math.round(folded.ns(folded.x(7200e9)) / 1e9)],
		};
	})`, &got)
	if want := []float64{1e6, 5e6, 1e9, 10e9, 120e9, 2 * 3600e9, 500 * 86400e9}; !slices.Equal(got.Steps, want) {
		t.Errorf("steps %v, want %v", got.Steps, want)
	}
	if want := []string{"0:00.0 0:00.5 0:01.0", "0:00 0:30 1:00 1:30", "0:00 1:00:00 2:00:00 3:00:00", "0 d 5 d"}; !slices.Equal(got.Labels, want) {
		t.Errorf("labels %q, want %q", got.Labels, want)
	}
	if want := []float64{0, 400, 800, 1000, 30, 7200}; !slices.Equal(got.Places, want) {
		t.Errorf("places %v, want %v", got.Places, want)
	}
}
