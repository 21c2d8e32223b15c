package sandbox_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"den/internal/place/sandbox"
)

// policyHere is one over real files: a home with a key, a work directory, den's
// own files.
func policyHere(t *testing.T) (sandbox.Policy, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"home/.ssh/key", "home/.vendor/settings.json", "work/den.toml", "den/state.json", "lib/tool"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	return sandbox.Policy{
		Agent: "coder", WorkDir: at("work"), Home: at("home"), Private: at("den/sandbox"), Read: []string{at("lib")}, Write: []string{at("home/.vendor")},
		Protect: []string{at("work/den.toml")}, Keep: []string{at("home/.vendor/settings.json")}, Hide: []string{at("den")},
		Network: sandbox.NetworkNone, Held: sandbox.Support{Landlock: 7, Namespaces: "direct"},
	}, dir
}

func TestCheck(t *testing.T) {
	p, dir := policyHere(t)
	for name, want := range map[string]struct {
		read, write bool
		by          string
	}{
		"work/main.go":               {true, true, "its directory"},
		"work/den.toml":              {true, false, "decides what runs"},
		"home/.vendor/x":             {true, true, "vendor's state"},
		"home/.vendor/settings.json": {true, false, "decides what runs"},
		"home/.ssh/key":              {false, false, "nothing grants it"},
		"lib/tool":                   {true, false, "sandbox.read"},
		"den/state.json":             {false, false, "den's own files"},
	} {
		v := p.Check(filepath.Join(dir, name), "", nil)
		if v.Read != want.read || v.Write != want.write || !strings.Contains(v.By, want.by) {
			t.Errorf("%s: %+v, want %+v", name, v, want)
		}
	}
}

// Words of programs are explained where the sandbox is the reason, and left
// alone where it is not.
func TestDenials(t *testing.T) {
	p, dir := policyHere(t)
	key := filepath.Join(dir, "home/.ssh/key")
	for text, want := range map[string]string{
		"cat: " + key + ": Permission denied":                                         "it may not read " + key,
		"cat: " + key + ": No such file or directory":                                 "it may not read " + key,
		"cat: ~/.ssh/key: No such file or directory":                                  "it may not read " + key,
		"Error: EACCES: permission denied, open '" + key + "'":                        "it may not read " + key,
		"PermissionError: [Errno 13] Permission denied: '" + key + "'":                "it may not read " + key,
		"bash: " + dir + "/lib/new: Read-only file system":                            "it may not write " + dir + "/lib/new",
		"sh: 1: cannot create " + dir + "/home/x: Permission denied":                  "it may not write " + dir + "/home/x",
		"cat: " + dir + "/lib/tool: Permission denied":                                "", // it may read it
		"open " + key + ": permission denied":                                         "it may not read " + key,
		"cat: ../home/.ssh/key: No such file or directory":                            "it may not read " + key,
		"bash: line 1: den.toml: Read-only file system":                               "it may not write " + dir + "/work/den.toml: it is protected",
		"touch: cannot touch 'den.toml': Permission denied":                           "it may not write " + dir + "/work/den.toml: it is protected",
		"rm: cannot remove './den.toml': Device or resource busy":                     "it may not write " + dir + "/work/den.toml: it is protected",
		"bash: sub/config: Permission denied":                                         "",
		"touch: cannot touch '../lib/a b': Read-only file system":                     "it may not write " + dir + "/lib/a b: sandbox",
		"touch: cannot touch ‘" + key + "’: Permission denied":                        "it may not write " + key + ": sandbox",
		"root@h:" + dir + "/home# cat: Permission denied":                             "",
		"root@h:" + dir + "/home$ grep 'Permission denied' " + key:                    "",
		"see " + key + " (Permission denied)":                                         "",
		"mv: cannot move 'a' to '" + dir + "/work/den.toml': Device or resource busy": "",
		"bash: " + dir + "/work/den.toml: Read-only file system":                      "it may not write " + dir + "/work/den.toml: it is protected",
		"cat: " + dir + "/den/state.json: No such file or directory":                  "it may not use " + dir + "/den/state.json: den's own",
		"cat: " + dir + "/home/nothing: No such file or directory":                    "",
		"cat: " + dir + "/work/nothing: No such file or directory":                    "",
		"cat: " + dir + "/work/main.go: Permission denied":                            "",
		"I read " + key + " and all is well":                                          "",
		"curl: (6) Could not resolve host: example.org":                               "it has no network",
		"Permission denied": "",
	} {
		got := p.Denials(text, nil)
		if want == "" && len(got) > 0 || len(got) > 1 || want != "" && !slices.ContainsFunc(got, func(d string) bool { return strings.HasPrefix(d, want) }) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
		for _, line := range got { // who offers a file that the agent cannot read tells of the risk
			if offers := strings.Contains(line, "sandbox = {"); offers && strings.Contains(line, key) != strings.Contains(line, "keys and passwords") {
				t.Errorf("%s: %q", text, line)
			}
		}
	}
}

// What was refused is kept once, until the next start; what is still shown of
// the life before is not of this one.
func TestNote(t *testing.T) {
	p, _ := policyHere(t)
	p.Protect = nil
	if err := p.Prepare(); err != nil {
		t.Fatal(err)
	}
	life, ok := p.Living()
	if !ok {
		t.Fatal("it does not live")
	}
	for i, want := range []int{2, 1, 0} {
		fresh, err := p.Note(life, [][]string{{"a", "b"}, {"b", "c"}, {"c", "a"}}[i])
		if err != nil || len(fresh) != want {
			t.Errorf("%d: %q, %v", i, fresh, err)
		}
	}
	if got := sandbox.Noted(p.Private); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("%q", got)
	}
	none := func(when string, err error) {
		t.Helper()
		if fresh, noteErr := p.Note(life, []string{"old"}); err != nil || noteErr != nil || len(fresh) > 0 || len(sandbox.Noted(p.Private)) != 0 {
			t.Errorf("%s: %q, %q, %v, %v", when, fresh, sandbox.Noted(p.Private), err, noteErr)
		}
	}
	none("when a start begins", p.Begin())
	none("when another does", p.Begin())
	if _, ok := p.Living(); ok {
		t.Error("it lives while it is started")
	}
	none("when it has begun", p.Begun())
	if now, ok := p.Living(); !ok || now == life {
		t.Errorf("it lives: %v, %v as %v", ok, now, life)
	}
}

// Variables of the caller do not reach the agent unless they are named.
func FuzzEnvironment(f *testing.F) {
	f.Add("AWS_SECRET_ACCESS_KEY", "x", "")
	f.Add("ANTHROPIC_API_KEY", "k", "")
	f.Add("FOO", "x", "FOO,BAR")
	f.Fuzz(func(t *testing.T, name, value, given string) {
		p := sandbox.Policy{Private: "/p", Env: []string{"ANTHROPIC_*"}, Held: sandbox.Support{Namespaces: "direct"}}
		for _, entry := range p.Environ([]string{name + "=" + value, sandbox.EnvNames + "=" + given}) {
			got, _, _ := strings.Cut(entry, "=")
			switch {
			case got == "TMPDIR" || strings.HasPrefix(got, "ANTHROPIC_") || strings.HasPrefix(got, "DEN_") && got != sandbox.EnvNames:
			case slices.Contains(strings.Split(given, ","), got), slices.ContainsFunc(sandbox.Common, func(c string) bool {
				return c == got || strings.HasSuffix(c, "*") && strings.HasPrefix(got, c[:len(c)-1])
			}):
			default:
				t.Errorf("%q reached the agent", entry)
			}
		}
	})
}
