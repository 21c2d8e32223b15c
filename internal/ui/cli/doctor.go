package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"den/internal/base/atomicfile"
	"den/internal/base/build"
	"den/internal/base/fault"
	"den/internal/base/poll"
	"den/internal/process/pty"
	"den/internal/session"
	"den/internal/session/home"
	"den/internal/session/wire"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// check is the result of one of doctor's checks.
type check struct {
	Name    string `json:"name"`
	Status  string `json:"status"` // ok, warn or fail
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"`
	MS      int64  `json:"duration_ms"`
}

func (a *app) doctorCmd() *cobra.Command {
	return a.colorFlag(&cobra.Command{
		Use:     "doctor",
		Short:   "Check that den works on this machine, and suggest fixes",
		Example: "  den doctor",
		Args:    args(0, 0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.runDoctor(cmd.Context()) },
	})
}

func (a *app) runDoctor(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	var checks []check
	failed := 0
	for _, c := range []struct {
		name string
		run  func(context.Context) (status, message, fix string)
	}{
		{"home", a.checkHome}, {"disk", a.checkDisk}, {"terminal", a.checkPTY},
		{"session", a.checkSession}, {"readiness", a.checkReadiness}, {"hosts", a.checkHosts},
	} {
		begun := time.Now()
		status, message, fix := c.run(ctx)
		checks = append(checks, check{c.name, status, message, fix, time.Since(begun).Milliseconds()})
		if status == "fail" {
			failed++
		}
	}
	err := a.answer(map[string]any{"ok": failed == 0, "checks": checks}, func(io.Writer) { printChecks(a.sheet(), checks) })
	if err == nil && failed > 0 {
		return reported{fault.Errorf(fault.Internal, "%d checks failed", failed)}
	}
	return err
}

func printChecks(to sheet, checks []check) {
	styles := map[string]style{"ok": good, "warn": warning, "fail": bad}
	for _, c := range checks {
		to.line(span{fmt.Sprintf("%-4s", c.Status), styles[c.Status]}, span{fmt.Sprintf("  %-9s", c.Name), strong}, span{text: "  " + c.Message})
		if c.Fix != "" {
			to.line(span{"                 fix: " + c.Fix, working})
		}
	}
}

func (a *app) checkHome(context.Context) (status, message, fix string) {
	root, err := a.home()
	if err != nil {
		return "fail", err.Error(), fault.HintOf(err)
	}
	if err := os.MkdirAll(root.Path, 0o700); err != nil {
		return "fail", err.Error(), "choose a directory that you may write to with --home DIR or DEN_HOME"
	}
	if err := root.CheckOwner(); err != nil {
		return "fail", err.Error(), fault.HintOf(err)
	}
	fi, err := os.Stat(root.Path)
	if err != nil {
		return "fail", err.Error(), ""
	}
	probe := filepath.Join(root.Path, ".doctor")
	if err := atomicfile.Write(probe, []byte("ok\n")); err != nil {
		return "warn", fmt.Sprintf("%s cannot be written: %v; sessions can be read only", root.Path, err), "choose another with --home DIR or DEN_HOME"
	}
	os.Remove(probe) // Best effort.
	if fi.Mode().Perm()&0o077 != 0 {
		return "warn", fmt.Sprintf("%s is open to other users (mode %04o)", root.Path, fi.Mode().Perm()), "chmod 700 " + root.Path
	}
	return "ok", root.Path, ""
}

func (a *app) checkDisk(context.Context) (status, message, fix string) {
	root, err := a.home()
	if err != nil {
		return "fail", err.Error(), ""
	}
	var st unix.Statfs_t
	if err := unix.Statfs(root.Path, &st); err != nil {
		return "warn", fmt.Sprintf("free space of %s is not known: %v", root.Path, err), ""
	}
	free := int64(st.Bavail) * int64(st.Bsize)
	message = formatBytes(free) + " free for event logs"
	if free < 512<<20 {
		return "warn", message, "'den gc' removes the logs of sessions that are over"
	}
	return "ok", message, ""
}

func (a *app) checkPTY(context.Context) (status, message, fix string) {
	tty, err := pty.Open(pty.Size{Cols: 80, Rows: 24})
	if err != nil {
		return "fail", err.Error(), "mount devpts on /dev/pts, and raise kernel.pty.max if all are in use"
	}
	if err := tty.Close(); err != nil {
		return "warn", err.Error(), ""
	}
	return "ok", "a pseudo-terminal opens", ""
}

// checkSession runs a whole small session in a Home of its own.
func (a *app) checkSession(ctx context.Context) (status, message, fix string) {
	dir, err := os.MkdirTemp("", "den-doctor-")
	if err != nil {
		return "fail", err.Error(), "make the temporary directory writable"
	}
	defer os.RemoveAll(dir)
	begun := time.Now()
	root := home.Home{Path: dir, Explicit: true}
	s, _, err := session.Create(ctx, root, home.Spec{
		Name: "doctor", Command: []string{"/bin/sh", "-c", "echo den-doctor; read x"}, Cwd: "/", Env: a.environ,
		Term: session.DefaultTerm, Cols: 80, Rows: 24, RecordInput: home.RecordAuto,
	}, a.options())
	if err != nil {
		return "fail", err.Error(), fault.HintOf(err)
	}
	text := "den-doctor"
	_, err = s.Wait(ctx, wire.Wait{Text: &text, Timeout: 5 * time.Second})
	_, kerr := s.Kill(ctx, time.Second)
	err = errors.Join(err, kerr)
	if err != nil {
		return "fail", err.Error(), fault.HintOf(err)
	}
	return "ok", fmt.Sprintf("a session starts, prints, is waited for and ends in %d ms", time.Since(begun).Milliseconds()), ""
}

func (a *app) checkReadiness(ctx context.Context) (status, message, fix string) {
	tty, err := pty.Open(pty.Size{Cols: 80, Rows: 24})
	if err != nil {
		return "fail", err.Error(), ""
	}
	defer tty.Close()
	pid, err := tty.Start(pty.Command{Argv: []string{"/bin/cat"}, Env: a.environ, Dir: "/"})
	if err != nil {
		return "warn", err.Error(), ""
	}
	defer func() {
		unix.Kill(pid, unix.SIGKILL) // Best effort: it may have ended.
		var ws unix.WaitStatus
		unix.Wait4(pid, &ws, 0, nil) // Best effort: only this process is its parent.
	}()
	tty.SetRoot(pid)
	var r pty.Readiness
	for begun := time.Now(); time.Since(begun) < time.Second; {
		if r = tty.Probe(); r.State == pty.Ready {
			return "ok", "the kernel tells when a program waits for input", ""
		}
		if err := poll.Pause(ctx, time.Millisecond); err != nil {
			return "warn", err.Error(), ""
		}
	}
	return "warn", "'wait --ready' cannot be answered here: " + r.Why, "use --text, --stable or --idle; on Linux, mount /proc without hidepid"
}

// checkHosts finds sessions whose host is gone or does not respond.
func (a *app) checkHosts(ctx context.Context) (status, message, fix string) {
	dirs, err := a.dirs()
	if err != nil {
		return "fail", err.Error(), ""
	}
	active, old := 0, 0
	for _, d := range dirs {
		m, err := d.Inspect()
		if err != nil {
			return "fail", err.Error(), fault.HintOf(err)
		}
		if !m.Status.Active() {
			continue
		}
		active++
		s, err := session.In(d, a.options()).HostStatus(ctx)
		if err != nil {
			return "fail", err.Error(), "den kill " + m.Name
		}
		if s.HostVersion != build.Version {
			old++
		}
	}
	message = fmt.Sprintf("%d active sessions, all answer", active)
	if old > 0 {
		return "warn", fmt.Sprintf("%s; %d run another version of den", message, old), "den host upgrade --all"
	}
	return "ok", message, ""
}

func (a *app) versionCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  den version -j",
		Args:    args(0, 0),
		RunE: func(*cobra.Command, []string) error {
			return a.answer(map[string]any{
				"version": build.Version, "protocol": wire.Version, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
			}, func(w io.Writer) {
				fmt.Fprintf(w, "den %s (protocol %d, %s, %s/%s)\n", build.Version, wire.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			})
		},
	}
}
