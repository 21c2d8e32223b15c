package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"den/internal/screen/eventlog"
	"den/internal/screen/replay"
	"den/internal/screen/vt"
)

// replays measures how fast a recorded log is played into an emulator, and
// what a byte of output costs on the disk.
func replays(b *bench, home *denHome) error {
	logs := map[string]string{}
	for _, name := range streamNames {
		file, err := b.streamFile(name, 16*mb)
		if err != nil {
			return err
		}
		if logs[name], err = record(home, name, `stty -opost; cat "$1"`, file); err != nil {
			return err
		}
	}
	file, err := b.streamFile("ascii", 16*mb)
	if err != nil {
		return err
	}
	// A terminal that gets one byte at a time: the worst case for a log.
	const trickle = "one byte a write"
	if logs[trickle], err = record(home, "trickle", `stty -opost; dd if="$1" bs=1 count=100000 2>/dev/null`, file); err != nil {
		return err
	}
	for _, name := range append(streamNames[:len(streamNames):len(streamNames)], trickle) {
		if err := b.play(name, logs[name]); err != nil {
			return err
		}
	}
	b.out.note("CPU time of reading, decoding and emulating all events, file cache warm; agent-tty's log, measured elsewhere: 86 bytes for one byte a write")
	return nil
}

// record runs a script in a session to its end and returns its log.
func record(home *denHome, name, script, file string) (string, error) {
	if err := home.do("new", "--cols", fmt.Sprint(cols), "--rows", fmt.Sprint(rows), name, "--", "sh", "-c", "read -r _; "+script, "sh", file); err != nil {
		return "", err
	}
	st, err := home.status(name)
	if err != nil {
		return "", err
	}
	return home.logDir(st.ID), errors.Join(home.do("keys", name, "Enter"), home.do("wait", name, "--exit", "-t", "2m"))
}

func (b *bench) play(name, dir string) error {
	log, err := eventlog.Open(dir)
	if err != nil {
		return err
	}
	size, err := bytesBelow(dir)
	if err != nil {
		return err
	}
	speed := b.out.series("replay "+name, "den", "MB/s of log", true)
	decode := b.out.series("decode only "+name, "den", "MB/s of log", true)
	var output, events int
	for range b.rounds(7, 2) {
		b.calm.await()
		t := vt.New(vt.Config{Cols: cols, Rows: rows, Scrollback: scrollback})
		output, events = 0, 0
		begun := ownCPU()
		for ev, err := range log.Events(0) {
			if err != nil {
				return err
			}
			replay.Apply(t, ev)
			if out, ok := ev.Output(); ok {
				output += len(out)
				events++
			}
		}
		speed.add(size / 1e6 / (ownCPU() - begun).Seconds())
		begun = ownCPU()
		for _, err := range log.Events(0) {
			if err != nil {
				return err
			}
		}
		decode.add(size / 1e6 / (ownCPU() - begun).Seconds())
	}
	line := b.out.one("log bytes per byte, "+name, "den", "", size/float64(output))
	line.Note = fmt.Sprintf("%d output events of %.0f bytes on average", events, float64(output)/float64(max(events, 1)))
	return nil
}

func bytesBelow(dir string) (float64, error) {
	sum := 0.0
	err := filepath.Walk(dir, func(_ string, fi os.FileInfo, err error) error {
		if err == nil && fi.Mode().IsRegular() {
			sum += float64(fi.Size())
		}
		return err
	})
	return sum, err
}
