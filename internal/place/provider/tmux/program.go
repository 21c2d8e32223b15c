package tmux

import (
	"bufio"
	"bytes"
	"debug/elf"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/provider/inherit"
)

// tmux does not report whether a command could be executed. So everything that
// the system would refuse is checked first.

// The system's bounds for one argument and for all of them, less a page.
const (
	maxArgument  = 128<<10 - 1
	maxArguments = 2<<20 - 4096
)

const maxSide = 10_000 // cells; what tmux takes

func checkConfig(name string, c provider.Config) error {
	usage := func(format string, args ...any) error {
		return fault.Errorf(fault.Usage, "start session '%s': "+format, append([]any{name}, args...)...)
	}
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return usage("no command is given")
	}
	if !filepath.IsAbs(c.WorkDir) {
		return usage("working directory %q is not absolute", c.WorkDir)
	}
	if fi, err := os.Stat(c.WorkDir); err != nil {
		return usage("working directory: %w", err)
	} else if !fi.IsDir() {
		return usage("working directory %s is no directory", c.WorkDir)
	}
	if c.Cols < 0 || c.Rows < 0 || c.Cols > maxSide || c.Rows > maxSide {
		return usage("a terminal of %d by %d cells is not possible", c.Cols, c.Rows)
	}
	total := 0
	for _, arg := range c.Argv {
		total += len(arg) + 1
		if strings.Contains(arg, "\x00") || len(arg) > maxArgument {
			return usage("an argument holds a zero byte, or has %d bytes where %d fit", len(arg), maxArgument)
		}
	}
	for k, v := range c.Env {
		total += len(k) + len(v) + 2
		if !inherit.Valid(k, v) || len(k)+len(v)+1 > maxArgument {
			return usage("variable %.40q cannot be handed on", k)
		}
	}
	if total > maxArguments {
		return fault.Hintf(usage("arguments and variables have %d bytes, %d fit", total, maxArguments), "put long text into a file and name that")
	}
	return nil
}

// findProgram returns the file that the command's own PATH, directory and
// rights lead to, or why there is none.
func findProgram(name string, c provider.Config, path string) (string, error) {
	program := c.Argv[0]
	if strings.Contains(program, "/") {
		file := below(c.WorkDir, program)
		if err := executable(file); err != nil {
			return "", fault.Errorf(fault.Usage, "start session '%s': %s: %w", name, program, err)
		}
		return file, nil
	}
	var denied error
	for _, dir := range filepath.SplitList(path) {
		file := below(c.WorkDir, filepath.Join(dir, program))
		err := executable(file)
		if err == nil {
			return file, nil
		}
		if denied == nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			denied = fault.Errorf(fault.Usage, "start session '%s': %s: %w", name, file, err)
		}
	}
	if denied != nil {
		return "", denied
	}
	return "", fault.Hintf(fault.Errorf(fault.Usage, "start session '%s': %q: no such command on PATH (%s)", name, program, path),
		"check the spelling, or give the program's full path")
}

// below is file as the command sees it from its directory.
func below(dir, file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(dir, file)
}

var errNotExecutable = errors.New("is not executable (chmod +x may help)")

func executable(file string) error {
	fi, err := os.Stat(file)
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	const mayExecute = 1 // X_OK
	switch {
	case err != nil:
		return err
	case fi.IsDir():
		return errors.New("is a directory")
	case fi.Mode()&0o111 == 0, syscall.Access(file, mayExecute) != nil:
		return errNotExecutable
	}
	return loadable(file)
}

// loadable looks at how a file begins: a program for this machine, or a script
// whose interpreter is there. Where other kinds are registered with the system
// it does not judge.
func loadable(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return nil // one that may be executed but not read
	}
	defer f.Close() // Best effort: it was only read.
	line, _ := bufio.NewReaderSize(f, 256).ReadSlice('\n')
	switch {
	case bytes.HasPrefix(line, []byte("#!")):
		words := strings.Fields(string(line[2:]))
		if len(words) == 0 {
			return errors.New("its first line names no interpreter")
		}
		if _, err := os.Stat(words[0]); err != nil {
			return errors.New("its interpreter " + words[0] + " does not exist")
		}
		return nil
	case bytes.HasPrefix(line, []byte(elf.ELFMAG)), otherKinds():
		return nil
	}
	return errors.New("is neither a program nor a script with a #! line")
}

// otherKinds reports whether this system executes more than its own programs
// and scripts, or is one whose programs we do not know.
func otherKinds() bool {
	entries, err := os.ReadDir("/proc/sys/fs/binfmt_misc")
	if err != nil {
		_, err := os.Stat("/proc/self/exe")
		return err != nil
	}
	for _, e := range entries {
		if n := e.Name(); n != "register" && n != "status" {
			return true
		}
	}
	return false
}
