package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"den/internal/base/fault"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// The second stage of the command: it is in a user namespace. And the question
// what this machine can do.
const (
	enteredFlag = "--entered"
	probeFlag   = "--probe"
)

// cannotRun is the status of a command that could not be started, as in a shell.
const cannotRun = 126

// Main is the whole process of `den confine`. It does not return if the command
// could be started.
func Main(args, environ []string, stdout, stderr io.Writer) int {
	// What is given up holds for this thread, which becomes the command.
	runtime.LockOSThread()
	entered := len(args) > 0 && args[0] == enteredFlag
	if entered {
		args = args[1:]
	}
	if len(args) == 1 && args[0] == probeFlag {
		if err := json.NewEncoder(stdout).Encode(probe(entered)); err != nil {
			return 1
		}
		return 0
	}
	err := start(args, environ, entered)
	fmt.Fprintln(stderr, "den: sandbox:", err)
	if hint := fault.HintOf(err); hint != "" {
		fmt.Fprintln(stderr, "hint:", hint)
	}
	return cannotRun
}

// start becomes the command, and tells who awaits it why it cannot.
func start(args, environ []string, entered bool) error {
	if len(args) < 3 || args[1] != "--" {
		return fault.Errorf(fault.Usage, "'den %s' is for den itself", Verb)
	}
	p, err := load(args[0])
	if err != nil {
		return err
	}
	// No other process may hold the pipe: it is opened anew in each stage.
	fd, err := syscall.Open(p.entryFile(), syscall.O_WRONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	awaited := err == nil
	if !awaited && !errors.Is(err, syscall.ENOENT) && !errors.Is(err, syscall.ENXIO) {
		return fault.Errorf(fault.Storage, "open %s: %w", p.entryFile(), err)
	}
	if p.Held.Namespaces == byUser && !entered {
		err = enterUser(p, args, environ)
	} else {
		if awaited {
			_, _ = syscall.Write(fd, []byte(entering)) // Best effort: who does not wait any more need not know.
		}
		err = confine(p, args[2:], environ)
	}
	if awaited {
		_, _ = syscall.Write(fd, []byte(entering+err.Error()+"\n"+fault.HintOf(err)))
	}
	return err
}

// confine gives up what the policy does not grant, and becomes the command.
func confine(p Policy, argv, environ []string) error {
	dir, err := os.Getwd()
	if err != nil {
		return fault.Errorf(fault.Internal, "find the working directory: %w", err)
	}
	program := find(argv[0], dir, environ)
	if program == "" {
		return fault.Errorf(fault.NotFound, "%s: no such program on PATH", argv[0])
	}
	grants := p.grants(program, environ)
	env := p.environ(environ)
	if p.Held.Hides() {
		if err := p.ownRoot(grants, dir); err != nil {
			return err
		}
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	if err := p.landlock(grants); err != nil {
		return err
	}
	if err := p.filterCalls(); err != nil {
		return err
	}
	if err := unix.CloseRange(3, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fault.Errorf(fault.Internal, "close what was inherited: %w", err)
	}
	err = syscall.Exec(program, argv, env)
	return startError(p, program, err)
}

// startError says what a program lacked that could not be started.
func startError(p Policy, program string, err error) error {
	_, gone := os.Lstat(program)
	switch {
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.ENOENT) && gone != nil:
		return fault.Hintf(fault.Errorf(fault.Denied, "agent '%s' may not execute %s: %w", p.Agent, program, err),
			"sandbox = { read = [\"%s\"] } grants it", filepath.Dir(program))
	case errors.Is(err, syscall.ENOENT):
		return fault.Hintf(fault.Errorf(fault.Denied, "%s cannot start: its interpreter or its loader is not in the sandbox", program), "grant it with sandbox = { read = [...] }")
	}
	return fault.Errorf(fault.Internal, "start %s: %w", program, err)
}

// enterUser has this process start again in a user namespace, as the same user.
// It keeps its number: nobody between it and its parent.
func enterUser(p Policy, args, environ []string) error {
	self, err := os.Executable()
	if err != nil {
		return fault.Errorf(fault.Internal, "find this binary: %w", err)
	}
	argv := append(unshareWords(p.Held.Unshare, p.Network), self, Verb, enteredFlag)
	err = syscall.Exec(p.Held.Unshare, append(argv, args...), environ)
	return fault.Errorf(fault.Internal, "start %s: %w", p.Held.Unshare, err)
}

// unshareWords is the command that enters the namespaces of a policy.
func unshareWords(unshare, network string) []string {
	words := []string{unshare, "--user", "--map-current-user", "--keep-caps", "--mount", "--ipc"}
	if network != NetworkAny {
		words = append(words, "--net")
	}
	return append(words, "--")
}

// Probe finds out what this machine can do. den is the binary that tries it.
func Probe(den string) Support {
	out, err := exec.Command(den, Verb, probeFlag).Output()
	var s Support
	if err == nil {
		err = json.Unmarshal(out, &s)
	}
	if err != nil {
		return Support{Why: fmt.Sprintf("it could not be tried: %v", err)}
	}
	return s
}

// probe tries to make namespaces. Its process is used up by that.
func probe(entered bool) Support {
	s := Support{}
	if v, err := ll.LandlockGetABIVersion(); err == nil {
		s.Landlock = v
	}
	if entered {
		s.Why = words(tryMount())
		return s
	}
	err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWNET)
	if err == nil {
		if err = tryMount(); err == nil {
			s.Namespaces = direct
			return s
		}
	}
	return s.probeUser(err)
}

func (s Support) probeUser(before error) Support {
	s.Why = words(before)
	file, err := exec.LookPath("unshare")
	if err != nil {
		s.Why += "; there is no program 'unshare' (util-linux)"
		return s
	}
	self, err := os.Executable()
	if err != nil {
		return s
	}
	argv := append(unshareWords(file, NetworkNone), self, Verb, enteredFlag, probeFlag)
	cmd := exec.Command(argv[0], argv[1:]...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	var inner Support
	if err == nil {
		err = json.Unmarshal(out, &inner)
	}
	switch {
	case err != nil:
		s.Why = "a user namespace: " + strings.TrimSpace(said.String()+" "+err.Error())
	case inner.Why != "":
		s.Why = "in a user namespace: " + inner.Why
	default:
		s.Namespaces, s.Unshare, s.Why = byUser, file, ""
	}
	return s
}

func words(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// tryMount mounts something in a namespace that was just made.
func tryMount() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts private: %w", err)
	}
	if err := unix.Mount("tmpfs", "/proc/self/task", "tmpfs", 0, ""); err == nil {
		return nil
	}
	if err := unix.Mount("tmpfs", os.TempDir(), "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=4k"); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	return nil
}

// dropCapabilities gives up what root, or the maker of a namespace, could do:
// the command gets none, whatever it executes.
func dropCapabilities() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fault.Errorf(fault.Internal, "give up capabilities: %w", err)
	}
	for c := 0; ; c++ {
		held, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, uintptr(c), 0, 0, 0)
		if errors.Is(err, unix.EINVAL) {
			break // the kernel knows no more
		}
		if held == 1 {
			err = unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0)
		}
		if err != nil && (os.Geteuid() == 0 || !errors.Is(err, unix.EPERM)) { // who is not root gets nothing from the set
			return fault.Errorf(fault.Internal, "give up capability %d: %w", c, err)
		}
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&head, &none[0]); err != nil {
		return fault.Errorf(fault.Internal, "give up capabilities: %w", err)
	}
	return nil
}

// sorted orders grants so that what lies in another comes behind it.
func sorted(grants []grant) []grant {
	all := slices.Clone(grants)
	slices.SortStableFunc(all, func(a, b grant) int {
		return slices.Compare(strings.Split(a.path, "/"), strings.Split(b.path, "/"))
	})
	return all
}

// archs are the machines whose calls the filter knows, as the kernel names them.
func archs() map[string]uint32 {
	return map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}
}

// Where the parts of a call are in what a filter sees.
const (
	atCall = 0
	atArch = 4
	atArg0 = 16
	atArg1 = 24
)

const x32Bit = 0x40000000

// ioprioProcess is the first argument of ioprio_set that means a process.
const ioprioProcess = 1

// ipcCalls are all calls of System V's IPC and of POSIX' message queues.
var ipcCalls = []uintptr{
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SHMDT,
	unix.SYS_SEMGET, unix.SYS_SEMCTL, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP,
	unix.SYS_MSGGET, unix.SYS_MSGCTL, unix.SYS_MSGRCV, unix.SYS_MSGSND,
	unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK, unix.SYS_MQ_TIMEDSEND, unix.SYS_MQ_TIMEDRECEIVE, unix.SYS_MQ_NOTIFY, unix.SYS_MQ_GETSETATTR,
}

// filter is a program for the kernel. Every part of it ends in a decision or
// falls through to the next with the call's number loaded.
type filter []unix.SockFilter

func (f *filter) op(code uint16, k uint32, yes, no uint8) {
	*f = append(*f, unix.SockFilter{Code: code, Jt: yes, Jf: no, K: k})
}

func (f *filter) load(at uint32) { f.op(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, at, 0, 0) }

func (f *filter) refuse(errno unix.Errno) {
	f.op(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ERRNO|uint32(errno), 0, 0)
}

// deny refuses a call.
func (f *filter) deny(call uintptr, errno unix.Errno) {
	f.op(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, uint32(call), 0, 1)
	f.refuse(errno)
}

// only refuses a call unless an argument is one of some values; except turns
// that around.
func (f *filter) only(call uintptr, arg uint32, errno unix.Errno, except bool, values ...uint32) {
	n := uint8(len(values))
	f.op(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, uint32(call), 0, n+3)
	f.load(arg)
	for i, v := range values {
		f.op(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, v, n-uint8(i), 0)
	}
	if except {
		f.op(unix.BPF_JMP|unix.BPF_JA|unix.BPF_K, 1, 0, 0)
		f.refuse(errno)
	} else {
		f.refuse(errno)
		f.op(unix.BPF_JMP|unix.BPF_JA|unix.BPF_K, 0, 0, 0)
	}
	f.load(atCall)
}

// filterCalls gives up the calls that reach what neither files nor namespaces
// hold: other kinds of sockets, other processes' limits and priorities, keys of
// the kernel, input for the terminal.
func (p Policy) filterCalls() error {
	arch, ok := archs()[runtime.GOARCH]
	if !ok {
		return fault.Errorf(fault.Unsupported, "den does not know the system calls of %s", runtime.GOARCH)
	}
	var f filter
	f.load(atArch)
	f.op(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, arch, 1, 0)
	f.refuse(unix.ENOSYS) // the calls of another machine have other numbers
	f.load(atCall)
	if runtime.GOARCH == "amd64" {
		f.op(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, x32Bit, 0, 1)
		f.refuse(unix.ENOSYS)
	}
	f.only(unix.SYS_SOCKET, atArg0, unix.EACCES, false, p.families()...)
	f.deny(unix.SYS_IO_URING_SETUP, unix.ENOSYS) // it would make sockets that no filter sees
	for _, call := range []uintptr{unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY} {
		f.deny(call, unix.ENOSYS)
	}
	f.only(unix.SYS_IOCTL, atArg1, unix.EPERM, true, unix.TIOCSTI, unix.TIOCLINUX)
	// Only the caller's own: a filter does not know whose another number is.
	for _, call := range []uintptr{unix.SYS_PRLIMIT64, unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETATTR} {
		f.only(call, atArg0, unix.EPERM, false, 0)
	}
	f.only(unix.SYS_SETPRIORITY, atArg0, unix.EPERM, false, unix.PRIO_PROCESS)
	f.only(unix.SYS_SETPRIORITY, atArg1, unix.EPERM, false, 0)
	f.only(unix.SYS_IOPRIO_SET, atArg0, unix.EPERM, false, ioprioProcess)
	f.only(unix.SYS_IOPRIO_SET, atArg1, unix.EPERM, false, 0)
	if !p.Held.Hides() { // else it has an IPC namespace of its own
		for _, call := range ipcCalls {
			f.deny(call, unix.ENOSYS)
		}
	}
	f.op(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ALLOW, 0, 0)
	program := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0); err != nil {
		return fault.Errorf(fault.Internal, "restrict system calls: %w", err)
	}
	return nil
}

// families are the kinds of sockets that the agent may make. Unix sockets can
// be kept from others' files only where these are not there, or by a newer
// Landlock.
func (p Policy) families() []uint32 {
	var all []uint32
	if p.Held.Hides() || p.Held.Landlock >= abiSockets {
		all = append(all, unix.AF_UNIX)
	}
	if p.Network != NetworkNone {
		all = append(all, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK) // the last to list addresses
	}
	return all
}
