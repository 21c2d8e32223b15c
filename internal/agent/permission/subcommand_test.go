package permission_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"den/internal/agent/permission"
)

// denied are rules with a subcommand, for programs that take options before it.
var denied = []string{
	"git push *", "git push", "docker run *", "podman rm *", "kubectl delete *", "kubectl delete ns prod", "npm publish *", "go run *", "systemctl stop *", "cargo publish *", "gh repo delete *", "other sub *",
}

// spelling writes a command that does what a denied one does. known is that
// each of its options is in the table.
func spelling(r *rand.Rand, words []string) (line string, known bool) {
	flags, values := permission.GlobalOptions(words[0])
	all := []string{words[0]}
	known = true
	for range r.IntN(4) {
		switch r.IntN(6) {
		case 0, 1:
			if len(flags) > 0 {
				all = append(all, flags[r.IntN(len(flags))])
			}
		case 2:
			if len(values) > 0 {
				all = append(all, values[r.IntN(len(values))], []string{".", "x=y", "alias.p=push", "'a b'", "push"}[r.IntN(5)])
			}
		case 3:
			if len(values) > 0 {
				all = append(all, values[r.IntN(len(values))]+"=.git")
			}
		case 4:
			all, known = append(all, []string{"--zz", "-Y", "--zz=1", "-Yx"}[r.IntN(4)]), false
		case 5:
			all, known = append(all, []string{"--zz", "-Y"}[r.IntN(2)], "value"), false
		}
	}
	for _, w := range words[1:] {
		all = append(all, w)
		if r.IntN(8) == 0 {
			all, known = append(all, "--zz"), false
		}
	}
	return strings.Join(all, []string{" ", "  ", "\t"}[r.IntN(3)]), known
}

// A rule that denies a subcommand holds wherever the subcommand stands. Where
// the options before it are not known, a person is asked.
func TestDeniedSubcommandsAreFound(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 20261128))
	for _, pattern := range denied {
		words := strings.Fields(strings.TrimSuffix(pattern, " *"))
		p := newPolicy(t, allowCommand(words[0]+" *"), denyCommand(pattern))
		for range 300 {
			line, known := spelling(r, words)
			outcome, why := p.Decide(run(line))
			if outcome == permission.Allow || known && outcome != permission.Deny {
				t.Errorf("deny %q: %q: %s (%s)", pattern, line, outcome, why)
			}
		}
	}
}

// What git does under another name, in another repository or by a program that
// is named in its options is not covered by a rule for git, unless the rule
// says it; what it does itself is.
func TestRulesForGit(t *testing.T) {
	for _, row := range []struct {
		allow, line string
		want        permission.Outcome
	}{
		{"git *", "git push", permission.Allow},
		{"git *", "git --no-pager log -p -- a.go", permission.Allow},
		{"git *", "git commit -am 'x: --exec'", permission.Allow},
		{"git *", "git rebase main", permission.Allow},
		{"git *", "git rebase -x pwn main", permission.Ask},
		{"git *", "git rebase --exe=pwn main", permission.Ask},
		{"git *", "git -c alias.p=push p", permission.Ask},
		{"git *", "git -c core.fsmonitor=pwn status", permission.Ask},
		{"git *", "git --config-env=core.pager=X log", permission.Ask},
		{"git *", "git --exec-path=. status", permission.Ask},
		{"git *", "git -C . status", permission.Ask},
		{"git *", "git --git-dir=sub status", permission.Ask},
		{"git *", "git --git-dir sub status", permission.Ask},
		{"git *", "git --work-tree=/ status", permission.Ask},
		{"git *", "git --namespace=x status", permission.Ask},
		{"git *", "git --bare status", permission.Ask},
		{"git *", "git --new-option status", permission.Ask},
		{"git *", "git p", permission.Ask},
		{"git *", "git $x", permission.Ask},
		{"git *", "git config core.fsmonitor pwn", permission.Ask},
		{"git *", "git init --template=sub", permission.Ask},
		{"git *", "git submodule foreach pwn", permission.Ask},
		{"git *", "git bisect run pwn", permission.Ask},
		{"git *", "git grep -Opwn x", permission.Ask},
		{"git *", "git fetch --upload-pack=pwn .", permission.Ask},
		{"git *", "git diff --output=.git/hooks/pre-commit", permission.Ask},
		{"git *", "/usr/bin/git push", permission.Ask},
		{"git config user.name *", "git config user.name x", permission.Allow},
		{"git -c color.ui=never *", "git -c color.ui=never diff", permission.Allow},
		{"git -c * diff", "git -c diff.external=pwn diff", permission.Ask},
		{"git -C sub status", "git -C sub status", permission.Ask},
		{"git p", "git p", permission.Allow},
		{"git status", "cd sub && git status", permission.Ask},
		{"git status", "(cd sub; git status)", permission.Ask},
		{"git status", "pushd sub; git status", permission.Ask},
		{"git status", "sh -c 'cd sub; git status'", permission.Ask},
		{"git status", "git status; cd sub", permission.Ask},
		{"git status", "cd . && git status", permission.Allow},
		{"git status", "cd " + dir + " && git status", permission.Allow},
		{"git status", "git status && go test", permission.Ask},
	} {
		p := newPolicy(t, allowCommand(row.allow), allowCommand("cd *"), allowCommand("pushd *"))
		if outcome, why := p.Decide(run(row.line)); outcome != row.want {
			t.Errorf("allow %q: %q: %s (%s), want %s", row.allow, row.line, outcome, why, row.want)
		}
	}
}
