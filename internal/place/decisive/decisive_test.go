package decisive_test

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/base/fault"
	"den/internal/place/decisive"
)

func same(file string) string { return file }

func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, g := range decisive.Groups {
		for _, name := range g.Names {
			if _, err := path.Match(name, ""); err != nil || path.Clean(name) != name || path.IsAbs(name) {
				t.Errorf("%q: %v", name, err)
			}
			if key := strings.ToLower(name); seen[key] {
				t.Errorf("%q is there twice", name)
			} else {
				seen[key] = true
			}
		}
	}
}

func TestDecides(t *testing.T) {
	set := decisive.NewSet([]decisive.File{{Path: "/w/team.toml", Role: "workspace file"}, {Path: "/w/link", Role: "prompt"}, {Path: "/w/over", Role: "overlay"}},
		func(file string) string { return strings.ReplaceAll(file, "/w/link", "/far/Prompt.md") })
	for file, want := range map[string]string{
		"/w/team.toml": "workspace file", "/W/TEAM.toml": "workspace file", "/w/team.tom\u200dl": "workspace file", "/w/team.toml/x": "workspace file",
		"/w/link": "prompt", "/far/prompt.md": "prompt", "/w/over": "overlay", "/w/over/a/b": "overlay",
		"/w/overs": "", "/w/team.toml2": "", "/w": "", "/": "", "/far": "",
		"/w/a/.git/config": ".git", "/w/.GIT": ".git", "/w/.g\u200cit/x": ".git", "/w/.github/workflows/x": ".github/workflows", "/w/.github/x": "", "/w/workflows/x": "",
		"/w/.ENVRC": ".envrc", "/w/my.code-workspace": "*.code-workspace", "/w/sub/HEAD": "HEAD", "/w/header": "", "/w/.claude": ".claude",
		"/home/.config/nvim/init.lua": "", // the agent's own directory
		"/other/.config/nvim/x":       ".config/nvim",
	} {
		dir := "/w"
		if strings.HasPrefix(file, "/home") {
			dir = "/home/.config/nvim"
		}
		reason, ok := set.Decides(dir, file)
		if got := reason.Own + strings.Join(reason.Names, " "); got != want || ok != (want != "") || ok != (reason.Why != "") {
			t.Errorf("%q: %+v, %v; want %q", file, reason, ok, want)
		}
	}
	if _, ok := decisive.NewSet(nil, same).Decides("", "/a/den.toml"); !ok {
		t.Error("without a directory")
	}
}

func TestIn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[b]")
	for _, name := range []string{".github/workflows/x", ".github/other", "x.code-workspace", "main.go", ".claude/a"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, f := range decisive.In(dir) {
		rel, err := filepath.Rel(dir, f.Path)
		if err != nil || f.Role == "" {
			t.Errorf("%+v: %v", f, err)
		}
		got = append(got, rel)
	}
	if want := ".claude x.code-workspace .github/workflows"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestList(t *testing.T) {
	file := filepath.Join(t.TempDir(), "list.json")
	if _, err := decisive.Load(file); err == nil {
		t.Errorf("no list: %v", err)
	}
	want := decisive.File{Path: "/w/a", Role: "prompt", Shown: true}
	if err := decisive.Save(file, []decisive.File{want}); err != nil {
		t.Fatal(err)
	}
	if got, err := decisive.Load(file); err != nil || len(got) != 1 || got[0] != want {
		t.Errorf("%+v, %v", got, err)
	}
	for text, kind := range map[string]fault.Kind{`{"v":2}`: fault.Protocol, `{`: fault.Storage} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := decisive.Load(file); fault.KindOf(err) != kind {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// The table in the docs is this one.
func TestDocs(t *testing.T) {
	data, err := os.ReadFile("../../../docs/permissions.md")
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	for _, g := range decisive.Groups {
		table.WriteString("| " + g.Reader + " | `" + strings.Join(g.Names, "` `") + "` |\n")
	}
	if !strings.Contains(string(data), table.String()) {
		t.Errorf("docs/permissions.md does not have this table:\n%s", table.String())
	}
}
