package eventlog_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"den/internal/screen/eventlog"
)

const killEnv = "DEN_TEST_EVENTLOG_KILL"

func TestMain(m *testing.M) {
	if dir := os.Getenv(killEnv); dir != "" {
		writeUntilKilled(dir)
	}
	os.Exit(m.Run())
}

// killData is what event seq holds, of all sizes and kinds.
func killData(seq uint64) []byte {
	head := fmt.Appendf(nil, "event %d é \x1b[3%dm", seq, seq%8)
	size := seq % 50
	if seq%7 == 0 {
		size = seq * 31 % 3000
	}
	return append(head, bytes.Repeat([]byte{byte('a' + seq%26), '"', 0x1b}, int(size))...)
}

// writeUntilKilled writes as fast as it can and says what it has flushed.
func writeUntilKilled(dir string) {
	start := time.Now()
	w, err := eventlog.Create(dir, eventlog.Options{
		Header:       eventlog.Header{Cols: 80, Rows: 24},
		SegmentBytes: 32 << 10,
		Clock:        func() time.Duration { return time.Since(start) },
		Now:          time.Now,
		Repaint:      func() []byte { return bytes.Repeat([]byte("p"), 9000) },
	})
	for seq := uint64(1); err == nil; {
		for range 1 + seq%4 {
			w.Append("o", killData(seq))
			seq++
		}
		if err = w.Flush(); err != nil {
			break
		}
		if _, err = fmt.Println(w.Position().Seq); err != nil {
			break
		}
		err = w.RotateIfFull()
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// TestKilledWriter kills a writing process at random moments: every log opens,
// holds all that was flushed, and can be continued.
func TestKilledWriter(t *testing.T) {
	rounds := 200
	if raced || testing.Short() {
		rounds = 50
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, 2) // as many children as cores
	var mu sync.Mutex
	torn := 0
	for i := range rounds {
		wg.Add(1)
		slots <- struct{}{}
		go func() {
			defer func() { <-slots; wg.Done() }()
			dir := t.TempDir()
			reported, err := runAndKill(exe, dir, 1+rand.IntN(1+i/2))
			if err != nil {
				t.Errorf("round %d: %v", i, err)
				return
			}
			m, err := checkKilled(dir, reported)
			if err != nil {
				t.Errorf("round %d: %v", i, err)
			}
			if m != (eventlog.Repaired{}) {
				mu.Lock()
				torn++
				mu.Unlock()
			}
		}()
	}
	wg.Wait()
	t.Logf("%d of %d had a torn end", torn, rounds)
}

// runAndKill lets a child report so many flushes, kills it without a word and
// returns the last number that it reported.
func runAndKill(exe, dir string, reports int) (uint64, error) {
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), killEnv+"="+dir)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	var last uint64
	lines := bufio.NewScanner(out)
	for n := 0; lines.Scan(); n++ {
		if last, err = strconv.ParseUint(lines.Text(), 10, 64); err != nil {
			break
		}
		if n == reports {
			cmd.Process.Kill() // it goes on until the signal arrives
		}
	}
	cmd.Wait() // Its status is the kill's.
	if stderr.Len() > 0 || last == 0 {
		return 0, fmt.Errorf("child reported %d: %s", last, stderr.String())
	}
	return last, err
}

func checkKilled(dir string, reported uint64) (eventlog.Repaired, error) {
	l, err := eventlog.Open(dir)
	if err != nil {
		return eventlog.Repaired{}, err
	}
	check := func() (uint64, error) {
		var last uint64
		for ev, err := range l.Events(0) {
			if err != nil {
				return last, err
			}
			if ev.Seq != last+1 || !bytes.Equal(ev.Data, killData(ev.Seq)) {
				return last, fmt.Errorf("event %d after %d is wrong", ev.Seq, last)
			}
			last = ev.Seq
		}
		return last, nil
	}
	last, err := check()
	if err != nil || last < reported {
		return eventlog.Repaired{}, fmt.Errorf("read up to %d, flushed %d: %w", last, reported, err)
	}
	m, err := eventlog.Repair(dir)
	if err != nil {
		return m, err
	}
	p, err := l.Last()
	if err != nil || p.Seq != last {
		return m, fmt.Errorf("mended log ends at %d, want %d: %w", p.Seq, last, err)
	}
	w, err := eventlog.Create(dir, eventlog.Options{
		Header: eventlog.Header{Cols: 80, Rows: 24}, After: p,
		Clock: func() time.Duration { return p.Elapsed }, Now: time.Now,
	})
	if err != nil {
		return m, err
	}
	w.Append("o", killData(last+1))
	if err := w.Close(); err != nil {
		return m, err
	}
	if again, err := check(); err != nil || again != last+1 {
		return m, errors.Join(err, fmt.Errorf("continued to %d, want %d", again, last+1))
	}
	return m, nil
}
