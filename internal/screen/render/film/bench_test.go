package film_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"den/internal/screen/eventlog"
	"den/internal/screen/render/film"
	"den/internal/screen/render/redact"
)

// A cast of so many screens, each of them a full repaint with a token, or lines
// that scroll, with and without redaction: the time grows with the log.
func BenchmarkCast(b *testing.B) {
	hide, err := redact.New(nil, true)
	if err != nil {
		b.Fatal(err)
	}
	for _, kind := range []string{"repaint", "scroll"} {
		for _, screens := range []int{10, 100, 1000, 5000} {
			l := recorded(b, 80, 24, screensOf(kind, screens)...)
			for name, r := range map[string]*redact.Redactor{"plain": nil, "redacted": hide} {
				b.Run(fmt.Sprintf("%s/screens=%d/%s", kind, screens, name), func(b *testing.B) {
					b.SetBytes(int64(screens) * 24 * 80)
					begun := cpuTime()
					for b.Loop() {
						exportTo(b, l, film.Options{Format: film.Cast, Speed: 2, Redact: r})
					}
					b.ReportMetric(float64(cpuTime()-begun)/float64(b.N)/float64(screens)/1e3, "cpu-µs/screen")
				})
			}
		}
	}
}

// cpuTime is what this process has used: on a busy machine it says more than
// the clock.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0 // Best effort: the figure is one of two.
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// screensOf is so many screens of output, 25 in a second.
func screensOf(kind string, n int) []event {
	var events []event
	for i := range n {
		var s strings.Builder
		if kind == "repaint" {
			s.WriteString("\x1b[H")
		}
		for y := range 24 {
			line := strings.Repeat("text ", 14)
			if y == 5 {
				line = "export TOKEN=" + secret
			}
			fmt.Fprintf(&s, "\x1b[3%dm%06d\x1b[m %s", (i+y)%8, i*24+y, line)
			if kind == "scroll" || y < 23 {
				s.WriteString("\r\n")
			}
		}
		events = append(events, event{time.Duration(i) * 40 * time.Millisecond, eventlog.Output, s.String()})
	}
	return events
}

func exportTo(b *testing.B, l *eventlog.Log, o film.Options) {
	b.Helper()
	f, err := os.Create(filepath.Join(b.TempDir(), "out"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if _, err := film.Write(b.Context(), f, l, o); err != nil {
		b.Fatal(err)
	}
}
