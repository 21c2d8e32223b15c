package agent_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"den/internal/agent"
	"den/internal/place/provider"
	"den/internal/place/provider/local"
	"den/internal/place/workspace"
)

// awayFake is a place on another machine: its working directory is a directory
// that this one does not use.
type awayFake struct {
	*fake
	dir string // stands for the work directory over there

	did []string // what was done there, in order
}

func (f *awayFake) Away() {}

func (f *awayFake) Prepare(context.Context, string, provider.Config, func(string)) error {
	f.did = append(f.did, "prepare")
	return nil
}

func (f *awayFake) there(c provider.Config) provider.Config {
	c.WorkDir = f.dir
	return c
}

func (f *awayFake) Stage(ctx context.Context, name string, c provider.Config, files io.Reader, o provider.StageOptions) error {
	f.did = append(f.did, "stage")
	return local.Place{}.Stage(ctx, name, f.there(c), files, o)
}

func (f *awayFake) Exec(ctx context.Context, name string, c provider.Config, e provider.ExecSpec) (int, error) {
	f.did = append(f.did, "exec")
	if e.Dir == c.WorkDir {
		e.Dir = f.dir
	}
	return local.Place{}.Exec(ctx, name, f.there(c), e)
}

func (f *awayFake) Start(ctx context.Context, name string, c provider.Config) error {
	f.did = append(f.did, "start")
	return f.fake.Start(ctx, name, c)
}

// An agent on another machine has its files sent there and its hooks run there,
// in the documented order, once the place is ready.
func TestStartAway(t *testing.T) {
	src, there := t.TempDir(), t.TempDir()
	write(t, filepath.Join(src, "overlay", "sub", "a"), "overlay")
	write(t, filepath.Join(src, "overlay", "kept"), "overlay")
	write(t, filepath.Join(src, "file"), "copied")
	write(t, filepath.Join(src, "script"), "echo \"$DEN_AGENT\" > by-script\n")
	f := &awayFake{fake: newFake(), dir: there}
	c := agent.SessionConfig{WorkDir: t.TempDir()}
	c.Hints = workspace.Hints{
		PreStart: []string{"echo pre > kept"}, OverlayDir: filepath.Join(src, "overlay"),
		CopyFiles:    []workspace.CopyEntry{{Src: filepath.Join(src, "file"), Dst: "deep/renamed"}},
		SessionSetup: []string{"echo setup > by-setup"}, SessionSetupScript: filepath.Join(src, "script"),
	}
	m := managed(t, f, c)
	if err := m.Start(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if want := []string{"prepare", "exec", "stage", "stage", "start", "exec", "exec"}; !slices.Equal(f.did, want) {
		t.Errorf("done there: %q, want %q", f.did, want)
	}
	for path, want := range map[string]string{"kept": "pre", "sub/a": "overlay", "deep/renamed": "copied", "by-setup": "setup", "by-script": "dir/a"} {
		raw, err := os.ReadFile(filepath.Join(there, path))
		if got := strings.TrimSpace(string(raw)); err != nil || got != want {
			t.Errorf("%s has %q, %v; want %q", path, got, err, want)
		}
	}
	if entries, err := os.ReadDir(c.WorkDir); err != nil || len(entries) > 0 {
		t.Errorf("on this machine there are %v, %v", entries, err)
	}
}

// A link that leads out is not sent.
func TestStageAwayRefusesLinks(t *testing.T) {
	src := t.TempDir()
	if err := os.Symlink("/etc", filepath.Join(src, "out")); err != nil {
		t.Fatal(err)
	}
	f := &awayFake{fake: newFake(), dir: t.TempDir()}
	c := agent.SessionConfig{WorkDir: t.TempDir()}
	c.Hints.OverlayDir = src
	err := managed(t, f, c).Start(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "leads out") {
		t.Errorf("Start: %v", err)
	}
	if slices.Contains(f.did, "start") {
		t.Error("the session was started all the same")
	}
}

var _ provider.Away = (*awayFake)(nil)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}
