// Package dentest gives tests den's own binaries.
package dentest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// binaries names a directory with den's binaries, built from the same sources:
// 'make test' builds them once, instead of once for each package.
const binaries = "DEN_TEST_BIN"

// Build puts commands of den (den, dend) into dir, as they are installed:
// static, for a binary with libraries of this machine runs in no container.
func Build(dir string, commands ...string) error {
	for _, name := range commands {
		if err := build(filepath.Join(dir, name), name); err != nil {
			return err
		}
	}
	return nil
}

func build(path, name string) error {
	if made := os.Getenv(binaries); made != "" {
		return copyBinary(path, filepath.Join(made, name))
	}
	cmd := exec.Command("go", "build", "-o", path, "den/cmd/"+name)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return nil
}

// copyBinary copies a binary: tests find their own hosts by its path, and some
// replace or remove it.
func copyBinary(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	// A program that another test starts meanwhile would have the copy open for
	// writing for a moment, in which it cannot be run ("text file busy").
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close() // The copy's error says more.
		return err
	}
	return out.Close()
}
