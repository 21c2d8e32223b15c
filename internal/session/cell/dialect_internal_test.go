package cell

import (
	"slices"
	"strings"
	"testing"
)

// How a text is typed so that the program takes it as one input.
func TestStyleOf(t *testing.T) {
	for _, c := range []struct {
		program         string
		text            string
		brackets, shell bool
		want            Style
	}{
		{"bash, one line", "echo a", true, true, AtOnce},
		{"bash, several lines", "for i in 1\ndo echo $i\ndone", true, true, InBrackets},
		{"bash, a tab", "echo\ta", true, true, InBrackets},
		{"sh, a tab", "echo\ta", false, true, AtOnce},
		{"python, one line", "print(1)", true, false, ThenEnter},
		{"python, indented by a tab", "\tprint(1)", true, false, InBrackets},
		{"a line reader", "a\tb", false, false, ThenEnter},
		{"nothing", "", true, true, AtOnce},
	} {
		if got := styleOf(c.text, c.brackets, c.shell); got != c.want {
			t.Errorf("%s: %s, want %s", c.program, got, c.want)
		}
	}
}

func TestTakesWhole(t *testing.T) {
	one, two := []string{"a"}, []string{"a", "b"}
	for _, c := range []struct {
		program           string
		lines             []string
		marks, silent, br bool
		want              bool
	}{
		{"bash or zsh or fish, several lines", two, true, false, true, true},
		{"a shell without bracketed paste, one line", one, true, false, false, true},
		{"a shell without bracketed paste, several lines", two, true, false, false, false},
		{"sh, which does not tell where output begins", one, true, true, false, false},
		{"a REPL", one, false, false, true, false},
	} {
		o, s := Observed{Shell: ShellMarks{Silent: c.silent}, Bracket: c.br}, State{ByShell: c.marks, Lines: c.lines}
		if got := takesWhole(&o, &s); got != c.want {
			t.Errorf("%s: %v", c.program, got)
		}
	}
}

func TestRedraws(t *testing.T) {
	for _, c := range []struct {
		prompt    string
		canonical bool
		want      bool
	}{
		{"In [3]: ", false, true},
		{"irb(main):001> ", false, true},
		{"irb(main):001> ", true, false}, // the terminal edits: irb --nomultiline behind a pipe
		{">>> ", false, false},
		{"(gdb) ", false, false},
	} {
		o := Observed{Left: Prompt{Text: c.prompt}}
		o.Probe.Canonical = c.canonical
		if got := o.redraws(); got != c.want {
			t.Errorf("%q, canonical %v: %v", c.prompt, c.canonical, got)
		}
	}
}

func TestKeepsRefused(t *testing.T) {
	for argv0, want := range map[string]bool{"fish": true, "/usr/bin/fish": true, "-fish": true, "bash": false, "zsh": false, "fisher": false, "python3": false} {
		if got := KeepsRefused(argv0); got != want {
			t.Errorf("KeepsRefused(%q) = %v", argv0, got)
		}
	}
}

// What is typed next inside a block of Python's REPL.
func TestPythonBlock(t *testing.T) {
	for _, c := range []struct {
		name  string
		typed []string
		lines string
		want  string
	}{
		{"goes on inside the block", []string{"def f():"}, "  return 1", "  return 1"},
		{"a line at the margin ends it", []string{"def f():", "  return 1"}, "f()", "\nf()"},
		{"else belongs to it", []string{"if x:", "  a()"}, "else:\n  b()", "else:\n  b()"},
		{"empty lines do not end it", []string{"def f():", "  a()"}, "\n\n  b()", "  b()"},
		{"empty lines before the margin are one", []string{"def f():", "  a()"}, "\n  \nf()", "\nf()"},
		{"the last empty line stays", []string{"def f():", "  a()"}, "\n", ""},
		{"an empty line that ended nothing is not repeated", []string{"def f():", "  a()", ""}, "f()", "f()"},
		{"inside a string all is kept", []string{`s = """a`}, "\n\nb\"\"\"", "\n\nb\"\"\""},
		{"inside brackets all is kept", []string{"f("}, "\n1)", "\n1)"},
		{"what is decorated follows", []string{"@d"}, "def f():", "def f():"},
	} {
		var p Python
		for _, line := range c.typed {
			p.Add(line)
		}
		lines := strings.Split(c.lines, "\n")
		before := slices.Clone(lines)
		got := pythonBlock(p, c.typed[len(c.typed)-1], lines)
		if text := strings.Join(got, "\n"); text != c.want {
			t.Errorf("%s: %q, want %q", c.name, text, c.want)
		}
		if !slices.Equal(lines, before) {
			t.Errorf("%s: changed its argument to %q", c.name, lines)
		}
	}
}

func TestEndsBefore(t *testing.T) {
	for next, want := range map[string]bool{
		"": false, "  x": false, "\tx": false, "# x": false, "else:": false, "elif x:": false, "except:": false, "finally:": false,
		"x = 1": true, "elsewhere = 1": true, ")": true, "'a'": true, "def f():": true, "@x": true,
	} {
		if got := endsBefore(next); got != want {
			t.Errorf("endsBefore(%q) = %v", next, got)
		}
	}
}
