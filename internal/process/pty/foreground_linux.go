package pty

import (
	"bytes"
	"os"
	"strings"
)

// Foreground returns the terminal's foreground process group, or 0, and its
// live processes below the roots, nearest to them first.
func (p *PTY) Foreground() (group int, programs []Program, err error) {
	if group, err = p.ForegroundGroup(); err != nil || group <= 0 {
		return 0, nil, err
	}
	var w treeWalk
	w.reset()
	self := os.Getpid()
	for _, root := range p.processRoots() {
		if root != self {
			w.add(root)
		}
		w.walk(root, nil)
	}
	for _, st := range w.found {
		if st.pgrp != group || !st.alive() || len(programs) == maxPrograms {
			continue
		}
		programs = append(programs, Program{
			Process: Process{st.pid, st.started}, Parent: st.ppid, Name: st.comm, Argv: argvOf(st.pid),
		})
	}
	return group, programs, nil
}

// processRoots returns the processes below which those of the terminal are.
func (p *PTY) processRoots() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.roots == nil {
		return []int{os.Getpid()}
	}
	return p.roots
}

// argvOf returns the arguments of a process, as far as maxArgv bytes of them
// go. A process that has just ended has none.
func argvOf(pid int) []string {
	var buf [maxArgv]byte
	data, err := readInto(buf[:], procPath(pid, "cmdline"))
	if err != nil {
		return nil
	}
	var argv []string
	for _, arg := range bytes.Split(bytes.TrimRight(data, "\x00"), []byte{0}) {
		argv = append(argv, strings.ToValidUTF8(string(arg), "\ufffd"))
	}
	return argv
}
