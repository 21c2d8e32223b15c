package cell_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/process/pty"
	"den/internal/screen/vt"
	"den/internal/session/cell"
)

// kinds are the shells that the common tests run, each with a start file of
// the user's that has an alias in it.
var kinds = []struct {
	name     string
	start    start
	commands bool // it marks where a command starts
}{
	{"bash", start{argv: []string{"bash"}, files: map[string]string{".bashrc": "alias hi='echo from the rc'\n"}}, true},
	{"zsh", start{argv: []string{"zsh"}, files: map[string]string{".zshrc": "alias hi='echo from the rc'\n"}}, true},
	{"fish", start{argv: []string{"fish"}, files: map[string]string{".config/fish/config.fish": "alias hi='echo from the rc'\nset fish_greeting\n"}}, true},
	{"dash", start{argv: []string{"dash"}, files: map[string]string{"shrc": "alias hi='echo from the rc'\n"}, env: []string{"ENV=$HOME/shrc"}}, false},
	{"busybox", start{argv: []string{"busybox", "ash"}, files: map[string]string{"shrc": "alias hi='echo from the rc'\n"}, env: []string{"ENV=$HOME/shrc"}}, false},
}

func TestCommands(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			programPath(t, kind.start.argv[0])
			t.Parallel()
			s := ready(t, kind.start)
			posix := kind.name != "fish"
			for _, c := range []struct {
				line   string
				status int
				output string // or "*" for any
				skip   bool
			}{
				{line: "true"},
				{line: "false", status: 1},
				{line: "sh -c 'exit 42'", status: 42},
				{line: "(exit 42)", status: 42, skip: !posix},
				{line: "no-such-command", status: 127, output: "*"},
				{line: "echo hello", output: "hello\n"},
				{line: "printf 'no newline'", output: "no newline"},
				{line: "printf 'one\\n\\nthree\\n'", output: "one\n\nthree\n"},
				{line: "printf '%0100d' 7", output: strings.Repeat("0", 99) + "7"},
				{line: "cd /", output: ""},
				{line: "pwd", output: "/\n"},
				{line: "hi", output: "from the rc\n"},
				{line: "for i in a b; do echo $i; done", output: "a\nb\n", skip: !posix},
				{line: "echo a; false; echo b; sh -c 'exit 3'", status: 3, output: "a\nb\n"},
				{line: "cat <<X\rone\rtwo\rX", output: "one\ntwo\n", skip: !posix},
				{line: "echo 'open\rclosed'", output: "open\nclosed\n"},
			} {
				if c.skip {
					continue
				}
				r := s.run(c.line)
				if want := map[bool]string{true: "CDAB", false: "DAB"}[kind.commands]; strings.ReplaceAll(r.kinds, "P", "") != want {
					t.Errorf("%q: marks %s, want %s", c.line, r.kinds, want)
				}
				if r.status != c.status {
					t.Errorf("%q: status %d, want %d", c.line, r.status, c.status)
				}
				if kind.commands && c.output != "*" && r.output != c.output {
					t.Errorf("%q: output %q, want %q", c.line, r.output, c.output)
				}
			}
			if len(s.alien) > 0 {
				t.Errorf("marks without the token: %v", s.alien)
			}
		})
	}
}

// An input that runs no command gives no C, and the next prompt all the same.
func TestNothingRuns(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			programPath(t, kind.start.argv[0])
			t.Parallel()
			s := ready(t, kind.start)
			if r := s.run("sh -c 'exit 7'"); r.status != 7 {
				t.Fatalf("status %d", r.status)
			}
			if r := s.run(""); r.kinds != "DAB" || r.status != 7 {
				t.Errorf("empty line: %+v, want DAB with the status of before", r)
			}
			s.quiet() // fish drops what comes while it makes its prompt
			if kind.name == "fish" {
				if r := s.run(")"); r.kinds != "DB" || r.status != 127 {
					t.Errorf("syntax error: %+v", r)
				}
				s.quiet()
				if r := s.keys("\x03"); r.kinds != "DB" || r.status != 130 {
					t.Errorf("Ctrl-C: %+v", r)
				}
			} else {
				s.run("true") // zsh leaves a status that is not 0
				syntax := map[string]int{"bash": 2, "zsh": 1, "dash": 2, "busybox": 2}[kind.name]
				if r := s.run(")"); r.kinds != "DAB" || r.status != syntax {
					t.Errorf("syntax error: %+v, want DAB and %d", r, syntax)
				}
				s.send("echo never run")
				s.await("the echo", func() bool { return strings.Contains(string(s.term.AppendText(nil)), "never run") })
				s.quiet()
				if r := s.keys("\x03"); r.kinds != "DAB" || r.status != 130 {
					t.Errorf("Ctrl-C: %+v, want DAB and 130", r)
				}
			}
			s.quiet()
			if r := s.run("echo ok"); r.status != 0 || kind.commands && r.output != "ok\n" {
				t.Errorf("afterwards: %+v", r)
			}
		})
	}
}

func TestInterrupt(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			programPath(t, kind.start.argv[0])
			t.Parallel()
			s := ready(t, kind.start)
			from := s.position()
			s.send("sh -c 'echo started; exec sleep 100'\r")
			s.await("the command", func() bool { return strings.Contains(string(s.term.AppendText(nil)), "\nstarted") })
			if r := s.result(from); strings.Contains(r.kinds, "D") {
				t.Fatalf("ended before it did: %+v", r)
			}
			s.send("\x03")
			s.prompt(from, false)
			if r := s.result(from); r.status != 130 || kind.commands && r.output != "started\n^C\n" && r.output != "started\n^C" {
				t.Errorf("Ctrl-C: %+v", r)
			}
		})
	}
}

// A quote that is not closed: no D until it is.
func TestContinuation(t *testing.T) {
	for _, kind := range kinds {
		if kind.name == "fish" {
			continue // its editor takes more lines without a prompt of their own
		}
		t.Run(kind.name, func(t *testing.T) {
			programPath(t, kind.start.argv[0])
			t.Parallel()
			s := ready(t, kind.start)
			from := s.position()
			s.send("echo 'a\r")
			s.await("the continuation", func() bool { return len(s.marks) > from })
			s.quiet()
			if r := s.result(from); r.kinds != "P" {
				t.Fatalf("open quote: marks %s, want P", r.kinds)
			}
			s.send("b'\r")
			s.prompt(from, false)
			if r := s.result(from); r.status != 0 || kind.commands && r.output != "a\nb\n" {
				t.Errorf("closed quote: %+v", r)
			}
		})
	}
}

// What a program prints is not ours, whatever it looks like.
func TestForeignMarks(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			programPath(t, kind.start.argv[0])
			t.Parallel()
			s := ready(t, kind.start)
			r := s.run(`printf '\033]133;D;0\a\033]133;A;den=\a\033]133;D;0;den=x\a'; false`)
			if r.status != 1 || len(s.alien) != 3 {
				t.Errorf("%+v, alien %v", r, s.alien)
			}
		})
	}
}

// A shell in the shell, even one that inherits the prompts, gives no marks of
// ours, and neither does what replaces it.
func TestNested(t *testing.T) {
	for _, kind := range kinds {
		for _, inner := range []string{"bash", "bash --norc", "dash", "zsh -f"} {
			t.Run(kind.name+"/"+inner, func(t *testing.T) {
				programPath(t, kind.start.argv[0])
				programPath(t, strings.Fields(inner)[0])
				t.Parallel()
				s := ready(t, kind.start)
				if kind.name != "fish" {
					s.run("export PS1 PS2 PROMPT_COMMAND PS0 PROMPT_EOL_MARK ENV ZDOTDIR")
				}
				s.quiet() // busybox asks the terminal something at each prompt
				from := s.position()
				s.send(inner + "\r")
				s.quiet()
				s.send("echo in''side; false\r")
				s.await("the echo", func() bool { return strings.Contains(string(s.term.AppendText(nil)), "\ninside") })
				s.quiet()
				if r := s.result(from); r.kinds != map[bool]string{true: "C"}[kind.commands] {
					t.Fatalf("inside: marks %s", r.kinds)
				}
				s.send("exit 5\r")
				s.prompt(from, false)
				if r := s.result(from); r.status != 5 {
					t.Errorf("after: %+v", r)
				}
			})
		}
	}
}

func TestExecAndExit(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			programPath(t, kind.start.argv[0])
			t.Parallel()
			s := ready(t, kind.start)
			s.quiet()
			from := s.position()
			s.send("exec bash --norc\r")
			s.quiet()
			s.send("echo in''side\r")
			s.await("the echo", func() bool { return strings.Contains(string(s.term.AppendText(nil)), "\ninside") })
			s.send("exit 6\r")
			if status := s.exit(); status != 6 {
				t.Errorf("exit status %d, want 6", status)
			}
			if r := s.result(from); strings.ContainsAny(r.kinds, "DAB") {
				t.Errorf("marks %s after exec", r.kinds)
			}
		})
		t.Run(kind.name+"/eof", func(t *testing.T) {
			programPath(t, kind.start.argv[0])
			t.Parallel()
			s := ready(t, kind.start)
			s.quiet()
			s.send("\x04")
			if status := s.exit(); status != 0 {
				t.Errorf("exit status %d, want 0", status)
			}
		})
	}
}

// The children's environment is what it would have been.
func TestEnvironment(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			programPath(t, kind.start.argv[0])
			t.Parallel()
			of := func(plain bool) string {
				c := kind.start
				c.plain = plain
				c.env = append(c.env, "ZDOTDIR_IS=not-set", "EMPTY=")
				s := open(t, c)
				s.quiet()
				s.send("env | sort >$HOME/out; echo do''ne\r")
				s.await("the end", func() bool { return strings.Contains(string(s.term.AppendText(nil)), "\ndone") })
				out, err := os.ReadFile(filepath.Join(s.home, "out"))
				if err != nil {
					t.Fatal(err)
				}
				return strings.ReplaceAll(string(out), s.home, "HOME")
			}
			if with, without := of(false), of(true); with != without {
				t.Errorf("with:\n%s\nwithout:\n%s", with, without)
			}
		})
	}
}

func TestBackgroundJob(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			programPath(t, kind.start.argv[0])
			t.Parallel()
			s := ready(t, kind.start)
			s.run("mkfifo go")
			if r := s.run("sh -c 'read x <go; echo be\"\"hind' &"); r.status != 0 {
				t.Fatalf("%+v", r)
			}
			s.quiet()
			from := s.position()
			if err := os.WriteFile(filepath.Join(s.home, "go"), []byte("go\n"), 0); err != nil {
				t.Fatal(err)
			}
			s.await("the job", func() bool { return strings.Contains(string(s.term.AppendText(nil)), "behind") })
			s.quiet()
			if r := s.result(from); strings.ContainsAny(r.kinds, "CD") {
				t.Errorf("a job that ends gives %s", r.kinds)
			}
			for range 2 { // the first may come with the news of the job's end
				if r := s.run("echo still here"); r.status != 0 || kind.commands && !strings.HasSuffix(r.output, "still here\n") {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

// A new size draws the prompt anew. That is no command and no end of one.
func TestResize(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			programPath(t, kind.start.argv[0])
			t.Parallel()
			s := ready(t, kind.start)
			s.send("echo out")
			s.quiet()
			from := s.position()
			for _, cols := range []int{40, 20, 100} {
				s.mu.Lock()
				s.term.Resize(cols, 24)
				s.mu.Unlock()
				if err := s.tty.Resize(pty.Size{Cols: cols, Rows: 24}); err != nil {
					t.Fatal(err)
				}
				s.quiet()
			}
			if r := s.result(from); strings.ContainsAny(r.kinds, "CDP") {
				t.Errorf("marks %s", r.kinds)
			}
			if r := s.run(""); r.status != 0 || kind.commands && r.output != "out\n" {
				t.Errorf("%+v", r)
			}
		})
	}
}

// The options that make shells talk or give up.
func TestOptions(t *testing.T) {
	for _, kind := range kinds {
		if kind.name == "fish" {
			continue // it has none
		}
		t.Run(kind.name, func(t *testing.T) {
			programPath(t, kind.start.argv[0])
			t.Parallel()
			s := ready(t, kind.start)
			s.run("set -eu")
			if r := s.run("false || (exit 0)"); r.status != 0 {
				t.Errorf("%+v", r)
			}
			if r := s.run("! true"); r.status != 1 {
				t.Errorf("%+v", r)
			}
			s.run("set +e -x")
			if r := s.run("sh -c 'exit 4'"); r.status != 4 {
				t.Errorf("%+v", r)
			}
			s.run("")
			if text := s.screen(); strings.Contains(text, "__den") || strings.Contains(text, "133;") {
				t.Errorf("it shows:\n%s", text)
			}
			s.run("set +x -e")
			s.send("sh -c 'exit 4'\r")
			if status := s.exit(); status != 4 {
				t.Errorf("set -e: ended with %d", status)
			}
		})
	}
}

func TestHistory(t *testing.T) {
	for kind, c := range map[string]struct {
		start start
		ask   string
	}{
		"bash": {start{argv: []string{"bash"}, files: map[string]string{".bashrc": "HISTCONTROL=\n"}}, "history"},
		"zsh":  {start{argv: []string{"zsh"}, files: map[string]string{".zshrc": "HISTSIZE=100\n"}}, "fc -l 1"},
		"fish": {start{argv: []string{"fish"}, files: map[string]string{".config/fish/config.fish": "set fish_greeting\n"}}, "history | cat"},
	} {
		t.Run(kind, func(t *testing.T) {
			programPath(t, kind)
			t.Parallel()
			s := ready(t, c.start)
			s.run("echo one")
			s.run("")
			s.run("echo two")
			out := s.run(c.ask).output
			if !strings.Contains(out, "echo one") || strings.Contains(out, "den") || strings.Contains(out, "133;") || strings.Count(out, "\n") > 3 {
				t.Errorf("history:\n%s", out)
			}
		})
	}
}

func TestOwnMark(t *testing.T) {
	for _, c := range []struct {
		kind   byte
		args   string
		status int
		own    bool
	}{
		{'A', "den=" + token, 0, true},
		{'P', "k=s;den=" + token, 0, true},
		{'D', "42;den=" + token, 42, true},
		{'D', "den=" + token, 0, false},
		{'D', "x;den=" + token, 0, false},
		{'D', "42", 0, false},
		{'A', "", 0, false},
		{'A', "den=other", 0, false},
		{'A', "xden=" + token, 0, false},
		{'A', "den=" + token + "x", 0, false},
	} {
		status, own := cell.OwnMark(vt.Mark{Kind: c.kind, Args: c.args}, token)
		if status != c.status || own != c.own {
			t.Errorf("%c %q: %d %v, want %d %v", c.kind, c.args, status, own, c.status, c.own)
		}
	}
}
