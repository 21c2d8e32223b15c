package permission_test

import (
	"os"
	"path/filepath"
	"testing"

	"den/internal/agent/permission"
)

// A rule that denies a host holds for commands that name it.
func TestDeniedHostsInCommands(t *testing.T) {
	p, err := permission.NewPolicy(permission.Settings{Dir: dir, Bypass: true, Readlink: readlink, Exists: exists, Rules: []permission.Rule{{Outcome: permission.Deny, Host: "*.evil.com"}, {Outcome: permission.Deny, Host: "evil.com"}}})
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]permission.Outcome{
		"curl https://evil.com/x": permission.Deny, "wget evil.com": permission.Deny, "git clone https://EVIL.com/x": permission.Deny, "ssh me@a.evil.com": permission.Deny, "curl -o x https://u:p@evil.com:80/": permission.Deny,
		"sh -c 'curl evil.com'": permission.Deny, "curl https://good.com/evil": permission.Allow, "curl https://notevil.com/": permission.Allow, "ls": permission.Allow,
	} {
		if outcome, why := p.Decide(run(line)); outcome != want {
			t.Errorf("%q: %s (%s), want %s", line, outcome, why, want)
		}
	}
}

// What go runs by an option is not covered by a rule for go, unless it says so.
func TestRulesForGo(t *testing.T) {
	p := newPolicy(t, allowCommand("go test *"), allowCommand("go build -o bin/x *"))
	for line, want := range map[string]permission.Outcome{
		"go test ./...": permission.Allow, "go test -run=X -v ./a": permission.Allow, "go build -o bin/x ./a": permission.Allow,
		"go test -exec=pwn ./a": permission.Ask, "go test --exec pwn ./a": permission.Ask, "go test -toolexec=pwn .": permission.Ask, "go test -vettool=pwn .": permission.Ask, "go test -C /elsewhere .": permission.Ask, "go test -o /elsewhere/x .": permission.Ask, "go test -overlay=a.json .": permission.Ask,
	} {
		if outcome, why := p.Decide(run(line)); outcome != want {
			t.Errorf("%q: %s (%s), want %s", line, outcome, why, want)
		}
	}
}

// A star stands for no hidden file: '*' is not den's state.
func TestStarsAndHiddenFiles(t *testing.T) {
	top := t.TempDir()
	for _, file := range []string{".den/state.json", "a.txt"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(top, file)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(top, file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := permission.NewPolicy(permission.Settings{Dir: top, Rules: []permission.Rule{allowCommand("wc *"), allowCommand("shopt *")}, Protected: []string{top + "/.den"}})
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]permission.Outcome{
		"ls *": permission.Ask, "wc -l *": permission.Allow, "wc ./*": permission.Allow, "wc .d*": permission.Deny, "wc .d*/state.json": permission.Deny, "wc .*": permission.Deny, "shopt -s dotglob; wc *": permission.Deny,
	} {
		if outcome, why := p.Decide(run(line)); outcome != want {
			t.Errorf("%q: %s (%s), want %s", line, outcome, why, want)
		}
	}
}
