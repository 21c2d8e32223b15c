package realcli

import (
	"encoding/json"
	"os"
	"path/filepath"

	"den/internal/base/environment"
	"den/internal/testkit/modelstub"
)

// TB is what this package needs of a test.
type TB interface {
	modelstub.TB
	Skipf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// A Home is what one agent needs to run.
type Home struct {
	Program string   // its command, absolute
	Work    string   // an empty directory to work in
	Dir     string   // its HOME
	Env     []string // its whole environment
	Key     string   // the API key that it finds there, or ""
}

// Binaries is where scripts/agents puts the commands.
func Binaries() (string, error) {
	if dir := os.Getenv("DEN_AGENTS"); dir != "" {
		return filepath.Join(dir, "bin"), nil
	}
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "den-agents", "bin"), err
}

// newHome makes the directories and the environment that all agents share.
func newHome(t TB, name string, stub *modelstub.Server) *Home {
	t.Helper()
	if os.Getenv("DEN_TEST_AGENTS") != "1" {
		t.Skipf("real coding agents take minutes: 'make test-agents' installs and drives them")
	}
	bin, err := Binaries()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(bin, name)
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("%s is not installed in %s: 'sh scripts/agents %s' installs it", name, bin, name)
	}
	root, err := os.MkdirTemp("/tmp", "den-cli-") // short: agents put sockets below it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(root); err != nil {
			t.Error(err) // something still writes there: a process was left
		}
	})
	h := &Home{Program: program, Work: filepath.Join(root, "work"), Dir: filepath.Join(root, "home")}
	for _, dir := range []string{h.Work, h.Dir, filepath.Join(root, "tmp")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	h.Env = []string{
		"HOME=" + h.Dir,
		// Not one that HOME is in: codex distrusts a home among temporary files.
		"TMPDIR=" + filepath.Join(root, "tmp"),
		"PATH=" + bin + ":" + os.Getenv("PATH"),
		"XDG_CONFIG_HOME=" + filepath.Join(h.Dir, ".config"),
		"XDG_DATA_HOME=" + filepath.Join(h.Dir, ".local", "share"),
		"XDG_STATE_HOME=" + filepath.Join(h.Dir, ".local", "state"),
		"XDG_CACHE_HOME=" + filepath.Join(h.Dir, ".cache"),
		"LC_ALL=C.UTF-8", "TERM=xterm-256color", "SHELL=/bin/bash", "TZ=UTC",
		"DO_NOT_TRACK=1",
		"HTTP_PROXY=" + stub.URL(), "HTTPS_PROXY=" + stub.URL(), "http_proxy=" + stub.URL(), "https_proxy=" + stub.URL(),
		"NO_PROXY=127.0.0.1,localhost", "no_proxy=127.0.0.1,localhost",
	}
	return h
}

// Getenv returns a variable of the agent's environment.
func (h *Home) Getenv(key string) string { return environment.Getter(h.Env)(key) }

// Write puts a file below the agent's HOME.
func (h *Home) Write(t TB, name string, text []byte) {
	t.Helper()
	path := filepath.Join(h.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (h *Home) writeJSON(t TB, name string, v any) {
	t.Helper()
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	h.Write(t, name, text)
}
