// Package local stages files and runs commands on this machine, for providers
// whose sessions run here.
package local

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"den/internal/base/fault"
	"den/internal/place/provider"
)

// Place is this machine.
type Place struct{}

// Stage unpacks files below the working directory.
func (Place) Stage(ctx context.Context, name string, c provider.Config, files io.Reader, o provider.StageOptions) error {
	if !filepath.IsAbs(c.WorkDir) {
		return fault.Errorf(fault.Usage, "stage files for session '%s': working directory '%s' is not an absolute path", name, c.WorkDir)
	}
	if err := os.MkdirAll(c.WorkDir, 0o755); err != nil {
		return fault.Errorf(fault.Storage, "stage files for session '%s': %w", name, err)
	}
	if err := unpack(ctx, c.WorkDir, files, o); err != nil {
		return fmt.Errorf("stage files for session '%s': %w", name, err)
	}
	return nil
}

// unpack unpacks files below a directory.
func unpack(ctx context.Context, dir string, files io.Reader, o provider.StageOptions) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fault.Errorf(fault.Storage, "%w", err)
	}
	defer root.Close() // Best effort: a directory that was only opened.
	u := unpacker{root: root, options: o}
	archive := tar.NewReader(files)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fault.Errorf(fault.Usage, "read archive: %w", err)
		}
		if err := u.entry(h, archive); err != nil {
			return err
		}
	}
}

// unpacker writes the entries of an archive below one directory: the system
// itself sees to it that no symbolic link leads out.
type unpacker struct {
	root    *os.Root
	options provider.StageOptions
}

func (u *unpacker) entry(h *tar.Header, content io.Reader) error {
	path := filepath.Clean(h.Name)
	if !filepath.IsLocal(path) {
		return fault.Errorf(fault.Usage, "'%s' is not below the working directory", h.Name)
	}
	if u.options.Progress != nil {
		u.options.Progress(path)
	}
	mode := h.FileInfo().Mode().Perm()
	if h.Typeflag == tar.TypeDir {
		return u.root.MkdirAll(path, mode|0o700)
	}
	if err := u.root.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	there, err := u.makeRoom(path)
	if there || err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeReg:
		return u.file(path, mode, content)
	case tar.TypeSymlink:
		return u.root.Symlink(h.Linkname, path) // it may lead out; nothing is written through it
	}
	return fault.Errorf(fault.Unsupported, "'%s' is no file, directory or symbolic link", h.Name)
}

// makeRoom removes what an entry replaces. It reports whether that stays.
func (u *unpacker) makeRoom(path string) (stays bool, err error) {
	_, err = u.root.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case u.options.KeepExisting:
		return true, nil
	}
	return false, u.root.Remove(path)
}

func (u *unpacker) file(path string, mode fs.FileMode, content io.Reader) error {
	out, err := u.root.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, content)
	if err == nil {
		err = out.Chmod(mode) // whatever the umask is
	}
	return errors.Join(err, out.Close())
}

// pipeLimit is how long a child that the command left behind may hold its
// output open.
const pipeLimit = 500 * time.Millisecond

// Exec runs a command with this process's environment. When the context ends,
// its whole process group is killed.
func (Place) Exec(ctx context.Context, name string, c provider.Config, e provider.ExecSpec) (int, error) {
	if len(e.Argv) == 0 || e.Argv[0] == "" {
		return 0, fault.Errorf(fault.Usage, "run a command beside session '%s': none is given", name)
	}
	cmd := exec.CommandContext(ctx, e.Argv[0], e.Argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Dir = e.Stdin, e.Stdout, e.Stderr, e.Dir
	if cmd.Dir == "" {
		cmd.Dir = existing(c.WorkDir)
	}
	cmd.Env = append(os.Environ(), provider.Assignments(e.Env)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = pipeLimit
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil && err != nil:
		return 0, fmt.Errorf("run %q beside session '%s': %w", e.Argv[0], name, ctx.Err())
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return 0, nil
	case errors.As(err, &exit):
		return exitCode(exit), nil
	}
	return 0, fmt.Errorf("run a command beside session '%s': %w", name, err)
}

// existing is the directory, or "" where it is not there yet: a command may be
// what makes it.
func existing(dir string) string {
	if _, err := os.Stat(dir); err != nil {
		return ""
	}
	return dir
}

func exitCode(e *exec.ExitError) int {
	if status, ok := e.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return e.ExitCode()
}
