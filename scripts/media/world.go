package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"den/internal/base/environment"
)

// world is where the story happens: a Home and a directory of its own.
type world struct {
	*host
	ctx  context.Context
	root string   // HOME of the person
	shop string   // the repository, and the workspace
	den  string   // the program
	env  []string // of the person's programs
}

// patience is for agents on a machine that has other things to do.
const patience = "5m"

func newWorld(ctx context.Context, h *host, den, root string) *world {
	w := &world{host: h, ctx: ctx, root: root, shop: filepath.Join(root, "shop"), den: den}
	w.env = []string{
		"HOME=" + root, "USER=ada", "LOGNAME=ada", "SHELL=/bin/bash", "TERM=xterm-256color", "LC_ALL=C.UTF-8", "TZ=UTC",
		"PATH=" + filepath.Dir(den) + ":" + os.Getenv("PATH"),
		"DEN_HOME=" + w.in(".den"), "DEN_RUN_DIR=" + w.in(".run"), "XDG_STATE_HOME=" + w.in(".state"),
		`PS1=\[\e[1;34m\]\w\[\e[0m\] $ `,
	}
	w.env = append(w.env, tools()...)
	h.check(os.Mkdir(w.in(".run"), 0o700))
	return w
}

// tools is what go and git need to work for whoever it is.
func tools() []string {
	env := []string{
		"GOTOOLCHAIN=local", "GOPROXY=off", "GOFLAGS=-count=1",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com",
	}
	for _, key := range []string{"GOCACHE", "GOMODCACHE"} {
		env = append(env, key+"="+os.Getenv(key))
	}
	return env
}

func (w *world) in(name string) string { return filepath.Join(w.root, name) }

// finally has a program run at the end, also when all was broken off.
func (w *world) finally(env []string, argv ...string) {
	w.Cleanup(func() {
		last := *w
		var cancel context.CancelFunc
		last.ctx, cancel = context.WithTimeout(context.WithoutCancel(w.ctx), time.Minute)
		defer cancel()
		last.run(env, argv...)
	})
}

// run runs a program in the repository and returns what it printed.
func (w *world) run(env []string, argv ...string) string {
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(w.ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = w.shop, env, &out, &errOut
	if err := cmd.Run(); err != nil {
		w.Fatalf("%s: %w\n%s%s", strings.Join(argv, " "), err, out.String(), errOut.String())
	}
	return out.String()
}

// do runs den as the person does.
func (w *world) do(args ...string) string { return w.run(w.env, append([]string{w.den}, args...)...) }

// camera runs den for what is filmed and not seen: it has a Home of its own.
func (w *world) camera(args ...string) string {
	return w.run(w.cameraEnv(), append([]string{w.den}, args...)...)
}

func (w *world) cameraEnv() []string {
	return append(append([]string{}, w.env...), "DEN_HOME="+w.in(".camera"), "XDG_STATE_HOME="+w.in(".camera/state"))
}

// sight starts a program of the person's in a session of the camera.
func (w *world) sight(name, cols, rows string, argv ...string) {
	args := []string{"new", name, "--cols", cols, "--rows", rows}
	value := environment.Getter(w.env)
	for _, key := range []string{"DEN_HOME", "XDG_STATE_HOME"} {
		args = append(args, "--env", key+"="+value(key))
	}
	w.camera(append(append(args, "--"), argv...)...)
	w.finally(w.cameraEnv(), w.den, "kill", name)
}

// picture is what a session of the camera shows.
func (w *world) picture(name string, flags ...string) []byte {
	path := w.in(".camera/" + name + ".png")
	w.camera(append([]string{"screenshot", name, "-o", path}, flags...)...)
	data, err := os.ReadFile(path)
	w.check(err)
	return data
}

func (w *world) write(name, text string) {
	path := w.in(name)
	w.check(os.MkdirAll(filepath.Dir(path), 0o755))
	w.check(os.WriteFile(path, []byte(text), 0o644))
}
