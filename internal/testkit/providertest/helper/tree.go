package main

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// tree is a program with a child, a grandchild, a daemon that left it, and a
// child that does not listen. Each holds a lock for as long as it lives.
func tree(ready string, args []string) error {
	dir := args[0]
	if err := hold(dir, "root"); err != nil {
		return err
	}
	for _, role := range []string{"child", "parting", "stubborn"} {
		if err := grow(dir, role, role == "parting"); err != nil {
			return err
		}
	}
	for _, role := range []string{"child", "grandchild", "daemon", "stubborn"} {
		for !exists(filepath.Join(dir, role+".begun")) {
			time.Sleep(time.Millisecond)
		}
	}
	if err := begun(ready); err != nil {
		return err
	}
	return rest()
}

// branch is one process of a tree.
func branch(role string, args []string) error {
	dir := args[0]
	switch role {
	case "parting": // its child is a daemon: nobody's, in a session of its own
		return grow(dir, "daemon", true)
	case "stubborn":
		signal.Ignore(syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT)
	case "child":
		if err := grow(dir, "grandchild", false); err != nil {
			return err
		}
	}
	if err := hold(dir, role); err != nil {
		return err
	}
	if err := begun(filepath.Join(dir, role+".begun")); err != nil {
		return err
	}
	return rest()
}

func grow(dir, role string, apart bool) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "branch", role, dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: apart}
	if apart {
		return cmd.Start()
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Start()
}

// held keeps the locks open.
var held []*os.File

func hold(dir, role string) error {
	f, err := os.OpenFile(filepath.Join(dir, role), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	held = append(held, f)
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
