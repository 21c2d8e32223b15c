package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
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

// awaitCalm waits, up to limit, for a second in which the machine is nearly
// idle, and says how busy it was. A benchmark on a busy machine still runs:
// its ratios hold better than its figures.
func awaitCalm(ctx context.Context, limit time.Duration) string {
	const calm = 0.15
	var busy float64
	for begun := time.Now(); ; {
		was := readCPU()
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
		now := readCPU()
		busy = (now.busy - was.busy) / max(now.total-was.total, 1)
		if busy < calm || time.Since(begun) > limit || ctx.Err() != nil {
			break
		}
	}
	load := firstLine(os.ReadFile("/proc/loadavg"))
	if f := strings.Fields(load); len(f) > 3 {
		load = strings.Join(f[:3], " ")
	}
	return fmt.Sprintf("CPUs %.0f %% busy with other work, load %s", 100*busy, load)
}

type cpuTime struct{ busy, total float64 } // in ticks, of all CPUs

func readCPU() cpuTime {
	line := firstLine(os.ReadFile("/proc/stat"))
	var user, nice, system, idle, iowait, irq, softirq, steal float64
	fmt.Sscanf(line, "cpu %g %g %g %g %g %g %g %g", &user, &nice, &system, &idle, &iowait, &irq, &softirq, &steal)
	busy := user + nice + system + irq + softirq + steal
	return cpuTime{busy, busy + idle + iowait}
}
