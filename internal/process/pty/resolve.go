package pty

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"den/internal/base/fault"
)

// defaultPath is the PATH for a command without one.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// resolved is a command whose program was found.
type resolved struct {
	path string // to execute, from the command's own directory
	seen string // the same from this process's directory
	env  []string
	name string // as the caller gave it
}

// LookPath returns the path of the program that Start would run for c, as seen
// from this process.
func LookPath(c Command) (string, error) {
	r, err := resolve(c)
	return r.seen, err
}

func resolve(c Command) (resolved, error) {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return resolved{}, fault.Errorf(fault.Usage, "no command to start: give a program and its arguments")
	}
	r := resolved{name: c.Argv[0], env: c.Env}
	if r.env == nil {
		r.env = os.Environ()
	}
	r.env = cleanEnv(r.env)
	for _, s := range append(append([]string{c.Dir}, c.Argv...), r.env...) {
		if strings.IndexByte(s, 0) >= 0 {
			return r, fault.Errorf(fault.Usage, "start %q: an argument, variable or directory holds a zero byte", r.name)
		}
	}
	if c.Dir != "" {
		st, err := os.Stat(c.Dir)
		if err == nil && !st.IsDir() {
			err = unix.ENOTDIR
		}
		if err != nil {
			return r, fault.Errorf(fault.Usage, "start %q in %s: %w", r.name, c.Dir, bare(err))
		}
	}
	if strings.Contains(r.name, "/") {
		r.path, r.seen = r.name, below(c.Dir, r.name)
		if err := executable(r.seen); err != nil {
			return r, fault.Errorf(fault.Usage, "start %q: %w", r.name, err)
		}
		return r, nil
	}
	return r, r.search(c.Dir)
}

// search finds the command on its own PATH. A relative entry is resolved from
// the command's directory, as it would be by the command.
func (r *resolved) search(dir string) error {
	path := defaultPath
	for _, kv := range r.env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = v
		}
	}
	var denied error
	for _, entry := range filepath.SplitList(path) {
		if entry == "" {
			entry = "."
		}
		file := filepath.Join(entry, r.name)
		if !filepath.IsAbs(file) {
			file = "./" + file // Join cleans a leading "./" away, and exec needs a slash.
		}
		err := executable(below(dir, file))
		if err == nil {
			r.path, r.seen = file, below(dir, file)
			return nil
		}
		if denied == nil && err == errNotExecutable {
			denied = fault.Errorf(fault.Usage, "start %q: %s: %w", r.name, file, err)
		}
	}
	if denied != nil {
		return denied
	}
	return fault.Hintf(
		fault.Errorf(fault.Usage, "start %q: no such command on PATH (%s)", r.name, path),
		"check the spelling, or give the program's full path")
}

// below returns the path of file for this process, if file is relative to dir.
func below(dir, file string) string {
	if dir == "" || filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(dir, file)
}

var errNotExecutable = errors.New("is not executable (chmod +x may help)")

func executable(file string) error {
	st, err := os.Stat(file)
	switch {
	case err != nil:
		return bare(err)
	case st.IsDir():
		return errors.New("is a directory")
	}
	if err := unix.Access(file, unix.X_OK); err != nil || st.Mode()&0o111 == 0 {
		return errNotExecutable
	}
	return nil
}

// bare strips the operation and path from an error whose message names them
// already.
func bare(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// explain returns an error that says why an existing program could not be
// started.
func (r *resolved) explain(err error) error {
	switch {
	case errors.Is(err, syscall.ENOENT):
		if interp := interpreter(r.seen); interp != "" {
			return fault.Errorf(fault.Usage, "start %q: its interpreter %s does not exist", r.name, interp)
		}
		return fault.Errorf(fault.Usage, "start %q: %w (its loader may be missing)", r.name, err)
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM), errors.Is(err, syscall.ENOEXEC),
		errors.Is(err, syscall.E2BIG), errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENOTDIR):
		return fault.Errorf(fault.Usage, "start %q: %w", r.name, err)
	}
	return fmt.Errorf("start %q: %w", r.name, err)
}

// interpreter returns the program of a script's "#!" line, or "".
func interpreter(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, _ := bufio.NewReaderSize(f, 256).ReadSlice('\n')
	rest, ok := strings.CutPrefix(string(line), "#!")
	if !ok {
		return ""
	}
	if words := strings.Fields(rest); len(words) > 0 {
		return words[0]
	}
	return ""
}
