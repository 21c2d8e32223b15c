package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// taskFiles has a directory for each task that needs files, and bin for the
// helpers of peers.
//
//go:embed taskfiles
var taskFiles embed.FS

// task is something that an agent does in a terminal, and a script for each
// tool. All scripts decide at the same places: a call may do several things,
// unless the agent must read what the first one returned to know the next.
type task struct {
	name  string   // of its directory, too
	about string   // for the table
	needs []string // programs; without them it is left out
	// lay makes what is not embedded, and returns what the agent should learn.
	lay func(*ground) (map[string]string, error)
	// done says what should be so in the end, and whether it is; or nil.
	done func(*ground) map[string]bool

	cli, mcp, tmux, commander func(*agent)
}

// ground is where a task is done, once.
type ground struct {
	dir string
	env []string
	// key is a number that only those know who have seen it: it is in the file
	// of this name.
	key  string
	stop []func() error // what lay began
}

// newGround makes the files of a task in a directory of their own.
func (t *task) newGround(tmp string, env []string) (*ground, map[string]string, error) {
	dir, err := os.MkdirTemp(tmp, t.name)
	if err != nil {
		return nil, nil, err
	}
	g := &ground{dir: dir, env: env, key: fmt.Sprint(100_000 + rand.IntN(900_000))}
	if err := errors.Join(g.write("key", g.key), writeTaskFiles(t.name, dir)); err != nil {
		return nil, nil, err
	}
	truth, err := t.lay(g)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("task %s: %w", t.name, err), g.close())
	}
	return g, truth, nil
}

func (g *ground) path(name string) string { return filepath.Join(g.dir, name) }

func (g *ground) write(name, text string) error {
	return os.WriteFile(g.path(name), []byte(text), 0o600)
}

// read is a file of the task, or "".
func (g *ground) read(name string) string {
	raw, err := os.ReadFile(g.path(name))
	if err != nil {
		return "" // that it is not there is all that matters
	}
	return string(raw)
}

// run runs a program that makes something of the task.
func (g *ground) run(argv ...string) (string, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = g.dir, g.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, out)
	}
	return string(out), nil
}

// close ends what the task began. Its files go with all others.
func (g *ground) close() (err error) {
	for _, stop := range g.stop {
		err = errors.Join(err, stop())
	}
	return err
}

// writeTaskFiles writes the files of a task, if it has any. Scripts can be
// executed.
func writeTaskFiles(name, dir string) error {
	root := "taskfiles/" + name
	all, err := taskFiles.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, f := range all {
		raw, rerr := taskFiles.ReadFile(root + "/" + f.Name())
		if err = errors.Join(err, rerr); rerr != nil {
			continue
		}
		mode := os.FileMode(0o600)
		if strings.HasPrefix(string(raw), "#!") {
			mode = 0o700
		}
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, f.Name()), raw, mode))
	}
	return err
}

// missing names a program that the task needs and that is not there, or "".
func (t *task) missing() string {
	for _, name := range t.needs {
		if _, err := exec.LookPath(name); err != nil {
			return name
		}
	}
	return ""
}
