package home_test

import (
	"strings"
	"testing"

	"den/internal/session/home"
)

func TestShownCommand(t *testing.T) {
	for _, c := range []struct{ given, want string }{
		{"claude|--model|x", "claude|--model|x"},
		{"env|KEY=secret|claude|--model|x", "claude|--model|x"},
		{"/usr/bin/env|-i|-u|HOME|A=1|B=secret two|claude", "claude"},
		{"env|--|A=secret|claude|B=shown", "claude|B=shown"},
		{"env|A=1|env|B=secret|claude", "claude"},
		{"env", "env"},
		{"env|A=secret", "env"},
		{"env|-S|A=secret claude", "env"},
		{"bash|-c|KEY=secret claude", "bash|-c|claude"},
		{"bash|-lc|A='one two' B=\"se\\\"cret\" exec claude", "bash|-lc|exec claude"},
		{"sh|-c|export KEY=secret; claude && x=1 y", "sh|-c|claude && x=1 y"},
		{"env|A=secret|sh|-c|B=secret C=secret", "sh|-c|"},
		{"bash|script.sh|A=b", "bash|script.sh|A=b"},
		{"bash|-c", "bash|-c"},
		{"python3|-c|a = 1", "python3|-c|a = 1"},
		{"", ""},
	} {
		given := strings.Split(c.given, "|")
		got := strings.Join(home.ShownCommand(given), "|")
		if got != c.want || strings.Contains(got, "secret") {
			t.Errorf("%s: %q, want %q", c.given, got, c.want)
		}
		if strings.Join(given, "|") != c.given {
			t.Errorf("%s was changed to %q", c.given, given)
		}
	}
	if got := home.ShownCommand(nil); len(got) != 0 {
		t.Errorf("nothing: %q", got)
	}
}
