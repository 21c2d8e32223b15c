package podhost

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"den/internal/base/fault"
)

// Install copies this binary into a pod's directory, and dend, which serves 'den
// mcp' there, if it is beside it.
func Install(dir string) error {
	to := Place{Dir: dir}.Binary()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return fault.Errorf(fault.Storage, "install den: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return fault.Errorf(fault.Storage, "install den: %w", err)
	}
	const helper = "dend"
	err = copyProgram(filepath.Join(filepath.Dir(self), helper), filepath.Join(filepath.Dir(to), helper))
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = copyProgram("/proc/self/exe", to)
	}
	if err != nil {
		return fault.Errorf(fault.Storage, "install den: %w", err)
	}
	return nil
}

// copyProgram copies a program, whole or not at all.
func copyProgram(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close() // Best effort: it was only read.
	part, err := os.CreateTemp(filepath.Dir(to), ".den-")
	if err != nil {
		return err
	}
	_, err = io.Copy(part, in)
	if err == nil {
		err = part.Chmod(0o755)
	}
	if err = errors.Join(err, part.Close()); err == nil {
		err = os.Rename(part.Name(), to)
	}
	if err != nil {
		os.Remove(part.Name()) // Best effort.
	}
	return err
}
