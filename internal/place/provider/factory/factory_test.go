package factory_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"den/internal/base/fault"
	"den/internal/place/provider/container"
	"den/internal/place/provider/factory"
	"den/internal/place/workspace"
)

func TestOf(t *testing.T) {
	for _, kind := range []string{"native", "tmux", "subprocess", "container", "kubernetes"} {
		if f, err := factory.Of(kind); err != nil || f.Kind != kind || f.Open == nil {
			t.Errorf("%s: %+v, %v", kind, f, err)
		}
	}
	if f, err := factory.Of(""); err != nil || f.Kind != "native" {
		t.Errorf("no kind: %s, %v", f.Kind, err)
	}
	if _, err := factory.Of("nonesuch"); fault.KindOf(err) != fault.Unsupported {
		t.Errorf("a kind that is not there: %v", err)
	}
}

// An agent's options are those of its own provider; mistakes in the parts for
// others are found too.
func TestDecode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "den.toml")
	err := os.WriteFile(path, []byte(`
[[agents]]
name = "here"
start_command = "x"
container = { image = "i" }
[[agents]]
name = "there"
start_command = "x"
session_provider = "container"
container = { image = "i" }
[[agents]]
name = "wrong"
start_command = "x"
container = { imgae = "i" }
`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	ws, err := workspace.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []any{nil, container.Spec{Image: "i"}, nil} {
		got, problems := factory.Decode(&ws.Agents[i])
		if spec, ok := got.(container.Spec); ok != (want != nil) || ok && spec.Image != "i" {
			t.Errorf("agent %d: %+v", i, got)
		}
		if wrong := i == 2; wrong != strings.Contains(problems.Error(), "den.toml:14: unknown key 'imgae' in container, did you mean 'image'?") {
			t.Errorf("agent %d: %v", i, problems)
		}
	}
}

// What a file can name can be opened, and is named in the same order.
func TestKindsAreThoseOfFiles(t *testing.T) {
	var kinds []string
	for _, f := range factory.All {
		kinds = append(kinds, f.Kind)
	}
	if !slices.Equal(kinds, workspace.Kinds()) {
		t.Errorf("%q can be opened, a file can name %q", kinds, workspace.Kinds())
	}
}
