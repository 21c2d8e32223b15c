package commandline_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"den/internal/agent/permission/commandline"
	"den/internal/testkit/jail"
	"den/internal/testkit/need"
)

// realPrograms run others, and are taken from the system. The programs p1 to p4
// note how they were called.
var realPrograms = []string{"env", "xargs", "nice", "nohup", "timeout", "find", "cat", "setsid"}

// covers reports whether a call is one of the commands that a line was said to
// run.
func covers(commands []commandline.Command, call []string) bool {
	for _, c := range commands {
		if covers(c.Runs, call) || matches(append([]commandline.Word{c.Name()}, c.Args()...), call) {
			return true
		}
	}
	return false
}

// matches compares words with a call; a dynamic word stands for any number.
func matches(words []commandline.Word, call []string) bool {
	switch {
	case len(words) == 0:
		return len(call) == 0
	case words[0].Dynamic:
		return matches(words[1:], call) || len(call) > 0 && matches(words, call[1:])
	}
	return len(call) > 0 && words[0].Text == call[0] && matches(words[1:], call[1:])
}

// generator writes lines of shell at random.
type generator struct{ *rand.Rand }

func (g generator) pick(of ...string) string { return of[g.IntN(len(of))] }

func (g generator) word(depth int) string {
	if depth > 0 && g.IntN(6) == 0 {
		inner := g.line(depth - 1)
		return g.pick("$("+inner+")", "`"+g.command(0)+"`", `"$(`+inner+`)"`, "<("+inner+")", "=("+inner+")", "${y:-$("+inner+")}", "$(("+g.pick("1", "x=1", "$("+inner+")")+"))")
	}
	return g.pick("p1", "p2", "-x", "'p1 p2'", `"p3 $x"`, "$x", "${x}", `\p4`, "p{3,4}", "p*", "a=b", "~", "''", "$'p1'", `$'\x70\x31'`, "#p1", "!", "{}", "=p2", "p2;p3", "p1&p2", "[p1]", "-", "--", "${x@P}", "{p3}", "p1|p2", "p1>p2", `\\`, `p1\\`, "$((p1);(p2))", "`p1 \\`p2\\``", "$[1]", "p1\vp2", "\fp2", "\u00a0p2", `"`+"`p3`"+`"`, "$(<p1)", "%p1", "^p1^p2", "!!", "!p1", "p1=p2", "$((p1))", "'a[$(p4)]'", "'a[`p3`]'", "$((1+1))", "$(('a[$(p4)]'))", "${x:'a[$(p4)]'}", "${x:1:2}", "${x['$(p4)']}", "-v", "-eq", "@(p1|p2)", "p?(1)", "(p1)", ")", "}", "{", "done", "then")
}

func (g generator) command(depth int) string {
	var words []string
	if g.IntN(6) == 0 {
		words = append(words, g.pick("A=1", "A=$x", "A=(p1)", "A+=p", "PATH=$PATH"))
	}
	words = append(words, g.pick("p1", "p2", "p3", `\p4`, "'p1'", `"p2"`, "p''3", "$x", "env", "env -i", "env A=1", "nice -n 1", "command", "exec", "timeout 5", "xargs", "xargs -n1", "nohup", "eval", "builtin", "command -p", "setsid", "time", "!", "if", "find . -exec", "repeat 2", "noglob", "-", "coproc", "[[", "[", "((", "function p1", "foreach", "{", "case", "while", "let", "declare", "exec -a x", "env --", "time -p", "p1&", "trap"))
	for range g.IntN(4) {
		words = append(words, g.word(depth))
	}
	if g.IntN(5) == 0 {
		words = append(words, g.pick("> out", "2>&1", "< /dev/null", ">out p2", "<<< p1", "<<E\n$(p4)\nE\n", "<<'E'\n$(p4)\nE\n", "<<\\E\n`p4`\nE\n", "<<-E\n\t`p4`\n\tE\n", "<<\"E\"; p3\n$(p4)\nE\n", "|& p2", "&! p2", "&| p2", ">(p2)", "]]", "&& p2 ]]", "|| p2 ]]", "< p2 ]]", "))", ">& out", "&> out"))
	}
	return strings.Join(words, g.pick(" ", " ", "  ", "\t", " \\\n", "\\\n", " \\\\\\\n", "\n", ";"))
}

func (g generator) line(depth int) string {
	c := g.command(depth)
	if depth == 0 {
		return c
	}
	d := g.line(depth - 1)
	return g.pick(c, c+"; "+d, c+" && "+d, c+" || "+d, c+" | "+d, c+" & "+d, c+"\n"+d, "("+d+")", "{ "+d+"; }", "if "+c+"; then "+d+"; fi",
		"case p1 in p*) "+d+";; esac", "sh -c '"+strings.ReplaceAll(d, "'", `'\''`)+"'", `eval "`+strings.NewReplacer(`"`, `\"`, "$", `\$`, "`", "\\`", `\`, `\\`).Replace(d)+`"`,
		"p1() { "+d+"; }; p1", "for p in p1 p2; do $p; "+d+"; done", "while "+d+"; do "+c+"; break; done", c+" # "+d, "[[ p1 = $("+d+") ]]", "time "+d, "! "+d, "echo p1 | "+d, "[[ p1 && "+d+" ]]", "[[ p1 =~ p1|"+d+" ]]", "(( "+d+" ))", "$(( "+d+" ))", "if [[ p1 ]] { "+d+" }", "{ "+c+" } always { "+d+" }", "repeat 2 "+d, "p1 <<E\n"+d+"\nE\n"+c, "function p1 { "+d+"; }; p1", "for x (p1 p2) "+d, "echo "+c+" #\\\n"+d, "\\"+c, "coproc "+d, "[[ 'a[$(p4)]' "+g.pick("-eq", "-lt", "=", "-nt")+" 1 ]] && "+d, "[[ -v 'a[$(p4)]' ]] || "+d, g.pick("test", "[", "printf", "read", "unset", "wait", "mapfile", "printf -v", "export", "typeset")+" "+g.word(depth)+" "+g.word(depth)+" 1", "echo p1 p2 | xargs -I% "+d, "p1 | xargs -I p1 "+d)
}

// linesPerShell takes about a second. More find more: raise it after a change here.
const linesPerShell = 150

// Whatever a shell calls was said before, or the line was said to have
// problems. The oracle is the shell itself.
func TestNothingRunsUnseen(t *testing.T) {
	j := jail.Open(t, realPrograms...)
	for i, shell := range []string{"bash", "dash", "zsh"} {
		need.Program(t, shell)
		g := generator{rand.New(rand.NewPCG(uint64(i), 20261116))}
		called, clear := 0, 0
		for clear < linesPerShell {
			line := g.line(1 + g.IntN(3))
			said := commandline.Parse(line)
			if len(said.Problems) > 0 {
				continue
			}
			clear++
			did, err := j.Run(shell, line)
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range did.Changed {
				if file == jail.Dir || file == "/tmp" {
					continue // told by the file that is new in it; zsh has here-documents in files that are gone at once
				}
				if !slices.ContainsFunc(said.Files, func(f commandline.File) bool { return f.Dynamic || f.Write && jail.Dir+"/"+f.Path == file }) {
					t.Errorf("%s writes %q in %q, which was said to write %v", shell, file, line, said.Files)
				}
			}
			for _, call := range did.Calls {
				called++
				if !covers(said.Commands, call) {
					t.Errorf("%s runs %q in %q, which was said to run %q", shell, call, line, flat(said.Commands))
				}
			}
		}
		t.Logf("%s: %d lines without problems, %d calls", shell, clear, called)
	}
}
