package session_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"den/internal/session"
	"den/internal/session/cell"
	"den/internal/testkit/need"
	"den/internal/testkit/servertest"
)

// A speaker is a program that takes cells of a language.
type speaker struct {
	name, needs string
	argv        []string
	server      func(t *testing.T) []string // the rest of argv, for what the test makes for it; or nil
	shows       string                      // when it is ready, where den cannot tell, or ""
	inner       string                      // begins the one that takes them, inside a shell, or ""
	dialect     string                      // of the statements that only some have
	language    *language
}

var speakers = []speaker{
	{name: "bash", needs: "bash", argv: shellsWithMarks[0], dialect: "bash", language: &shellLanguage},
	{name: "zsh", needs: "zsh", argv: shellsWithMarks[1], dialect: "zsh", language: &shellLanguage},
	{name: "fish", needs: "fish", argv: shellsWithMarks[2], dialect: "fish", language: &shellLanguage},
	{name: "dash", needs: "dash", argv: shellsWithMarks[3], dialect: "dash", language: &shellLanguage},
	{name: "bash inside bash", needs: "bash", argv: shellsWithMarks[0], inner: "bash --norc", dialect: "bash", language: &shellLanguage},
	{name: "zsh inside bash", needs: "zsh", argv: shellsWithMarks[0], inner: "zsh -f", dialect: "zsh", language: &shellLanguage},
	{name: "dash inside bash", needs: "dash", argv: shellsWithMarks[0], inner: "dash", dialect: "dash", language: &shellLanguage},
	{name: "bash behind ssh", needs: "ssh", server: servertest.SSHD, shows: servertest.Prompt, dialect: "far", language: &shellLanguage},
	{name: "podman exec bash", needs: "bash", server: boxed("bash", "bash", "--norc", "--noprofile"), shows: servertest.Prompt, dialect: "far", language: &shellLanguage},
	{name: "podman exec ash", needs: "bash", server: boxed("", "sh"), shows: servertest.Prompt, dialect: "far", language: &shellLanguage},
	{name: "python", needs: "python3", argv: []string{"python3", "-q"}, language: &python},
	{name: "pdb", needs: "python3", argv: []string{"python3", "-m", "pdb"}, server: aProgram, shows: "(Pdb)", language: &pdb},
	{name: "node", needs: "node", argv: []string{"node"}, language: &node},
	{name: "irb", needs: "irb", argv: []string{"irb", "-f"}, language: &irb},
	{name: "sqlite", needs: "sqlite3", argv: []string{"sqlite3"}, language: &sqlite},
	{name: "gdb", needs: "gdb", argv: []string{"env", "LC_ALL=C.UTF-8", "gdb", "-q", "-nx"}, language: &gdb},
	{name: "psql", needs: "psql", argv: []string{"env", "LC_ALL=C.UTF-8", "psql", "-X", "-A", "-t", "-q", "-U", "postgres", "-P", "pager=off", "-h"}, server: postgres, shows: "postgres=#", language: &psql},
}

func postgres(t *testing.T) []string { return []string{servertest.Postgres(t)} }

// boxed returns a command line for a shell in a container, and with it a program of
// this machine if one is named.
func boxed(program string, shell ...string) func(t *testing.T) []string {
	return func(t *testing.T) []string {
		need.Target(t, "DEN_TEST_PODMAN", "make test-podman")
		box := servertest.StartContainer(t, strings.Fields(program)...)
		argv := slices.Concat([]string{"env"}, box.Env, box.Argv, []string{"exec", "-it", "-e", "LC_ALL=C.UTF-8", "-e", "PS1=" + servertest.Prompt + " ", "box"})
		return append(argv, shell...)
	}
}

// aProgram returns the path of a program in Python.
func aProgram(t *testing.T) []string {
	path := filepath.Join(t.TempDir(), "program.py")
	if err := os.WriteFile(path, []byte("pass\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{path}
}

// states are sequences that leave the terminal in a state which matters to nothing
// that a program without marks prints. Others make all that follows inexact: see
// TestUnusualTerminals.
var states = []string{
	`[?25l`, `[1"q`, `[?2026h`, `[?1003h\x1b[?1006h\x1b[?1004h`, `[?2004h`, `[7m`, `[?5h`,
}

// TestUnusualTerminals has Python leave the terminal in states that den cannot mend
// there. It prints on, and no answer that is wrong says that it is exact.
func TestUnusualTerminals(t *testing.T) {
	t.Parallel()
	for _, state := range []string{
		`[?1049h`, `[?47h`, `[?1047h\x1b[3;3H`, `[5;10r`, `[?69h\x1b[10;20s`, `[2;3r\x1b[?6h`, `[4h`, `[20h`, `[?7l`, `(0`, `)0\x0e`, `#6`, `[3g`,
	} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			s, _ := start(t, session.Options{}, "python3", "-q")
			for i, c := range []struct{ code, out string }{
				{`print("before")`, "before"},
				{`print("\x1b` + state + `", end="")`, ""},
				{`print(*range(1, 61), sep="\n"); print("\ta b")`, numbers(60) + "\ta b"},
				{`print("after")`, "after"},
			} {
				r, err := s.Run(t.Context(), session.Run{Code: c.code, Timeout: cellPatience})
				if err != nil {
					t.Fatal(err)
				}
				if r.Asks() && i > 1 { // its prompt is another now, or stands elsewhere
					return
				}
				if exact := r.Certainty == cell.Exact && r.OutputLacks == ""; r.Status != cell.Done || exact && r.Output != c.out || i == 0 && !exact {
					t.Errorf("%s: %+v", c.code, r)
				}
			}
		})
	}
}

// leaving returns statements that print the states.
func leaving(before, after string) (all []statement) {
	for _, state := range states {
		code := before + `\x1b` + state + after
		if strings.Contains(before, "printf") {
			code = strings.ReplaceAll(code, `\x1b`, `\033`)
		}
		all = append(all, statement{code: code})
	}
	return all
}

var python = language{
	glue: "\n",
	prints: []statement{
		{code: `print("one")`, out: "one\n"},
		{code: `6*7`, out: "42\n"},
		{code: `print("two words  and blanks  ")`, out: "two words  and blanks  \n"},
		{code: `print(*range(1, 61), sep="\n")`, out: numbers(60)},
		{code: `print("\tindented\n\t\ttwice\nall:\tdep")`, out: "\tindented\n\t\ttwice\nall:\tdep\n"},
		{code: `print("0" * 199 + "7")`, out: strings.Repeat("0", 199) + "7\n"},
		{code: `print("0" * 79 + "7")`, out: strings.Repeat("0", 79) + "7\n"},
		{code: `print("\n\nbehind empty lines")`, out: "\n\nbehind empty lines\n"},
		{code: `print("\u65e5\u672c \xe9")`, out: "日本 é\n"},
		{code: `print("\x1b[31mred\x1b[0m")`, out: "red\n"},
		{code: `print("10%\r50%\r100%")`, out: "100%\n"},
		{code: `print(">>> ")`, out: ">>> \n"},
		{code: `import time; time.sleep(0.02); print("late")`, out: "late\n"},
		{code: `import os; _ = os.system("echo child; sleep 0.01; echo late")`, out: "child\nlate\n"},
		{code: "def f(n):\n    return n + 1\n\nf(4)", out: "5\n"},
		{code: `x = input("name? "); print("[" + x + "]")`, answer: "bob", out: "name? bob\n[bob]\n"},
		{code: `print("\x1b[?1049h\x1b[Hfull screen\x1b[?1049l", end="")`},
	},
	leavings: slices.Concat([]statement{
		{code: `x = 1`},
		{code: `print("no newline", end="")`, out: "no newline"},
		{code: `import sys; sys.exit`, out: "<built-in function exit>"},
	}, leaving(`print('`, `', end="")`)),
}

// pdb takes a line of Python each time.
var pdb = language{
	glue: "\n",
	prints: slices.Concat([]statement{
		{code: `p 6*7`, out: "42\n"},
		{code: `p nosuch`, out: "*** NameError: name 'nosuch' is not defined\n"},
		{code: `print("(Pdb) ")`, out: "(Pdb) \n"},
		{code: `whatis 7`, out: "<class 'int'>\n"},
	}, oneLine(python.prints)),
	leavings: python.leavings,
}

// oneLine returns the statements of a line each.
func oneLine(all []statement) []statement {
	return slices.DeleteFunc(slices.Clone(all), func(s statement) bool { return strings.Contains(s.code, "\n") })
}

var node = language{
	glue: "\n",
	prints: []statement{
		{code: `6*7`, out: "42\n"},
		{code: `console.log("one")`, out: "one\nundefined\n"},
		{code: `console.log("\tindented\n\t\ttwice")`, out: "\tindented\n\t\ttwice\nundefined\n"},
		{code: `for (let i = 1; i <= 60; i++) console.log(i)`, out: numbers(60) + "undefined\n"},
		{code: `"0".repeat(199) + "7"`, out: "'" + strings.Repeat("0", 199) + "7'\n"},
		{code: `console.log("\n\nbehind empty lines")`, out: "\n\nbehind empty lines\nundefined\n"},
		{code: `await new Promise(r => setTimeout(r, 20)); "late"`, out: "'late'\n"},
		{code: `function f(n) {` + "\n  return n + 1\n}\nf(4)", out: "undefined\n5\n"},
		{code: `throw new Error("boom")`, out: "Uncaught Error: boom\n"},
	},
	leavings: []statement{{code: `1`, out: "1"}, {code: `var x = 1`, out: "undefined"}},
}

var irb = language{
	glue: "\n",
	prints: []statement{
		{code: `6*7`, out: "=> 42\n"},
		{code: `puts "one"`, out: "one\n=> nil\n"},
		{code: `puts "\tindented\n\t\ttwice"`, out: "\tindented\n\t\ttwice\n=> nil\n"},
		{code: `puts (1..60).to_a; 1`, out: numbers(60) + "=> 1\n"},
		{code: `puts "\n\nbehind empty lines"`, out: "\n\nbehind empty lines\n=> nil\n"},
		{code: `sleep 0.02; :late`, out: "=> :late\n"},
		{code: "def f(n)\n  n + 1\nend\nf(4)", out: "=> :f\n=> 5\n"},
	},
	leavings: []statement{{code: `1`, out: "=> 1"}, {code: `nil`, out: "=> nil"}},
}

var sqlite = language{
	glue: "\n",
	prints: []statement{
		{code: `.print one`, out: "one\n"},
		{code: `select 6*7;`, out: "42\n"},
		{code: `select 'two words  and blanks  ';`, out: "two words  and blanks  \n"},
		{code: "select 1,\n2;", out: "1|2\n"},
		{code: `with recursive c(x) as (select 1 union all select x+1 from c limit 60) select x from c;`, out: numbers(60)},
		{code: `select printf('%0200d', 7);`, out: strings.Repeat("0", 199) + "7\n"},
		{code: `select printf('%080d', 7);`, out: strings.Repeat("0", 79) + "7\n"},
		{code: `select char(9)||'indented'||char(10,9,9)||'twice';`, out: "\tindented\n\t\ttwice\n"},
		{code: `select char(10,10)||'behind empty lines';`, out: "\n\nbehind empty lines\n"},
		{code: `.print sqlite>`, out: "sqlite>\n"},
		{code: `.shell sleep 0.02; echo late`, out: "late\n"},
		{code: `select x from nosuch;`, out: "Parse error: no such table: nosuch\n"},
	},
	leavings: []statement{{code: `select 1;`, out: "1"}, {code: `create temp table if not exists t(a);`}, {code: `.shell printf nonewline`, out: "nonewline"}},
}

var gdb = language{
	glue: "\n",
	prints: slices.Concat([]statement{
		{code: `echo one\n`, out: "one\n"},
		{code: `printf "%d\n", 6*7`, out: "42\n"},
		{code: `echo \n\nbehind empty lines\n`, out: "\n\nbehind empty lines\n"},
		{code: `echo (gdb) \n`, out: "(gdb) \n"},
		{code: "if 1\necho inside\\n\nend", out: "inside\n"},
		{code: `print nosuch`, out: "No symbol table is loaded.  Use the \"file\" command.\n"},
	}, behind("shell ", prints)),
	leavings: slices.Concat([]statement{{code: `set $x = 1`}, {code: `echo no newline`, out: "no newline"}}, leaving("shell printf '", "'")),
}

var psql = language{
	glue: "\n",
	prints: slices.Concat([]statement{
		{code: `\echo one`, out: "one\n"},
		{code: `select 6*7;`, out: "42\n"},
		{code: "select 1,\n2;", out: "1|2\n"},
		{code: `select pg_sleep(0.02), 'late';`, out: "|late\n"},
		{code: `select repeat('0', 79) || '7';`, out: strings.Repeat("0", 79) + "7\n"},
		{code: `\echo 'postgres=# '`, out: "postgres=# \n"},
		{code: `select x from nosuch;`, out: "ERROR:  relation \"nosuch\" does not exist\nLINE 1: select x from nosuch;\n                      ^\n"},
		{code: "\\prompt 'name? ' x\n\\echo [:x]", answer: "bob", out: "name? bob\n[bob]\n"},
	}, behind(`\! `, prints)),
	leavings: slices.Concat([]statement{{code: `\set y 1`}, {code: `\echo -n 'no newline'`, out: "no newline"}}, leaving(`\! printf '`, "'")),
}

// behind returns statements of sh as another program takes them.
func behind(command string, shell []statement) (all []statement) {
	for _, s := range shell {
		if s.only == "" {
			all = append(all, statement{code: command + s.code, out: s.out, answer: s.answer})
		}
	}
	return all
}
