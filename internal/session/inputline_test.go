package session_test

import (
	"strings"
	"testing"

	"den/internal/session"
	"den/internal/session/wire"
	"den/internal/testkit/need"
)

// lineKeys is input at an empty line, and whether something stands in the line
// then. Keys are in angle brackets.
type lineKeys struct {
	typed  string
	stands bool
}

// editorKeys are those of readline, and of editors like it.
var editorKeys = []lineKeys{
	{"half ", true},
	{"  ", true},
	{"<Up>", true},
	{"<Up><Down>", false},
	{"<C-p>", true},
	{"<Up><Enter>", false},
	{"<Up><C-c>", false},
	{"<Up><C-u>", false},
	{"<Up><C-a>", true},
	{"<Up><C-a><C-u>", true},
	{"<Up><C-a><C-k>", false},
	{"<Up><Backspace>", true},
	{"half<Home>", true},
	{"half<Home><C-u>", true},
	{"half<Home><C-k>", false},
	{"half<C-u>", false},
	{"half<Left><C-u>", true},
	{"half<C-u><C-y>", true},
	{"half<C-d>", true},
	{"half<C-w>", false},
	{"half<M-Backspace>", false},
	{"ha-lf<M-Backspace>", true},
	{"half<Backspace*4>", false},
	{"half<Backspace*3>", true},
	{"half<C-l>", true},
	{"half<C-u><C-l>", false},
	{"<C-l><Up>", true},
	{"<C-l><Up><C-u>", false},
}

// bashKeys are those that bash has beyond them. It has run "true one".
var bashKeys = []lineKeys{
	{"<C-r>tru", true},
	{"<C-r>tru<C-g>", false},
	{"<C-r>tru<Enter>", false},
	{"ech<Tab>", true},
	{"ech<Tab><C-u>", false},
	{"<M-.>", true},
	{"half<C-z>", true},
	{"half<C-\\>", true},
	{"<C-t>", true}, // see startBash
	{"<C-t><C-u>", false},
	{"<C-o>", true},        // shows a menu, as fzf does
	{"<C-o><Enter>", true}, // chooses from it
	{"<C-o><Enter><C-u>", false},
	{"<C-o><Enter><Enter>", false},
	{"<C-o><Enter><C-c>", false},
}

// zshKeys are those of zsh, which shows something at the right of its line.
var zshKeys = []lineKeys{
	{"half", true},
	{"<Up>", true},
	{"<Up><C-u>", false},
	{"<Up><Enter>", false},
	{"<Up><C-c>", false},
	{"half<C-a>", true},
	{"half<C-a><C-k>", false},
	{"half<C-d>", true},
	{"half<Backspace*4>", false},
	{"<C-l><Up>", true},
	{"tru<Tab>", true},
	{"<C-r>tru", true},
}

// kernelKeys are those of the terminal itself: most keys are text to it.
var kernelKeys = []lineKeys{
	{"half", true},
	{"<Up>", true},
	{"<Up><C-u>", false},
	{"<Up><Enter>", false},
	{"half<Tab>", true},
	{"half<C-w>", false},
	{"ha-lf<C-w>", true},
	{"half<C-a><C-u>", false},
	{"half<C-d>", true},
	{"half<C-d><Enter>", false},
	{"half<Backspace*4>", false},
}

// keysAsInputs splits text and keys in angle brackets.
func keysAsInputs(typed string) (inputs []wire.Input) {
	for typed != "" {
		part, rest, _ := strings.Cut(typed, "<")
		if part != "" {
			inputs = append(inputs, text(part))
		}
		key, rest, _ := strings.Cut(rest, ">")
		if key != "" {
			inputs = append(inputs, press(key))
		}
		typed = rest
	}
	return inputs
}

// chooser is bound to a key: it shows a menu below the line, and puts what is
// chosen there with Enter into the line.
const chooser = `choose() { local k; printf '\n> one\n'; read -rsn1 k; printf '\e[2A\e[J'; READLINE_LINE="true chosen" READLINE_POINT=11; }; `

// TestWhatStandsInTheLine checks that den knows whether something stands in the
// line that a program edits, whatever keys brought it there.
func TestWhatStandsInTheLine(t *testing.T) {
	bash := chooser + `bind -x '"\C-t": READLINE_LINE="true put"; READLINE_POINT=8'; bind -x '"\C-o": choose'`
	for _, p := range []struct {
		name    string
		program string
		argv    []string
		first   []string // lines that it gets
		restart string   // keys that empty the line
		keys    []lineKeys
	}{
		{"bash with marks", "bash", []string{"bash", "--norc"}, []string{bash, "true one"}, "<C-c>", append(bashKeys, editorKeys...)},
		{"bash without marks", "bash", []string{"env", "bash", "--norc"}, []string{bash, "true one"}, "<C-c>", append(bashKeys, editorKeys...)},
		{"a shell's rest", "bash", []string{"bash", "--norc"}, nil, "<C-c>", []lineKeys{{"for i in 1; do<Enter>", true}, {"echo '<Enter>x'<Enter>", false}}},
		{"python", "python3", []string{"python3", "-q"}, []string{"1"}, "<C-c>", append([]lineKeys{{"if 1:<Enter>", true}, {"if 1:<Enter><Enter>", false}}, editorKeys...)},
		{"zsh", "zsh", []string{"zsh", "-f"}, []string{"RPROMPT=right", "true one"}, "<C-c>", zshKeys},
		{"cat", "cat", []string{"cat"}, nil, "<C-u><Enter>", kernelKeys},
		{"dash", "dash", []string{"env", "dash"}, nil, "<C-u><Enter>", kernelKeys},
	} {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			need.Program(t, p.program)
			s, _ := start(t, session.Options{}, p.argv...)
			rests(t, s)
			for _, line := range p.first {
				sendAll(t, s, line+"<Enter>")
			}
			for _, k := range p.keys {
				sendAll(t, s, k.typed)
				expectInLine(t, s, k.typed, k.stands)
				sendAll(t, s, p.restart)
				expectInLine(t, s, k.typed+p.restart, false)
			}
		})
	}
}

// sendAll sends text and keys, and waits until the program has taken each: some
// keys make the kernel drop what was not read.
func sendAll(t *testing.T, s *session.Session, typed string) {
	t.Helper()
	for _, in := range keysAsInputs(typed) {
		if _, err := s.Input(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		rests(t, s)
	}
}

func rests(t *testing.T, s *session.Session) {
	t.Helper()
	if r, err := s.Wait(t.Context(), wire.Wait{Ready: true, Timeout: patience}); err != nil || !r.Matched {
		t.Fatalf("%+v, %v", r, err)
	}
}

func expectInLine(t *testing.T, s *session.Session, typed string, stands bool) {
	t.Helper()
	in, err := s.InputState(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := in.Unfinished != "" || in.Unsure; got != stands {
		t.Errorf("%s: %+v, want something in the line: %v", typed, in, stands)
	}
}
