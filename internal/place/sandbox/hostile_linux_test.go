package sandbox_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"den/internal/testkit/need"

	"den/internal/place/sandbox"

	"golang.org/x/sys/unix"
)

// An attack is what the hostile program is told of the machine. It knows all
// paths: what it does not find, it was kept from.
type attack struct {
	Stolen, Kept []string // what it tries to read, and to change
	PID          int      // of a process that is not its own
	Path         string   // of a socket
	Abstract     string
	TCP, UDP     string
	Network      string
	Hides        bool
}

// try is one thing that must not work; nil means that it did.
type try struct {
	name string
	do   func() error
}

var errNotTried = errors.New("there is nothing to try")

// unseen is for what may work in the agent's own home and /tmp: whether it did
// elsewhere is looked at from outside.
func unseen(error) error { return errNotTried }

// planted is a file beside another.
func planted(path string) string { return filepath.Join(filepath.Dir(path), "planted") }

// hostile tries everything, and prints what worked.
func hostile(file string) {
	data, err := os.ReadFile(file)
	var a attack
	if err == nil {
		err = json.Unmarshal(data, &a)
	}
	if err != nil {
		fmt.Println("hostile:", err)
		os.Exit(1)
	}
	tries := a.tries()
	for _, one := range tries {
		if err := one.do(); err == nil {
			fmt.Println("ESCAPE", one.name)
		}
	}
	fmt.Println("TRIED", len(tries))
}

func (a attack) tries() []try {
	var all []try
	add := func(name string, do func() error) { all = append(all, try{name, do}) }
	for i, path := range a.Stolen {
		here := fmt.Sprintf("steal-%d", i)
		add("read "+path, func() error { return read(path) })
		add("read through a link "+path, func() error { return errors.Join(os.Symlink(path, here+"-link"), read(here+"-link")) })
		add("read through a hard link "+path, func() error { return errors.Join(os.Link(path, here+"-hard"), read(here+"-hard")) })
		add("move here "+path, func() error { return os.Rename(path, here+"-moved") })
		add("overwrite "+path, func() error { return overwrite(path) })
		add("remove "+path, func() error { return os.Remove(path) })
		add("truncate "+path, func() error { return os.Truncate(path, 0) })
		add("list "+filepath.Dir(path), func() error { return list(filepath.Dir(path), filepath.Base(path)) })
		add("read through another's root "+path, func() error { return read(fmt.Sprintf("/proc/%d/root%s", a.PID, path)) })
		add("read through /proc/1/root "+path, func() error { return read("/proc/1/root" + path) })
		add("read through dots "+path, func() error { return read(strings.Repeat("../../", 30) + path[1:]) })
		add("create beside "+path, func() error { return unseen(create(planted(path))) })
	}
	for _, path := range a.Kept {
		add("overwrite "+path, func() error { return overwrite(path) })
		add("remove "+path, func() error { return os.Remove(path) })
		add("replace "+path, func() error { return errors.Join(os.WriteFile("planted", nil, 0o600), os.Rename("planted", path)) })
		add("truncate "+path, func() error { return os.Truncate(path, 0) })
		add("create beside "+path, func() error { return unseen(create(planted(path))) })
		if a.Hides { // Landlock does not know of modes
			add("chmod "+path, func() error { return os.Chmod(path, 0o777) })
		}
	}
	all = append(all, a.onProcesses()...)
	all = append(all, a.onSockets()...)
	return append(all, a.onTheMachine()...)
}

func (a attack) onProcesses() []try {
	proc := func(name string) string { return fmt.Sprintf("/proc/%d/%s", a.PID, name) }
	all := []try{
		{"signal the parent", func() error { return syscall.Kill(os.Getppid(), 0) }},
		{"trace another process", func() error { return unix.PtraceSeize(a.PID) }},
		{"read its environment", func() error { return read(proc("environ")) }},
		{"read its memory", func() error { return read(proc("mem")) }},
		{"map its memory", func() error { return read(proc("maps")) }},
		{"read its memory by a call", func() error {
			buffer := make([]byte, 8)
			_, err := unix.ProcessVMReadv(a.PID, []unix.Iovec{{Base: &buffer[0], Len: 8}}, []unix.RemoteIovec{{Base: 0x400000, Len: 8}}, 0)
			if errors.Is(err, unix.EFAULT) {
				return nil // it was let
			}
			return err
		}},
		{"enter its directory", func() error { return os.Chdir(proc("cwd")) }},
		{"read its directory", func() error { return read(proc("cwd/file")) }},
		{"read its descriptors", func() error { _, err := os.Readlink(proc("fd/0")); return err }},
		{"enter its namespaces", func() error { return enter(proc("ns/mnt")) }},
		{"enter those of process 1", func() error { return enter("/proc/1/ns/mnt") }},
		{"limit its time", func() error {
			return unix.Prlimit(a.PID, unix.RLIMIT_CPU, &unix.Rlimit{Cur: 0, Max: 0}, nil)
		}},
		{"lower its priority", func() error { return unix.Setpriority(unix.PRIO_PROCESS, a.PID, 19) }},
		{"set that of all processes", func() error { // to what it is: a fault here must not slow its machine
			if err := unix.Setpriority(unix.PRIO_USER, 0, 0); !errors.Is(err, unix.EACCES) {
				return err
			}
			return nil // it was let, and some are lower
		}},
		{"lower its priority for disks", call(unix.SYS_IOPRIO_SET, 1, uintptr(a.PID), 3<<13)},
		{"set that of all processes for disks", call(unix.SYS_IOPRIO_SET, 3, uintptr(os.Getuid()), 0)},
		{"choose its processors", func() error {
			var set unix.CPUSet
			if err := unix.SchedGetaffinity(0, &set); err != nil {
				return err
			}
			return unix.SchedSetaffinity(a.PID, &set)
		}},
		{"have it run when nobody else does", func() error {
			return unix.SchedSetAttr(a.PID, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0)
		}},
		{"have it run when nobody else does, by the older call", call(unix.SYS_SCHED_SETSCHEDULER, uintptr(a.PID), unix.SCHED_BATCH, addressOf(zeros))},
		{"set its parameters", call(unix.SYS_SCHED_SETPARAM, uintptr(a.PID), addressOf(zeros), 0)},
		{"take its files", func() error {
			pidfd, err := unix.PidfdOpen(a.PID, 0)
			if err == nil {
				_, err = unix.PidfdGetfd(pidfd, 0, 0)
			}
			return err
		}},
		// The last one: it may end the process.
		{"signal another process", func() error { return syscall.Kill(a.PID, syscall.SIGTERM) }},
	}
	return all
}

func (a attack) onSockets() []try {
	dial := func(network, address string) func() error {
		return func() error {
			c, err := net.Dial(network, address)
			if err == nil {
				c.Close()
			}
			return err
		}
	}
	all := []try{
		{"connect to a socket", dial("unix", a.Path)},
		{"connect to an abstract socket", dial("unix", a.Abstract)},
		{"send to a socket", func() error {
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			if err == nil {
				err = unix.Connect(fd, &unix.SockaddrUnix{Name: a.Path})
			}
			return err
		}},
		{"open a packet socket", socket(unix.AF_PACKET, unix.SOCK_RAW)},
		{"open a vsock", socket(unix.AF_VSOCK, unix.SOCK_STREAM)},
		{"open a crypto socket", socket(unix.AF_ALG, unix.SOCK_SEQPACKET)},
		{"open a bluetooth socket", socket(unix.AF_BLUETOOTH, unix.SOCK_RAW)},
		{"set up a ring", func() error {
			params := make([]byte, 128)
			_, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 4, addressOf(params), 0)
			return asError(errno)
		}},
	}
	if a.Network != sandbox.NetworkAny {
		all = append(all, try{"connect by TCP", dial("tcp", a.TCP)}, try{"send by UDP", func() error {
			c, err := net.Dial("udp", a.UDP)
			if err != nil {
				return err
			}
			defer c.Close()
			if _, err = c.Write([]byte("x")); err != nil {
				return err
			}
			_, err = c.Read(make([]byte, 1)) // refused, where nobody is there
			return err
		}}, try{"reach another network", dial("tcp", "192.0.2.1:80")}, try{"open a raw socket", socket(unix.AF_INET, unix.SOCK_RAW)})
	}
	if a.Network == sandbox.NetworkNone {
		all = append(all, try{"open a TCP socket", socket(unix.AF_INET, unix.SOCK_STREAM)}, try{"open a UDP socket", socket(unix.AF_INET6, unix.SOCK_DGRAM)})
	}
	return all
}

func (a attack) onTheMachine() []try {
	write := func(path string) try { return try{"write " + path, func() error { return overwrite(path) }} }
	all := []try{
		{"read /etc/shadow", func() error { return read("/etc/shadow") }},
		{"read /etc/gshadow", func() error { return read("/etc/gshadow") }},
		{"list /root", func() error { return list("/root", ".bashrc") }},
		{"plant in /etc", func() error { return create("/etc/planted") }},
		{"plant in /usr", func() error { return create("/usr/local/bin/planted") }},
		{"plant in /var", func() error { return create("/var/lib/planted") }},
		{"plant in /", func() error { return create("/planted") }},
		{"plant in /dev", func() error { return create("/dev/planted") }},
		{"plant in /run", func() error { return create("/run/planted") }},
		{"mount a file system", func() error { return unix.Mount("tmpfs", "/usr", "tmpfs", 0, "") }},
		{"bind over its directory", func() error { return unix.Mount("/", ".", "", unix.MS_BIND, "") }},
		{"unmount /tmp", func() error { return unix.Unmount("/tmp", unix.MNT_DETACH) }},
		{"unmount the home", func() error { return unix.Unmount(os.Getenv("HOME"), unix.MNT_DETACH) }},
		{"make a mount writable", func() error { return unix.Mount("", "/usr", "", unix.MS_REMOUNT|unix.MS_BIND, "") }},
		{"change the root", func() error { return unix.Chroot("/usr") }},
		{"turn the root", func() error { return unix.PivotRoot(".", ".") }},
		{"make a device", func() error { return unix.Mknod("kmem", unix.S_IFCHR|0o600, 1<<8|2) }},
		{"make a disk", func() error { return unix.Mknod("disk", unix.S_IFBLK|0o600, 8<<8) }},
		{"become another user", func() error {
			uid := 1
			if os.Getuid() == 1 {
				uid = 2
			}
			return unix.Setuid(uid)
		}},
		{"become root", func() error {
			if os.Getuid() == 0 {
				return errNotTried
			}
			return unix.Setuid(0)
		}},
		{"get privileges", func() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0) }},
		{"load a module", func() error { return unix.InitModule([]byte("x"), "") }},
		{"restart the machine", func() error {
			if os.Getuid() == 0 {
				return errNotTried // capabilities are looked at instead
			}
			return unix.Reboot(unix.LINUX_REBOOT_CMD_CAD_OFF)
		}},
		{"have a capability", haveCapability},
		{"push input into the terminal", func() error {
			c := byte('x')
			_, _, errno := unix.Syscall(unix.SYS_IOCTL, 0, unix.TIOCSTI, addressOf([]byte{c}))
			if errno == unix.ENOTTY {
				return nil // the call was let through
			}
			return asError(errno)
		}},
		{"read keys", func() error {
			_, err := unix.KeyctlInt(unix.KEYCTL_GET_KEYRING_ID, unix.KEY_SPEC_USER_KEYRING, 0, 0, 0)
			return err
		}},
		{"have another file open", inherited},
		{"read the keeper's variables", func() error {
			if strings.Contains(strings.Join(os.Environ(), "\n"), secret) {
				return nil
			}
			return os.ErrPermission
		}},
	}
	// Another's semaphores and queues: only that there are none with this number or
	// name says that the call was let through, where it has no namespace of its own.
	if !a.Hides {
		for what, do := range map[string]func() error{
			"get shared memory": call(unix.SYS_SHMGET, 4711, 1, 0), "attach it": call(unix.SYS_SHMAT, 1<<30, 0, 0), "control it": call(unix.SYS_SHMCTL, 1<<30, 0, 0), "detach it": call(unix.SYS_SHMDT, 1, 0, 0),
			"get semaphores": call(unix.SYS_SEMGET, 4711, 1, 0), "control them": call(unix.SYS_SEMCTL, 1<<30, 0, 0),
			"use them": call(unix.SYS_SEMOP, 1<<30, addressOf(zeros), 1), "use them for a time": call(unix.SYS_SEMTIMEDOP, 1<<30, addressOf(zeros), 1),
			"get a queue": call(unix.SYS_MSGGET, 4711, 0, 0), "control it too": call(unix.SYS_MSGCTL, 1<<30, 0, 0), "send": call(unix.SYS_MSGSND, 1<<30, addressOf(zeros), 1), "receive": call(unix.SYS_MSGRCV, 1<<30, addressOf(zeros), 1),
			"open a queue": call(unix.SYS_MQ_OPEN, addressOf(missing), 0, 0), "remove one": call(unix.SYS_MQ_UNLINK, addressOf(missing), 0, 0),
			"send to one": call(unix.SYS_MQ_TIMEDSEND, 1000, addressOf(missing), 1), "receive from one": call(unix.SYS_MQ_TIMEDRECEIVE, 1000, addressOf(missing), 1),
			"be told by one": call(unix.SYS_MQ_NOTIFY, 1000, 0, 0), "set one": call(unix.SYS_MQ_GETSETATTR, 1000, 0, 0),
		} {
			all = append(all, try{"of IPC, " + what, func() error {
				if err := do(); err == nil || !errors.Is(err, unix.ENOSYS) {
					return nil
				}
				return unix.ENOSYS
			}})
		}
	}
	for _, path := range []string{"/dev/mem", "/dev/kmem", "/dev/sda", "/dev/vda", "/dev/kmsg", "/dev/pts/0", "/dev/input/event0"} {
		all = append(all, try{"open " + path, func() error {
			f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOCTTY, 0) // it must not become its terminal
			if err == nil {
				f.Close()
			}
			return err
		}})
	}
	for _, path := range []string{"/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/sys/kernel/modprobe", "/proc/1/oom_score_adj", "/sys/fs/cgroup/cgroup.procs"} {
		all = append(all, write(path))
	}
	return all
}

func read(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Read(make([]byte, 1))
	return err
}

func overwrite(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		f.Close()
	}
	return err
}

func create(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		f.Close()
	}
	return err
}

// list tells whether a directory shows a name.
func list(dir, name string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == name {
			return nil
		}
	}
	return os.ErrNotExist
}

func enter(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY, 0)
	if err == nil {
		err = unix.Setns(fd, 0)
	}
	return err
}

func socket(family, kind int) func() error {
	return func() error {
		fd, err := unix.Socket(family, kind, 0)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
}

func haveCapability() error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":\t")
		if name == "CapPrm" || name == "CapEff" || name == "CapAmb" {
			if strings.Trim(value, "0") != "" {
				return nil
			}
		}
	}
	return os.ErrPermission
}

// inherited tells whether a descriptor besides the three is something that
// was opened outside.
func inherited() error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasSuffix(to, "inherited") {
			return nil
		}
	}
	return os.ErrNotExist
}

// What calls are given stays where it is.
var (
	zeros   = make([]byte, 16)
	missing = []byte("den-missing\x00")
)

// call makes a system call.
func call(number, a, b, c uintptr) func() error {
	return func() error {
		_, _, errno := unix.Syscall(number, a, b, c)
		return asError(errno)
	}
}

func asError(errno unix.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

// The law: whatever a program in the sandbox tries, as whoever, held in either
// way, it gets nothing, and nothing is changed.
func TestHostileProgramGetsNothing(t *testing.T) {
	for _, network := range sandbox.Networks {
		t.Run(network, func(t *testing.T) {
			everywhere(t, func(t *testing.T, w *world, namespaces bool) {
				if network == sandbox.NetworkLoopback && !namespaces {
					need.Apart(t, "refused: see TestRefusals")
				}
				w.policy.Network = network
				attackWith(t, w, namespaces)
			})
		})
	}
}

func attackWith(t *testing.T, w *world, namespaces bool) {
	a := attack{
		Stolen: w.stolen, Kept: w.kept, PID: w.outside(), Path: w.at("run.sock"), Abstract: "@" + w.dir, Network: w.policy.Network, Hides: namespaces,
	}
	listen(t, "unix", a.Path)
	if err := os.Chmod(a.Path, 0o777); err != nil {
		t.Fatal(err)
	}
	listen(t, "unix", a.Abstract)
	a.TCP = listen(t, "tcp", "127.0.0.1:0").Addr().String()
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	a.UDP = udp.LocalAddr().String()
	data, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	w.write("den/workspaces/1/worktrees/coder/tree/attack.json", string(data), 0o644)
	cmd := w.confine(w.den, "hostile", "attack.json")
	before := w.contents()
	open, err := os.Create(w.at("inherited"))
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	cmd.ExtraFiles = []*os.File{open}
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	var tried int
	for line := range strings.Lines(out.String()) {
		if what, ok := strings.CutPrefix(line, "ESCAPE "); ok {
			t.Error("it could", strings.TrimSpace(what))
		}
		_, _ = fmt.Sscanf(line, "TRIED %d", &tried)
	}
	if tried < 250 {
		t.Errorf("it tried %d things: %s", tried, out.String())
	}
	if !alive(a.PID) {
		t.Error("the other process is gone")
	}
	for path, text := range w.contents() {
		if before[path] != text {
			t.Errorf("%s became %q", path, text)
		}
	}
}

// writes reports whether a directory is one of the agent's.
func (w *world) writes(dir string) bool {
	return slices.Contains([]string{w.policy.WorkDir, w.policy.Write[0], w.at("repo/.git/worktrees/tree")}, dir)
}

// contents reads all that must stay as it is.
func (w *world) contents() map[string]string {
	all := map[string]string{}
	var paths []string
	for _, path := range append(w.stolen, w.kept...) {
		paths = append(paths, path)
		if !w.writes(filepath.Dir(path)) {
			paths = append(paths, planted(path))
		}
	}
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			all[path] = "missing"
			continue
		}
		data, err := io.ReadAll(io.LimitReader(f, 4096))
		f.Close()
		all[path] = fmt.Sprint(string(data), err)
	}
	return all
}

func addressOf(data []byte) uintptr { return uintptr(unsafe.Pointer(&data[0])) }

// The same program without a sandbox gets what it wants: the law above could
// fail.
func TestHostileProgramWithoutSandbox(t *testing.T) {
	w := newWorld(t, users["nobody"], false)
	a := attack{Stolen: w.stolen, PID: w.outside(), Path: w.at("run.sock"), Abstract: "@" + w.dir, Network: sandbox.NetworkNone}
	listen(t, "unix", a.Path)
	if err := os.Chmod(a.Path, 0o777); err != nil {
		t.Fatal(err)
	}
	listen(t, "unix", a.Abstract)
	a.TCP, a.UDP = listen(t, "tcp", "127.0.0.1:0").Addr().String(), "127.0.0.1:9"
	data, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	w.write("attack.json", string(data), 0o644)
	cmd := w.as(exec.Command(w.den, "hostile", w.at("attack.json")))
	cmd.Dir = w.policy.WorkDir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := []string{"connect to a socket", "connect to an abstract socket", "connect by TCP", "open a UDP socket", "signal another process", "read its environment", "limit its time", "lower its priority", "lower its priority for disks", "choose its processors", "have it run when nobody else does", "set its parameters", "read the keeper's variables"}
	for _, path := range w.stolen {
		want = append(want, "read "+path, "read through a link "+path)
	}
	for _, what := range want {
		if !strings.Contains(string(out), "ESCAPE "+what+"\n") {
			t.Errorf("it could not %s", what)
		}
	}
}
