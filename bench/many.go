package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// many measures hundreds of sessions at once.
func many(b *bench, home *denHome, tmux *tmuxServer) error {
	n := pick(b, 500, 50)
	of := fmt.Sprintf("%d sessions", n)
	name := func(i int) string { return fmt.Sprintf("s%d", i) }

	seconds, err := atOnce(b.ctx, n, 4, func(i int) error { return home.do("new", name(i), "sleep", "1000") })
	if err != nil {
		return err
	}
	denNew := b.out.one(of+", new", "den", "s", seconds)
	var pids []int
	sum := 0.0
	for i := range n {
		s, err := home.status(name(i))
		if err != nil {
			return err
		}
		m, err := readMemory(s.HostPID)
		if err != nil {
			return err
		}
		sum += m.pss
		pids = append(pids, s.HostPID, s.PID)
	}
	denPSS := b.out.one(of+", PSS of all hosts", "den", "MB", sum)
	denLs := b.out.series(of+", ls", "den", "ms", false)
	lanes := []lane{home.lane(denLs, "ls")}
	if tmux != nil {
		tmuxLs, err := b.manyTmux(of, n, tmux, denNew, denPSS)
		if err != nil {
			return err
		}
		lanes = append(lanes, tmux.lane(tmuxLs, "ls"))
	}
	if err := b.race(b.rounds(15, 3), lanes...); err != nil {
		return err
	}
	if tmux != nil {
		compare(denLs, lanes[1].line)
		b.within(of+", ls", denLs, lanes[1].line, "tmux", 2)
	}
	seconds, err = atOnce(b.ctx, n, 4, func(i int) error { return home.do("kill", name(i)) })
	if err != nil {
		return err
	}
	denKill := b.out.one(of+", kill", "den", "s", seconds)
	b.nothingLeft(home, pids)
	if tmux != nil {
		seconds, err = atOnce(b.ctx, n, 4, func(i int) error { return tmux.do("kill-session", "-t", "="+name(i)) })
		if err != nil {
			return err
		}
		compare(denKill, b.out.one(of+", kill", "tmux", "s", seconds))
	}
	b.out.note("four callers at a time; tmux holds all of its sessions in one process")
	return nil
}

func (b *bench) manyTmux(of string, n int, tmux *tmuxServer, denNew, denPSS *series) (*series, error) {
	seconds, err := atOnce(b.ctx, n, 4, func(i int) error {
		return tmux.do("new-session", "-d", "-s", fmt.Sprintf("s%d", i), "sleep", "1000")
	})
	if err != nil {
		return nil, err
	}
	compare(denNew, b.out.one(of+", new", "tmux", "s", seconds))
	m, err := readMemory(tmux.pid)
	if err != nil {
		return nil, err
	}
	compare(denPSS, b.out.one(of+", PSS of all hosts", "tmux", "MB", m.pss))
	return b.out.series(of+", ls", "tmux", "ms", false), nil
}

// nothingLeft says what outlived its session: processes or sockets.
func (b *bench) nothingLeft(home *denHome, pids []int) {
	left := 0
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		left = 0
		for _, pid := range pids {
			if isAlive(pid) {
				left++
			}
		}
		if left == 0 || time.Now().After(deadline) {
			break
		}
	}
	sockets, err := filepath.Glob(filepath.Join(home.run, "*"))
	if err != nil {
		sockets = nil // the pattern is ours
	}
	files := 0
	for _, s := range sockets {
		if fi, err := os.Lstat(s); err == nil && !fi.IsDir() {
			files++
		}
	}
	b.out.aim("nothing is left after kill", left == 0 && files == 0, "%d of %d processes, %d sockets", left, len(pids), files)
}

// atOnce calls do for 0 to n-1, some at a time, and returns the seconds.
func atOnce(ctx context.Context, n, atATime int, do func(int) error) (float64, error) {
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		errs error
		next = make(chan int)
	)
	begun := time.Now()
	for range atATime {
		wg.Go(func() {
			for i := range next {
				if err := do(i); err != nil {
					mu.Lock()
					errs = errors.Join(errs, err)
					mu.Unlock()
				}
			}
		})
	}
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	wg.Wait()
	return time.Since(begun).Seconds(), errors.Join(errs, ctx.Err())
}
