package cell_test

import (
	"strings"
	"testing"
	"time"

	"den/internal/base/ident"
	"den/internal/screen/vt"
	"den/internal/session/cell"
)

// The code is read as one line by a terminal, and the smallest takes 1,024 bytes.
// The question is read by an editor and stands on the screen for a moment.
func TestInnerMarksAreALine(t *testing.T) {
	nonce, token := ident.New(time.Now()), ident.New(time.Now())
	if ask := cell.AskShell(nonce); strings.Contains(ask, "\n") || len(ask) > 200 {
		t.Errorf("%d bytes: %q", len(ask), ask)
	}
	for _, kind := range []string{"b", "z", ""} {
		m := cell.ShellMarks{Inquiry: cell.Inquiry{Nonce: nonce}}
		m.Take(vt.Mark{Kind: 'Q', Args: kind + ";den=" + nonce})
		if m.Inquiry.Answer == "" {
			t.Fatalf("the answer %q was not taken", kind)
		}
		if code := m.Inquiry.InnerMarks(token, 100); code == "" || strings.Contains(code, "\n") || len(code) > 1000 {
			t.Errorf("%s: %d bytes: %q", m.Inquiry.Answer, len(code), code)
		}
	}
}

// Only the answer to the very question counts: what a program printed before, or
// repeats of another session, is none.
func TestOnlyTheFreshAnswerCounts(t *testing.T) {
	for _, args := range []string{"b;den=old", "b;den=", "b", "", "b;den=fresh;den=old", "x;den=fresh"} {
		m := cell.ShellMarks{Token: "t", Inquiry: cell.Inquiry{Nonce: "fresh"}}
		if m.Take(vt.Mark{Kind: 'Q', Args: args}); m.Inquiry.Answer != "" {
			t.Errorf("%q was taken for an answer", args)
		}
	}
	unasked := cell.ShellMarks{Token: "t"}
	if unasked.Take(vt.Mark{Kind: 'Q', Args: "b;den="}); unasked.Inquiry.Answer != "" {
		t.Error("an answer without a question was taken")
	}
}
