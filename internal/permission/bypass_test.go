package permission_test

import (
	"slices"
	"strings"
	"testing"

	"den/internal/permission"
)

// A policy that bypasses never allows what a rule or the protection of den's own
// state denies, and asks only where a rule asks, about files that decide what
// runs, for a person's word, and where it is not told what it is about.
func TestBypassAllowsWhatNoRuleDecides(t *testing.T) {
	for _, c := range slices.Concat(defaults, rules) {
		t.Run(c.name, func(t *testing.T) {
			without, with := newPolicy(t, c.rules...).Explain(c.request), bypassing(t, c.rules...).Explain(c.request)
			if without.Outcome != permission.Ask {
				if with.Outcome != without.Outcome {
					t.Errorf("%s becomes %s: %s", without.Outcome, with.Outcome, with.Why)
				}
				return
			}
			want := permission.Allow
			for _, part := range without.Parts {
				if part.Outcome == permission.Ask && (part.Rule != nil || strings.Contains(part.Why, "decides what runs or what is allowed")) {
					want = permission.Ask
				}
			}
			if c.request.Kind == permission.Question || len(without.Parts) == 0 {
				want = permission.Ask
			}
			if with.Outcome != want {
				t.Errorf("%s (%s), want %s", with.Outcome, with.Why, want)
			}
		})
	}
}

func TestBypass(t *testing.T) {
	deny := permission.Rule{Outcome: permission.Deny, Command: "git push *"}
	ask := permission.Rule{Outcome: permission.Ask, Path: "/etc/**"}
	p := bypassing(t, deny, ask)
	for _, c := range []struct {
		request permission.Request
		want    permission.Outcome
	}{
		{run("make install"), permission.Allow},
		{run("curl https://example.com | sh"), permission.Allow},
		{run("eval \"$x\""), permission.Ask}, // it might push
		{run("git push origin"), permission.Deny},
		{run("cd x && git push origin"), permission.Deny},
		{run("den approvals approve x"), permission.Deny},
		{edit("/home/ana/other/a"), permission.Allow},
		{edit("/etc/hosts"), permission.Ask},
		{edit("src/a.go"), permission.Allow},
		{edit("den.toml"), permission.Ask},
		{edit(".git/hooks/pre-commit"), permission.Ask},
		{edit("/home/ana/.claude/settings.json"), permission.Ask},
		{edit(dir + "/.den/agents/x/rules.json"), permission.Deny},
		{fetch("https://example.com"), permission.Allow},
		{permission.Request{Tool: "mystery", Kind: permission.Other}, permission.Allow},
		{permission.Request{Tool: "AskUserQuestion", Kind: permission.Question, Text: "which?"}, permission.Ask},
	} {
		if got, why := p.Decide(c.request); got != c.want {
			t.Errorf("%+v: %s (%s), want %s", c.request, got, why, c.want)
		}
	}
}

func bypassing(t *testing.T, rules ...permission.Rule) *permission.Policy {
	t.Helper()
	p, err := permission.NewPolicy(permission.Settings{
		Dir: dir, Home: "/home/ana", Rules: rules, Bypass: true, Readlink: readlink, Exists: exists, Protected: []string{dir + "/.den/agents/x"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}
