package irc_test

import (
	"testing"

	"den/internal/chat/irc"
)

func TestMentions(t *testing.T) {
	for _, c := range []struct {
		text, nick string
		want       bool
	}{
		{"@claude hello", "claude", true},
		{"hello @claude", "claude", true},
		{"@CLAUDE", "claude", true},
		{"@claude: please", "claude", true},
		{"@claude, @codex!", "codex", true},
		{"(@claude)", "claude", true},
		{"ask @claude.", "claude", true},
		{"ask @claude...", "claude", true},
		{"@claude's turn", "claude", true},
		{"*@claude*", "claude", true},
		{"«@claude»", "claude", true},
		{"`@claude`", "claude", true},

		{"claude hello", "claude", false},
		{"a@claude.x", "claude", false},
		{"me@claude", "claude", false},
		{"@claude.example", "claude", false},
		{"@claude-2", "claude", false},
		{"@claude2", "claude", false},
		{"@claudé", "claud", false},
		{"é@claude", "claude", false},
		{"@clau", "claude", false},
		{"@claude@host", "claude", false},
		{"@@claude", "claude", false},
		{"http://x/@claude", "claude", false},
		{"@", "claude", false},
		{"", "claude", false},
		{"@ hello", "", false},

		{"@claude", "spark-claude", true},
		{"@spark-claude", "spark-claude", true},
		{"@spark", "spark-claude", false},
		{"@claude-2", "spark-claude", false},
		{"@claude-2", "spark-claude-2", true},
		{"@2", "spark-claude-2", false},
		{"@", "spark-", false},
		{"@a@claude then @claude", "claude", true},
	} {
		if got := irc.Mentions(c.text, c.nick, irc.CaseASCII); got != c.want {
			t.Errorf("Mentions(%q, %q) = %v", c.text, c.nick, got)
		}
	}
}

func TestMentionsFollowTheCaseMapping(t *testing.T) {
	for m, want := range map[irc.CaseMapping]bool{irc.CaseASCII: false, irc.CaseRFC1459: true, irc.CaseRFC1459Strict: true} {
		if got := irc.Mentions("hi @X[Y]", "x{y}", m); got != want {
			t.Errorf("%s: %v", m, got)
		}
	}
}

func FuzzMentions(f *testing.F) {
	f.Add("@a b", "a")
	f.Add("x @é@", "é-")
	f.Fuzz(func(t *testing.T, text, nick string) {
		irc.Mentions(text, nick, irc.CaseRFC1459)
	})
}
