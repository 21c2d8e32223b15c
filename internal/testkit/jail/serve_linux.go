package jail

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

const (
	notes = "/notes/calls"
	// limit bounds a line: some loop for ever in one shell or another.
	limit = 10 * time.Second
)

// serve is the process in the jail, the first of its namespace.
func serve(in io.Reader, out io.Writer) error {
	read, answer := json.NewDecoder(in), json.NewEncoder(out)
	var given setup
	if err := read.Decode(&given); err != nil {
		return err
	}
	if err := build(given); err != nil {
		return err
	}
	r := &runner{}
	if err := r.listen(); err != nil {
		return err
	}
	var err error
	if r.clean, err = load(Home); err != nil {
		return err
	}
	if r.marks, err = marksOf(written); err != nil {
		return err
	}
	if err := answer.Encode(true); err != nil {
		return err
	}
	for {
		var j job
		if err := read.Decode(&j); err != nil {
			return nil // the test is over
		}
		did, err := r.run(j)
		if err != nil {
			did.Forgotten = err.Error()
		}
		if err := answer.Encode(did); err != nil {
			return err
		}
	}
}

// runner runs lines and sees what they change.
type runner struct {
	clean tree  // of Home
	marks marks // of all that can be written
	// Sockets on the jail's own loopback interface. They are asked when a line
	// is over: the kernel keeps what came meanwhile.
	tcp, udp int
}

func (r *runner) listen() (err error) {
	if err := loopbackUp(); err != nil {
		return err
	}
	open := func(kind int) (int, error) {
		fd, err := syscall.Socket(syscall.AF_INET, kind|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
		if err != nil {
			return 0, err
		}
		return fd, syscall.Bind(fd, &syscall.SockaddrInet4{Port: Port, Addr: [4]byte{127, 0, 0, 1}})
	}
	if r.udp, err = open(syscall.SOCK_DGRAM); err != nil {
		return err
	}
	if r.tcp, err = open(syscall.SOCK_STREAM); err != nil {
		return err
	}
	return syscall.Listen(r.tcp, 16)
}

// reached counts the connections and datagrams since it was last asked.
func (r *runner) reached() (n int) {
	for {
		fd, _, err := syscall.Accept(r.tcp)
		if err != nil {
			break
		}
		syscall.Close(fd)
		n++
	}
	for {
		if _, _, err := syscall.Recvfrom(r.udp, make([]byte, 1), 0); err != nil {
			return n
		}
		n++
	}
}

func loopbackUp() error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	request := struct {
		name  [syscall.IFNAMSIZ]byte
		flags uint16
		_     [22]byte
	}{flags: syscall.IFF_UP}
	copy(request.name[:], "lo")
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request))); errno != 0 {
		return errno
	}
	return nil
}

// environment has values that do harm where a shell evaluates them.
var environment = []string{
	"PATH=/bin", "HOME=" + Home, "LC_ALL=C.UTF-8", "x=a[$(pwn)]", "y=pwn", "z=$(pwn)", "n=3",
	"PAGER=pager", "EDITOR=editor", "NULLCMD=pwn", "READNULLCMD=pwn", "GIT_PAGER=pager",
}

func (r *runner) run(j job) (did Did, err error) {
	null, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
	if err != nil {
		return did, err
	}
	defer null.Close()
	pid, err := syscall.ForkExec("/bin/"+j.Shell, []string{j.Shell, "-c", j.Line}, &syscall.ProcAttr{
		Dir: Dir, Env: environment, Files: []uintptr{null.Fd(), null.Fd(), null.Fd()}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return did, err
	}
	var ended atomic.Bool
	end := time.AfterFunc(limit, func() {
		ended.Store(true)
		_ = syscall.Kill(-1, syscall.SIGKILL) // all of the namespace but this process
	})
	did.Status = reap(pid)
	end.Stop()
	did.TimedOut, did.Reached = ended.Load(), r.reached()
	if did.Calls, err = calls(); err != nil {
		return did, err
	}
	now, err := marksOf(written)
	if err != nil {
		return did, err
	}
	did.Changed, did.Read = r.marks.changed(now), r.marks.read(now, Outside)
	if len(did.Changed) > 0 {
		return did, r.restore()
	}
	r.marks = now
	return did, nil
}

// reap waits for all processes of a line, those in the background and those
// that lost their parents too.
func reap(shell int) (status int) {
	for {
		var w syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &w, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return status // none is left
		case pid == shell:
			status = w.ExitStatus()
		}
	}
}

// calls returns what canaries noted, and forgets it.
func calls() ([][]string, error) {
	data, err := os.ReadFile(notes)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all [][]string
	for call := range strings.SplitSeq(strings.TrimSuffix(string(data), "\x00"), "\x00") {
		all = append(all, strings.Split(call, "\x1f"))
	}
	return all, os.Remove(notes)
}

// restore puts back what lines may have written to.
func (r *runner) restore() error {
	for _, dir := range written {
		if err := empty(dir); err != nil {
			return err
		}
	}
	if err := r.clean.store(Home); err != nil {
		return err
	}
	var err error
	r.marks, err = marksOf(written)
	return err
}

var written = []string{Home, "/tmp"}
