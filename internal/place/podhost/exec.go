package podhost

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"den/internal/base/fault"
)

// ExecMark is the environment variable by which a command of ModeExec, and what
// it starts, are found again.
const ExecMark = "DEN_POD_EXEC"

// Command is one to run in a pod, beside its session.
type Command struct {
	Argv []string `json:"argv"`
	Dir  string   `json:"dir"`
	// WorkDir is used where Dir is empty, if it is there: a command may be what
	// makes it.
	WorkDir string   `json:"work_dir,omitempty"`
	Env     [][]byte `json:"env,omitempty"` // NAME=VALUE
	Mark    string   `json:"mark"`
}

// The codes by which shells tell that a command could not be run.
const (
	notExecutable = 126
	notThere      = 127
)

// Exec replaces this process by the command. It returns only an error, with the
// process's status.
func Exec(raw string) (int, error) {
	var c Command
	if err := json.Unmarshal([]byte(raw), &c); err != nil || len(c.Argv) == 0 {
		return 0, fault.Errorf(fault.Usage, "the command is not understood: %w", err)
	}
	for _, kv := range append(c.Env, []byte(ExecMark+"="+c.Mark)) {
		name, value, _ := strings.Cut(string(kv), "=")
		if err := os.Setenv(name, value); err != nil {
			return notExecutable, err
		}
	}
	dir := c.Dir
	if dir == "" {
		dir = "/"
		if _, err := os.Stat(c.WorkDir); err == nil {
			dir = c.WorkDir
		}
	}
	if err := os.Chdir(dir); err != nil {
		return notExecutable, err
	}
	if err := os.Setenv("PWD", dir); err != nil {
		return notExecutable, err
	}
	path, err := exec.LookPath(c.Argv[0])
	if err == nil {
		err = syscall.Exec(path, c.Argv, os.Environ())
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound) {
		return notThere, err
	}
	return notExecutable, err
}
