package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"den/internal/screen/vt"

	xvt "github.com/charmbracelet/x/vt"
	"github.com/hinshun/vt10x"
)

// childFlag makes this program one emulator run instead of the benchmark. A
// process of its own means a heap of its own, and that a peer which panics or
// hangs costs one sample.
const childFlag = "-child-emulator"

// childResult is what a child prints.
type childResult struct {
	Bytes   int
	CPU     time.Duration // user and system time, garbage collection included
	Mallocs uint64
}

const (
	cols, rows = 80, 24
	scrollback = 10_000
	writeSize  = 4 << 10 // what the kernel hands out of a terminal at a time
)

// newEmulator returns a peer by name.
func newEmulator(name string) io.Writer {
	switch name {
	case "den":
		return vt.New(vt.Config{Cols: cols, Rows: rows, Scrollback: scrollback})
	case "charmbracelet/x/vt":
		e := xvt.NewEmulator(cols, rows)
		e.SetScrollbackSize(scrollback)
		go io.Copy(io.Discard, e) // without a reader of its replies, its Write blocks for ever
		return e
	case "vt10x": // keeps no scrollback
		return vt10x.New(vt10x.WithSize(cols, rows), vt10x.WithWriter(io.Discard))
	}
	panic("no emulator " + name)
}

// child feeds FILE to emulator WHO: first WARM bytes, until tables and
// scrollback are full, then BYTES that count.
func child(args []string) int {
	who, file := args[0], args[1]
	warm, n := must(strconv.Atoi(args[2])), must(strconv.Atoi(args[3]))
	data := must(os.ReadFile(file))
	e := newEmulator(who)
	feed(e, data, warm)
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begun := ownCPU()
	feed(e, data, n)
	res := childResult{Bytes: n, CPU: ownCPU() - begun}
	runtime.ReadMemStats(&after)
	res.Mallocs = after.Mallocs - before.Mallocs
	must(0, json.NewEncoder(os.Stdout).Encode(res))
	return 0
}

// feed writes n bytes of data, from its start again when it ends.
func feed(w io.Writer, data []byte, n int) {
	for n > 0 {
		part := data[:min(n, len(data))]
		n -= len(part)
		for len(part) > 0 {
			k := min(writeSize, len(part))
			w.Write(part[:k])
			part = part[k:]
		}
	}
}

func ownCPU() time.Duration {
	var u syscall.Rusage
	must(0, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// emulate runs one child.
func (b *bench) emulate(who, file string, warm, n int) (childResult, error) {
	cmd := exec.CommandContext(b.ctx, b.self, childFlag, who, file, strconv.Itoa(warm), strconv.Itoa(n))
	cmd.Env = cleanEnv("GOMAXPROCS=1")
	var errs strings.Builder
	cmd.Stderr = &errs
	hung := time.AfterFunc(2*time.Minute, func() { cmd.Process.Kill() })
	defer hung.Stop()
	var res childResult
	out, err := cmd.Output()
	if err != nil {
		first, _, _ := strings.Cut(errs.String(), "\n")
		return res, fmt.Errorf("%s: %w: %s", who, err, first)
	}
	return res, json.Unmarshal(out, &res)
}
