package permission_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"den/internal/agent/permission"
)

var order = map[permission.Outcome]int{permission.Allow: 1, permission.Ask: 2, permission.Deny: 3}

// quoteAs writes a word in one of the ways that mean the same to a shell.
func quoteAs(r *rand.Rand, word string) string {
	if strings.ContainsAny(word, "'\n") {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	switch r.IntN(4) {
	case 0:
		return "'" + word + "'"
	case 1:
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(word) + `"`
	case 2:
		var b strings.Builder
		for _, c := range word {
			b.WriteString(`\` + string(c))
		}
		if word == "" {
			return "''"
		}
		return b.String()
	}
	if word == "" {
		return `""`
	}
	first := string([]rune(word)[:1])
	return "'" + first + "'" + "'" + word[len(first):] + "'"
}

func writeAs(r *rand.Rand, words []string) string {
	blanks := []string{" ", "  ", "\t", " \\\n "}
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteString(blanks[r.IntN(len(blanks))])
		}
		b.WriteString(quoteAs(r, w))
	}
	return b.String()
}

// FuzzLaws checks what holds for every policy and every request.
func FuzzLaws(f *testing.F) {
	f.Add("git push", "git *", "git push *", "src/a", uint64(1))
	f.Add("cat .env && ls", "cat *", "rm *", ".env", uint64(2))
	f.Add("sh -c 'rm x' | tee /etc/y", "rm x", "tee *", "/etc/**", uint64(3))
	f.Add("sudo rm $x", "sudo rm x", "rm *", "out/passwd", uint64(4))
	f.Fuzz(func(t *testing.T, line, allowed, denied, path string, seed uint64) {
		if strings.ContainsRune(line, 0) {
			return
		}
		allow := allowCommand(allowed)
		settings := permission.Settings{Dir: dir, Home: "/home/ana", Readlink: readlink, Exists: exists}
		base, err := permission.NewPolicy(settings)
		if err != nil {
			t.Fatal(err)
		}
		policies := []*permission.Policy{base}
		if p, err := base.With(allow); err == nil {
			policies = append(policies, p)
		}
		forbidding := []permission.Rule{denyCommand(denied), {Outcome: permission.Deny, Path: path}, {Outcome: permission.Ask, Command: denied}}
		requests := []permission.Request{run(line), read(path), edit(path)}
		for _, p := range policies {
			lawsOfForbidding(t, p, forbidding, requests)
			lawOfLists(t, p, line, path)
			lawOfRemembering(t, p, requests)
		}
		lawOfAllowing(t, base, append(forbidding, permission.Rule{Outcome: permission.Deny, Kind: permission.Execute}), allow, requests)
		lawOfQuoting(t, policies[len(policies)-1], strings.Fields(line), rand.New(rand.NewPCG(seed, 1)))
	})
}

// A rule that forbids never makes a decision milder.
func lawsOfForbidding(t *testing.T, p *permission.Policy, rules []permission.Rule, requests []permission.Request) {
	for _, rule := range rules {
		with, err := p.With(rule)
		if err != nil {
			continue
		}
		for _, r := range requests {
			before, _ := p.Decide(r)
			if after, why := with.Decide(r); order[after] < order[before] {
				t.Errorf("%+v: %s with rule '%s' (%s), %s without", r, after, rule, why, before)
			}
		}
	}
}

// A rule that allows never undoes a rule that forbids.
func lawOfAllowing(t *testing.T, base *permission.Policy, rules []permission.Rule, allow permission.Rule, requests []permission.Request) {
	for _, rule := range rules {
		forbids, err := base.With(rule)
		if err != nil {
			continue
		}
		both, err := forbids.With(allow)
		if err != nil {
			continue
		}
		for _, r := range requests {
			before := forbids.Explain(r)
			if after, why := both.Decide(r); before.Outcome == permission.Deny && after != permission.Deny {
				t.Errorf("%+v: %s (%s) with rule '%s', denied without", r, after, why, allow)
			}
		}
	}
}

// A list of commands is never judged more mildly than its strictest command.
func lawOfLists(t *testing.T, p *permission.Policy, line, other string) {
	alone, _ := p.Decide(run(line))
	for _, joint := range []string{"; ", " && ", "\n", " | ", " & "} {
		for _, list := range []string{line + joint + other, other + joint + line} {
			if together, why := p.Decide(run(list)); order[together] < order[alone] && parsesAlone(other) {
				t.Errorf("%q: %s (%s), but %q alone: %s", list, together, why, line, alone)
			}
		}
	}
}

// parsesAlone keeps texts out that change how what stands beside them is read:
// open quotes, comments, here-documents.
func parsesAlone(text string) bool {
	for _, c := range text {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz./- ", c) {
			return false
		}
	}
	return strings.TrimSpace(text) != ""
}

// Quotes and blanks do not matter.
func lawOfQuoting(t *testing.T, p *permission.Policy, words []string, r *rand.Rand) {
	if len(words) == 0 {
		return
	}
	for _, w := range words {
		if !isText(w) {
			return
		}
	}
	one, two := writeAs(r, words), writeAs(r, words)
	first, why := p.Decide(run(one))
	if second, why2 := p.Decide(run(two)); first != second {
		t.Errorf("%q: %s (%s); %q: %s (%s)", one, first, why, two, second, why2)
	}
}

func isText(s string) bool {
	for _, c := range s {
		if c < ' ' || c == 0xfffd || c == 0x7f {
			return false
		}
	}
	return true
}

// What an owner decides for always is decided so the next time, and another
// argument is still asked for.
func lawOfRemembering(t *testing.T, p *permission.Policy, requests []permission.Request) {
	for _, r := range requests {
		if outcome, _ := p.Decide(r); outcome != permission.Ask {
			continue
		}
		for _, outcome := range []permission.Outcome{permission.Allow, permission.Deny} {
			rules, err := p.Remember(r, outcome)
			if err != nil {
				continue
			}
			with, err := p.With(rules...)
			if err != nil {
				t.Fatalf("%+v: %v", r, err)
			}
			if got, why := with.Decide(r); got != outcome {
				t.Errorf("%+v: %s (%s) after '%s' for always", r, got, why, outcome)
			}
			if r.Kind == permission.Execute && outcome == permission.Allow {
				more := run("nosuchprogram --more")
				if got, why := with.Decide(more); got == permission.Allow {
					t.Errorf("%+v for always also allows %q: %s", r, more.Command, why)
				}
			}
		}
	}
}
