package gitpush

import (
	"strings"
	"testing"
	"unicode"
)

func TestOutcome(t *testing.T) {
	for text, want := range map[string]Result{
		"To x\n*\trefs/heads/main:refs/heads/main\t[new branch]\nDone\n":                       {Pushed, "main"},
		"To x\n=\trefs/heads/main:refs/heads/main\t[up to date]\nDone\n":                       {Nothing, ""},
		"To x\n \trefs/heads/a:refs/heads/b\t1..2\n*\tHEAD:refs/heads/c\t[new branch]\nDone\n": {Pushed, "b, c"},
		"Everything up-to-date\n": {Nothing, ""},
		"":                        {Nothing, ""},
	} {
		if got := outcome(text); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("fatal: unable to access 'https://me:token@example.org/x.git/'\n\x1b[31m")
	f.Add("*\ta:b\tc\n")
	f.Fuzz(func(t *testing.T, text string) {
		got := clean(text)
		if strings.ContainsFunc(got, unicode.IsControl) {
			t.Errorf("%q", got)
		}
		outcome(text)
		cut(got)
	})
}
