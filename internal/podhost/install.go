package podhost

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"den/internal/fault"
)

// Install copies this binary into a pod's directory, whole or not at all.
func Install(dir string) error {
	to := Place{Dir: dir}.Binary()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return fault.Errorf(fault.Storage, "install den: %w", err)
	}
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		return fault.Errorf(fault.Storage, "install den: %w", err)
	}
	defer from.Close() // Best effort: it was only read.
	part, err := os.CreateTemp(filepath.Dir(to), ".den-")
	if err != nil {
		return fault.Errorf(fault.Storage, "install den: %w", err)
	}
	_, err = io.Copy(part, from)
	if err == nil {
		err = part.Chmod(0o755)
	}
	if err = errors.Join(err, part.Close()); err == nil {
		err = os.Rename(part.Name(), to)
	}
	if err != nil {
		os.Remove(part.Name()) // Best effort.
		return fault.Errorf(fault.Storage, "install den: %w", err)
	}
	return nil
}
