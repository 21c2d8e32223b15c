package commandline_test

import (
	"context"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"den/internal/need"
	"den/internal/permission/commandline"
)

// sandbox is a directory in which shells find programs that only note how they
// were called.
type sandbox struct{ dir, bin string }

// noted are the programs that note their calls; they print a name and exit 0,
// so that lists go on.
var noted = []string{"p1", "p2", "p3", "p4"}

// globbed is a file that globs match.
const globbed = "p2 p3"

// realPrograms run others, and are taken from the system.
var realPrograms = []string{"env", "xargs", "sh", "bash", "nice", "nohup", "timeout", "find", "cat", "setsid"}

func newSandbox(t *testing.T) sandbox {
	t.Helper()
	s := sandbox{dir: t.TempDir(), bin: t.TempDir()}
	// A call is one line on descriptor 3, written at once, its words apart by
	// a control character.
	script := "#!/bin/sh\nline=${0##*/}\nfor a; do line=$line\x1f$a; done\nprintf '%s\\0' \"$line\" >&3\necho p1\n"
	for _, name := range noted {
		if err := os.WriteFile(filepath.Join(s.bin, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range realPrograms {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(s.bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(s.dir, globbed), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// lineLimit bounds a line: some loop for ever in one shell or another.
const lineLimit = 20 * time.Second

// calls runs a line and returns the words of each call of a noted program. It
// waits for all processes of the line, those in the background too: they hold
// the pipe open.
func (s sandbox) calls(t *testing.T, shell, line string) [][]string {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), lineLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, shell, "-c", line)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Dir, cmd.Env, cmd.ExtraFiles = s.dir, []string{"PATH=" + s.bin, "x=p2 -x", "HOME=" + s.dir}, []*os.File{write}
	err = cmd.Start()
	write.Close()
	if err != nil {
		t.Fatal(err)
	}
	var data []byte
	var reading sync.WaitGroup
	reading.Go(func() { data, _ = io.ReadAll(read) }) // what came before the end counts
	_ = cmd.Wait()                                    // it may fail, or be no valid line for this shell
	if ctx.Err() != nil {
		read.Close() // a process may have got away
	}
	reading.Wait()
	read.Close()
	var all [][]string
	for call := range strings.SplitSeq(strings.TrimSuffix(string(data), "\x00"), "\x00") {
		if call != "" {
			all = append(all, strings.Split(call, "\x1f"))
		}
	}
	return all
}

// newFiles returns the files that a line has made, and removes them.
func (s sandbox) newFiles(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		if e.Name() == globbed {
			continue
		}
		all = append(all, e.Name())
		if err := os.Remove(filepath.Join(s.dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

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
const linesPerShell = 120

// Whatever a shell calls was said before, or the line was said to have
// problems. The oracle is the shell itself.
func TestNothingRunsUnseen(t *testing.T) {
	s := newSandbox(t)
	for i, shell := range []string{"bash", "dash", "zsh"} {
		path := need.Program(t, shell)
		g := generator{rand.New(rand.NewPCG(uint64(i), 20261116))}
		called, clear := 0, 0
		for clear < linesPerShell {
			line := g.line(1 + g.IntN(3))
			said := commandline.Parse(line)
			if len(said.Problems) > 0 {
				continue
			}
			clear++
			calls, files := s.calls(t, path, line), s.newFiles(t)
			for _, file := range files {
				if !slices.ContainsFunc(said.Files, func(f commandline.File) bool { return f.Dynamic || f.Write && f.Path == file }) {
					t.Errorf("%s writes %q in %q, which was said to write %v", shell, file, line, said.Files)
				}
			}
			for _, call := range calls {
				called++
				if !covers(said.Commands, call) {
					t.Errorf("%s runs %q in %q, which was said to run %q", shell, call, line, flat(said.Commands))
				}
			}
		}
		t.Logf("%s: %d lines without problems, %d calls", shell, clear, called)
	}
}
