package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
)

// denHome is a Home of its own, and the den that works in it.
type denHome struct {
	bin, dir, run string
	env           []string
}

func (b *bench) newHome() (*denHome, error) {
	dir, err := os.MkdirTemp(b.tmp, "d")
	if err != nil {
		return nil, err
	}
	h := &denHome{bin: b.den, dir: filepath.Join(dir, "h"), run: filepath.Join(dir, "r")}
	h.env = cleanEnv("DEN_HOME="+h.dir, "DEN_RUN_DIR="+h.run, "HOME="+b.tmp) // the user's shells may load a long history
	return h, nil
}

func (h *denHome) do(args ...string) error {
	_, err := capture(h.env, append([]string{h.bin}, args...)...)
	return err
}

func (h *denHome) timed(args ...string) (float64, error) {
	return timed(h.env, append([]string{h.bin}, args...)...)
}

// lane times a verb again and again.
func (h *denHome) lane(line *series, args ...string) lane {
	return lane{line, func() (float64, error) { return h.timed(args...) }}
}

// ask runs a verb with --json and decodes its answer.
func (h *denHome) ask(answer any, args ...string) error {
	raw, err := capture(h.env, append(append([]string{h.bin}, args[0], "-j"), args[1:]...)...)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, answer)
}

// status is the part of `den status` that is of use here.
type status struct {
	ID      string `json:"id"`
	PID     int    `json:"pid"`
	HostPID int    `json:"host_pid"`
	Seq     uint64 `json:"seq"`
}

func (h *denHome) status(name string) (status, error) {
	var s status
	err := h.ask(&s, "status", name)
	return s, err
}

func (h *denHome) logDir(id string) string {
	return filepath.Join(h.dir, "sessions", id, "log")
}

func (h *denHome) names() ([]string, error) {
	var ls struct {
		Sessions []struct {
			Session string `json:"session"`
		} `json:"sessions"`
	}
	if err := h.ask(&ls, "ls"); err != nil {
		return nil, err
	}
	var names []string
	for _, s := range ls.Sessions {
		names = append(names, s.Session)
	}
	return names, nil
}

// close ends every session and removes the Home.
func (h *denHome) close() error {
	return errors.Join(h.end(), os.RemoveAll(filepath.Dir(h.dir)))
}

// end ends every session. The Home stays until the benchmark is over: for some
// minutes after many files were removed, ext4 is slow to make new ones.
func (h *denHome) end() error {
	names, err := h.names()
	for _, n := range names {
		err = errors.Join(err, h.do("kill", n, "--grace", "1s"))
	}
	return err
}
