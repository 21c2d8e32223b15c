package cell_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"den/internal/session/cell"
)

// Which command lines are interactive shells that can give marks.
func TestIntegrateDecides(t *testing.T) {
	links := t.TempDir()
	for _, name := range []string{"dash", "bash", "busybox", "mksh"} {
		if err := os.WriteFile(filepath.Join(links, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"d/sh": "dash", "b/sh": "bash", "bb/sh": "busybox", "bb/ash": "busybox", "m/sh": "mksh"} {
		path := filepath.Join(links, link)
		os.MkdirAll(filepath.Dir(path), 0o755) // Symlink says if not.
		if err := os.Symlink(filepath.Join(links, target), path); err != nil {
			t.Fatal(err)
		}
	}
	in := func(s string) string { return strings.ReplaceAll(s, "@", links+"/") }
	for _, c := range []struct{ command, shell string }{
		{"bash", "bash"}, {"/bin/bash", "bash"}, {"-bash", "bash"}, {"bash -il", "bash"}, {"bash --login", "bash"},
		{"bash -i -o vi", "bash"}, {"bash -O extglob", "bash"}, {"bash --norc --noprofile", "bash"}, {"bash -login", "bash"},
		{"bash --posix", "bash"}, {"bash -eu", "bash"}, {"bash --", "bash"}, {"bash -norc", "bash"}, {"bash +o vi", "bash"},
		{"bash -c true", ""}, {"bash script", ""}, {"bash -- script", ""}, {"bash -s", ""}, {"bash -ic true", ""}, {"bash -x", ""},
		{"bash -r", ""}, {"bash --version", ""}, {"bash -o xtrace", ""}, {"bash -o", ""}, {"bash --rcfile", ""}, {"bash -a", ""},
		{"bash --posix -p", ""}, {"bash --unknown", ""}, {"bash -O", ""},
		{"zsh", "zsh"}, {"-zsh", "zsh"}, {"zsh -il", "zsh"}, {"zsh -o vi", "zsh"}, {"zsh --login", "zsh"}, {"zsh -d", "zsh"},
		{"zsh -f", "zsh"}, {"zsh --no-rcs", "zsh"}, {"zsh -dfi", "zsh"}, {"zsh -o no_rcs", ""}, {"zsh +o RCS", ""}, {"zsh -c true", ""}, {"zsh script", ""}, {"zsh -x", ""}, {"zsh -s", ""},
		{"fish", "fish"}, {"fish -l", "fish"}, {"fish -C true", "fish"}, {"fish --init-command=true", "fish"}, {"fish --no-config", "fish"},
		{"fish -c true", ""}, {"fish script", ""}, {"fish --version", ""}, {"fish -C", ""}, {"fish -n", ""},
		{"@d/sh", "sh"}, {"@dash", "sh"}, {"@bb/sh", "sh"}, {"@bb/ash -l", "sh"}, {"@busybox ash", "sh"}, {"@busybox sh -i", "sh"}, {"@b/sh", "sh"}, {"-@d/sh", "sh"},
		{"@m/sh", ""}, {"@b/sh -l", ""}, {"@d/sh -c true", ""}, {"@d/sh script", ""}, {"@d/sh -s", ""}, {"@d/sh -x", ""}, {"@busybox", ""}, {"@busybox ls", ""}, {"@none/sh", ""},
		{"sh", "sh"}, {"vim", ""}, {"rbash", ""}, {"ksh", ""}, {"python3 bash", ""}, {"sudo bash", ""},
	} {
		argv := strings.Fields(in(c.command))
		env := []string{"PATH=" + in("@none:@d"), "A=b"}
		dir := filepath.Join(t.TempDir(), "made")
		i, err := cell.Integrate(argv, slices.Clone(env), dir, token)
		if err != nil || i.Shell != c.shell {
			t.Errorf("%s: shell %q, %v; want %q", c.command, i.Shell, err, c.shell)
			continue
		}
		if i.Shell == "" {
			if _, err := os.Stat(dir); !slices.Equal(i.Argv, argv) || !slices.Equal(i.Env, env) || err == nil {
				t.Errorf("%s: became %q %q", c.command, i.Argv, i.Env)
			}
			continue
		}
		if strings.Contains(strings.Join(append(i.Argv, i.Env...), " "), token) {
			t.Errorf("%s: the token is in %q %q", c.command, i.Argv, i.Env)
		}
		if strings.HasPrefix(i.Argv[0], "-") {
			t.Errorf("%s: %q cannot be started", c.command, i.Argv)
		}
		checkModes(t, dir)
	}
}

func checkModes(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Mode().Perm() != map[bool]fs.FileMode{true: 0o700, false: 0o600}[e.IsDir()] {
			t.Errorf("%s: mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestIntegrateTokens(t *testing.T) {
	for _, bad := range []string{"", "a b", "a;b", "a'b", "\x1b", "ä"} {
		if _, err := cell.Integrate([]string{"bash"}, nil, t.TempDir(), bad); err == nil {
			t.Errorf("token %q taken", bad)
		}
	}
	if i, err := cell.Integrate(nil, nil, t.TempDir(), token); err != nil || i.Shell != "" {
		t.Errorf("no command: %+v, %v", i, err)
	}
}
