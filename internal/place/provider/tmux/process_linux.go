package tmux

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"den/internal/base/fault"
	"den/internal/process/pty"
	"den/internal/process/tree"
)

// allProcesses lists the live processes of this user, but for this one.
func allProcesses() ([]process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fault.Errorf(fault.Unreachable, "list processes: %w", err)
	}
	uid, self := uint32(os.Geteuid()), os.Getpid()
	var all []process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == self {
			continue
		}
		var st syscall.Stat_t
		if syscall.Stat("/proc/"+e.Name(), &st) != nil || st.Uid != uid {
			continue // gone, or somebody else's
		}
		pr, alive := readProcess(pid)
		if !alive {
			continue
		}
		// One whose environment cannot be read has no mark that we could see.
		environ := pty.Environ(pid)
		pr.mark = cmp.Or(variable(environ, markKey), variable(environ, gateKey))
		pr.server = variable(environ, serverKey)
		pr.host = variable(environ, tree.HostMark) != "" && tree.IsHost(pid)
		all = append(all, pr)
	}
	return all, nil
}

// variable returns a variable's value in an environment as /proc shows it.
func variable(environ []byte, key string) string {
	rest := environ
	if !bytes.HasPrefix(rest, []byte(key+"=")) {
		_, after, ok := bytes.Cut(rest, []byte("\x00"+key+"="))
		if !ok {
			return ""
		}
		rest = after
	} else {
		rest = rest[len(key)+1:]
	}
	value, _, _ := bytes.Cut(rest, []byte{0})
	return string(value)
}

// readProcess reads a process's stat. It reports false for one that has ended,
// collected or not.
func readProcess(pid int) (process, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, false
	}
	return parseStat(string(data))
}

// parseStat reads "PID (COMM) STATE PPID PGRP SESSION ... STARTTIME ...". The
// command name may hold anything, so the fields are counted from its end.
func parseStat(stat string) (process, bool) {
	open, closing := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')')
	if open < 1 || closing < open {
		return process{}, false
	}
	f := strings.Fields(stat[closing+1:])
	if len(f) < 20 || f[0] == "Z" || f[0] == "X" {
		return process{}, false
	}
	var pr process
	var bad [4]error
	pr.pid, bad[0] = strconv.Atoi(strings.TrimSpace(stat[:open]))
	pr.parent, bad[1] = strconv.Atoi(f[1])
	pr.session, bad[2] = strconv.Atoi(f[3])
	pr.started, bad[3] = strconv.ParseUint(f[19], 10, 64)
	return pr, errors.Join(bad[:]...) == nil
}

// lives reports whether exactly this process has not ended.
func (pr process) lives() bool {
	now, alive := readProcess(pr.pid)
	return alive && now.started == pr.started
}

// processRuns reports whether there is a process of this number that has not
// ended.
func processRuns(pid int) bool {
	_, alive := readProcess(pid)
	return alive
}

// startedWith reports whether the process's program was started with the
// entry. One that hides its environment is not tmux's child any more either.
func startedWith(pid int, entry string) bool {
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if errors.Is(err, fs.ErrPermission) {
		return true
	}
	key, value, _ := strings.Cut(entry, "=")
	return err == nil && variable(environ, key) == value
}

// openNoControl opens a terminal without taking it for one's own.
const openNoControl = syscall.O_NOCTTY | syscall.O_NONBLOCK

// queued returns how many bytes of input a terminal's program has not read. In
// canonical mode a line counts once it is complete.
func queued(tty *os.File) (n int, err error) {
	raw, err := tty.SyscallConn()
	if err != nil {
		return 0, err
	}
	var count int32
	var errno syscall.Errno
	if err := raw.Control(func(fd uintptr) {
		_, _, errno = syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCINQ, uintptr(unsafe.Pointer(&count)))
	}); err != nil {
		return 0, err
	}
	if errno != 0 {
		return 0, errno
	}
	return int(count), nil
}

// lineModes reports whether a terminal echoes what is typed, and whether it
// hands over whole lines.
func lineModes(tty *os.File) (echo, lineMode bool, err error) {
	raw, err := tty.SyscallConn()
	if err != nil {
		return false, false, err
	}
	var modes syscall.Termios
	var errno syscall.Errno
	if err := raw.Control(func(fd uintptr) {
		_, _, errno = syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TCGETS, uintptr(unsafe.Pointer(&modes)))
	}); err != nil {
		return false, false, err
	}
	if errno != 0 {
		return false, false, errno
	}
	return modes.Lflag&syscall.ECHO != 0, modes.Lflag&syscall.ICANON != 0, nil
}

// childAttr makes a child that is not of our process group, so that a Ctrl-C
// for us is none for it, and that goes when we are killed: a client whose
// reader is gone may never get to the end of its input.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
