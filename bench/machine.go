package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"den/internal/base/poll"
)

// machine is what a reader must know to judge the figures. It names no host
// and no path.
type machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Kernel string `json:"kernel"`
	Go     string `json:"go"`
	Den    string `json:"den"`
	Tmux   string `json:"tmux"`
	When   string `json:"when"`
}

func describeMachine(b *bench) machine {
	m := machine{
		Cores: runtime.NumCPU(), Go: runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH,
		Kernel: firstLine(os.ReadFile("/proc/sys/kernel/osrelease")),
		Den:    firstLine(exec.Command(b.den, "version").Output()),
		Tmux:   "missing",
		When:   time.Now().UTC().Format("2006-01-02 15:04 UTC"),
	}
	if b.tmux != "" {
		m.Tmux = firstLine(exec.Command(b.tmux, "-V").Output())
	}
	raw, _ := os.ReadFile("/proc/cpuinfo") // absent where there is no Linux
	for line := range strings.Lines(string(raw)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			m.CPU = strings.TrimSpace(strings.TrimLeft(name, "\t :"))
			break
		}
	}
	return m
}

func (m machine) String() string {
	return fmt.Sprintf("%s, %d cores, Linux %s; %s; %s; %s; %s\n", m.CPU, m.Cores, m.Kernel, m.Go, m.Den, m.Tmux, m.When)
}

func firstLine(raw []byte, err error) string {
	if err != nil {
		return "unknown"
	}
	line, _, _ := strings.Cut(string(raw), "\n")
	return line
}

// calm waits for quiet moments of the machine, so that samples fall into them.
// A benchmark on a busy machine still runs: its ratios hold better than its
// figures, and the report says how busy it was.
type calm struct {
	ctx     context.Context
	limit   time.Duration // of all waiting in a suite
	waited  time.Duration
	samples int
	busy    float64 // sum over the looks
}

// await waits until the CPUs are nearly idle for a moment, or the suite has
// waited long enough.
func (c *calm) await() {
	const moment, enough = 100 * time.Millisecond, 0.2
	for c.ctx.Err() == nil {
		was := readCPU()
		_ = poll.Pause(c.ctx, moment) // its end is seen above
		now := readCPU()
		busy := (now.busy - was.busy) / max(now.total-was.total, 1)
		if busy < enough || c.waited >= c.limit {
			c.samples++
			c.busy += busy
			return
		}
		c.waited += moment
	}
}

// rest does nothing for a time, or until the benchmark is to end.
func (b *bench) rest(d time.Duration) error { return poll.Pause(b.ctx, d) }

func (c *calm) String() string {
	load := firstLine(os.ReadFile("/proc/loadavg"))
	if f := strings.Fields(load); len(f) > 3 {
		load = strings.Join(f[:3], " ")
	}
	return fmt.Sprintf("other work kept the CPUs %.0f %% busy when samples began; waited %.0f s for calm; load %s", 100*c.busy/float64(max(c.samples, 1)), c.waited.Seconds(), load)
}

type cpuTime struct{ busy, total float64 } // in ticks, of all CPUs

func readCPU() cpuTime {
	line := firstLine(os.ReadFile("/proc/stat"))
	var user, nice, system, idle, iowait, irq, softirq, steal float64
	fmt.Sscanf(line, "cpu %g %g %g %g %g %g %g %g", &user, &nice, &system, &idle, &iowait, &irq, &softirq, &steal)
	busy := user + nice + system + irq + softirq + steal
	return cpuTime{busy, busy + idle + iowait}
}
