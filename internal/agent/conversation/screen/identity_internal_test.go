package screen

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// askingScreens are the recorded screens that ask, with words of the first and
// of the last line of the dialog on each.
var askingScreens = []struct{ vendor, screen, from, to string }{
	{"claude", "claude-first", "Accessing workspace", "Esc to cancel"},
	{"claude", "claude-after-trust", "Detected a custom API key", "Esc to cancel"},
	{"claude", "claude-bypass", "WARNING", "Esc to cancel"},
	{"claude", "claude-permission-default-mode", "Bash command", "Esc to cancel"},
	{"claude", "claude-permission-two", "Bash command", "Esc to cancel"},
	{"claude", "claude-edit", "Create file", "Esc to cancel"},
	{"claude", "claude-question", "☐ Colour", "Esc to cancel"},
	{"codex", "codex-approval", "Would you like", "esc to cancel"},
	{"codex", "codex-plan", "Implement this plan?", "esc back"},
	{"codex", "codex-question", "Question 1/1", "esc to interrupt"},
	{"codex", "codex-questions", "Question 1/2", "esc to interrupt"},
	{"copilot", "copilot-first", "Confirm folder trust", "esc to cancel"},
	{"copilot", "copilot-permission", "│ touch   ", "esc to cancel"},
	{"copilot", "copilot-permission-first-of-two", "│ make a file", "esc to cancel"},
	{"copilot", "copilot-permission-second-of-two", "│ make a file", "esc to cancel"},
	{"gemini", "gemini-permission", "? Shell", "No, suggest"},
	{"gemini", "gemini-permission-first-of-two", "? Shell", "No, suggest"},
	{"gemini", "gemini-permission-second-of-two", "? Shell", "No, suggest"},
	{"opencode", "opencode-after", "△ Permission required", "enter confirm"},
	{"opencode", "opencode-always", "△ Always allow", "enter confirm"},
}

// dialogLines returns where the dialog of a screen is, with the lines of its
// frame.
func dialogLines(t *testing.T, lines []string, vendor, from, to string) (first, end int) {
	t.Helper()
	has := func(words string) int {
		return slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, words) })
	}
	first, end = has(from), has(to)
	if first < 0 || end < first {
		t.Fatalf("no dialog from %q to %q", from, to)
	}
	if vendor != "codex" {
		first--
	}
	if vendor == "copilot" || vendor == "gemini" {
		end++
	}
	return first, end
}

// moving are lines of which programs show one after the other while they wait.
var moving = []string{
	"", "✻ Pondering… (%ds · ↑ %d tokens · esc to interrupt)", "⠋ Thinking... (esc to cancel, %ds)", "  ⎿  Tip: use /help %d", "• Working (%ds • esc to interrupt)",
	"  gpt-6.1-sol · %d%% context left", "● Step %d of many", "  It went well %d times.", "$ make -j%d", "❯ message %d", "│ a box %d │", "%d", "   ⬝■■■■■■⬝  esc interrupt %d",
}

// status are lines that stand below a dialog.
var status = []string{"  gpt-6.1-sol · %d%% context left", "  ↑ %d tokens", "  %d:%d"}

func anyOfLines(r *rand.Rand, lines []string) string {
	line := lines[r.IntN(len(lines))]
	for strings.Contains(line, "%d") {
		line = strings.Replace(line, "%d", fmt.Sprint(r.IntN(1000)), 1)
	}
	return strings.ReplaceAll(line, "%%", "%")
}

// The id of a question comes from the question: whatever stands around it, and
// whatever the program moves in it, it stays the same. Every letter of what is
// asked changes it.
func TestQuestionIDsAreOfTheQuestion(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range askingScreens {
		p := profileOf(c.vendor)
		recorded := screenOf(t, c.screen)
		want := p.question(recorded)
		if want == nil {
			t.Errorf("%s does not ask", c.screen)
			continue
		}
		lines := strings.Split(recorded, "\n")
		first, end := dialogLines(t, lines, c.vendor, c.from, c.to)
		for range 50 {
			around := slices.Clone(lines)
			for i := range around {
				switch {
				case i < first:
					around[i] = anyOfLines(r, moving)
				case i == end+1:
					around[i] = anyOfLines(r, status)
				}
			}
			for i := range around {
				around[i] = moveInside(r, around[i])
			}
			for range r.IntN(4) { // it scrolls
				around = slices.Insert(around, 0, anyOfLines(r, moving))
			}
			screen := strings.Join(around, "\n")
			if got := p.question(screen); got == nil || got.ID != want.ID || got.Text != want.Text {
				t.Fatalf("%s: %+v, want %+v, of\n%s", c.screen, got, want, screen)
			}
		}
		for i := first; i <= end; i++ {
			letters := []rune(lines[i])
			at := slices.IndexFunc(letters, func(r rune) bool { return r >= 'a' && r <= 'z' })
			if at < 0 || moves(lines[i]) || profileOf("").footers.MatchString(lines[i]) || describes(c.screen, lines[i]) {
				continue
			}
			letters[at] = 'q'
			other := slices.Clone(lines)
			other[i] = string(letters)
			if got := p.question(strings.Join(other, "\n")); got == nil || got.ID == want.ID {
				t.Errorf("%s: %q instead of %q has the same id: %+v", c.screen, other[i], lines[i], got)
			}
		}
	}
}

// One question that stood while the program moved its logo and a mark has one
// id; of two in a row, each has its own.
func TestQuestionIDsOfRecordings(t *testing.T) {
	for _, c := range []struct {
		vendor, one, other string
		same               bool
	}{
		{"claude", "claude-permission-two", "claude-permission-blinks", true},
		{"gemini", "gemini-permission-first-of-two", "gemini-permission-second-of-two", false},
		{"copilot", "copilot-permission-first-of-two", "copilot-permission-second-of-two", false},
	} {
		p := profileOf(c.vendor)
		one, other := p.question(screenOf(t, c.one)), p.question(screenOf(t, c.other))
		if one == nil || other == nil || (one.ID == other.ID) != c.same {
			t.Errorf("%+v and %+v, the same: %v", one, other, c.same)
		}
	}
}

// moves reports whether a line of a dialog is one that its program moves.
func moves(line string) bool {
	return strings.HasPrefix(strings.TrimSpace(line), "Tip: ") || strings.Contains(line, " unanswered)")
}

// moveInside moves what a program moves inside of its dialogs.
func moveInside(r *rand.Rand, line string) string {
	if head, _, ok := strings.Cut(line, " ("); ok && moves(line) {
		return fmt.Sprintf("%s (%d unanswered)", head, r.IntN(100))
	}
	if moves(line) {
		return fmt.Sprintf(" Tip: number %d of the tips", r.IntN(100))
	}
	return line
}

// describes reports whether a line tells more of an option: that is no part of
// the question's id.
func describes(screen, line string) bool {
	return screen == "claude-question" && len(strings.TrimSpace(line)) == 1
}
