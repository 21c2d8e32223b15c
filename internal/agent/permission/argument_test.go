package permission_test

import (
	"strings"
	"testing"

	"den/internal/agent/permission"
)

// A command that names a denied file in any of the ways that programs take
// words apart is not allowed, whatever allows the command.
func TestDeniedFilesAreFoundWithinWords(t *testing.T) {
	names := []string{".env", "./.env", "src/../.env", dir + "/.env", ".ENV", "'.e*'", "'*nv'", "'.[e]nv'", "'./?env'", "{.env,b}", "$x"}
	forms := []string{
		"git show HEAD:NAME", "git show :NAME", "git show :0:NAME", "git show @{u}:NAME", "git cat-file -p HEAD:NAME", "git diff -- NAME", "git log -p -- NAME", "git grep x -- NAME", "git grep x HEAD:NAME",
		"git diff HEAD -- ':(icase)NAME'", "git diff -- ':!NAME'", "git show --format=NAME", "git blame NAME", "git archive HEAD:NAME", "git diff --no-index a NAME", "git checkout-index NAME",
		"cat NAME", "cat < NAME", "tool --file=NAME", "tool --file=a=NAME", "tool -fNAME", "tool -xfNAME", "tool -f NAME", "tool a,NAME", "tool NAME:/x", "tool -v NAME:/x:ro", "tool --data @NAME", "tool -d@NAME", "tool user@host:NAME",
		"env tool NAME", "sh -c \"cat NAME\"", "find . -name NAME", "tool --include=NAME",
	}
	p := newPolicy(t, allowCommand("git *"), allowCommand("tool *"), allowCommand("cat *"), allowCommand("find *"), permission.Rule{Outcome: permission.Deny, Path: ".env"})
	for _, form := range forms {
		for _, name := range names {
			switch quoted := strings.Contains(name, "'"); {
			case strings.Contains(form, "'") && quoted:
				name = strings.Trim(name, "'")
			case strings.Contains(form, "'") && strings.ContainsAny(name, "{$"), strings.Contains(form, "<") && quoted:
				continue // another file's name, and no program expands it
			}
			line := strings.ReplaceAll(form, "NAME", name)
			if outcome, why := p.Decide(run(line)); outcome == permission.Allow {
				t.Errorf("%q: %s (%s)", line, outcome, why)
			}
		}
		if line := strings.ReplaceAll(form, "NAME", "a.go"); !strings.HasPrefix(line, "git ") {
			if outcome, why := p.Decide(run(line)); outcome != permission.Allow {
				t.Errorf("%q: %s (%s)", line, outcome, why)
			}
		}
	}
	for _, line := range []string{"git show HEAD:a.go", "git diff -- src", "git log -n 3 --oneline", "grep -n 'func.*{' a.go", "tool -x --y=z a:b", "git commit -m 'fix: *.go'"} {
		if outcome, why := p.Decide(run(line)); outcome != permission.Allow {
			t.Errorf("%q: %s (%s)", line, outcome, why)
		}
	}
}
