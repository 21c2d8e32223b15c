// Package lines writes random lines of shell, for tests of how den reads them.
package lines

import (
	"math/rand/v2"
	"strings"
)

// Program is a command and the options that lines may give it.
type Program struct {
	Name    string
	Options []string
}

// A Generator writes lines. Most of what it writes is plain; now and then there
// is something in it that runs the program pwn in one shell or another, if a
// reader of the line does not look closely.
type Generator struct {
	*rand.Rand
	Programs []Program
	Files    []string // that plain lines name
}

func (g Generator) pick(of ...string) string { return of[g.IntN(len(of))] }

// one reports true one time out of n.
func (g Generator) one(n int) bool { return g.IntN(n) == 0 }

// Line writes a line.
func (g Generator) Line() string {
	switch g.IntN(15) {
	case 0:
		return g.mutate(g.pick(Holes...))
	case 1:
		return g.mutate(g.list(g.IntN(3)))
	case 2:
		return g.pick(Plain...) + g.joint() + g.list(0)
	case 3:
		return g.mutate(g.pick(Plain...))
	case 4, 7:
		return g.family(1)
	case 5:
		return g.mutate(g.family(1))
	case 6:
		return g.pick(Plain...) + g.joint() + g.family(1)
	}
	return g.list(g.IntN(3))
}

func (g Generator) joint() string {
	return g.pick("; ", " && ", " || ", " | ", "\n", " & ", ";", " |& ", "\n\n", " ;\t")
}

func (g Generator) list(depth int) string {
	line := g.compound(depth)
	for g.one(3) {
		line += g.joint() + g.compound(depth)
	}
	return line
}

// compound is a command, or several with a keyword of the shell around them.
func (g Generator) compound(depth int) string {
	if depth == 0 || g.one(2) {
		return g.command(depth)
	}
	in, other := g.list(depth-1), g.command(depth-1)
	switch g.IntN(22) {
	case 0:
		return "(" + in + ")" + g.redirections()
	case 1:
		return "{ " + in + "; }" + g.redirections()
	case 2:
		return "if " + other + "; then " + in + "; fi"
	case 3:
		return "if " + other + "; then " + in + "; elif " + other + "; then " + other + "; else " + other + "; fi"
	case 4:
		return "while false; do " + in + "; done"
	case 5:
		return "until true; do " + in + "; done"
	case 6:
		return "case " + g.word(depth-1) + " in " + g.pattern() + ") " + in + ";; " + g.pick("*", "(b)", "c|d", "'e'") + ") " + other + ";; esac"
	case 7:
		return "[[ " + g.condition(depth-1) + " ]] && " + in
	case 8:
		return g.pick("test ", "[ ") + g.condition(depth-1) + " ]; " + in
	case 9:
		return g.pick("sh", "bash", "zsh", "dash", "bash -l", "sh -e") + g.pick(" -c ", " -ec ", " -c -- ") + quote(in)
	case 10:
		return g.pick("eval ", "eval -- ") + quote(in)
	case 11:
		return g.pick("time ", "! ", "time -p ", "exec ", "builtin ", "command ", "noglob ", "- ", "coproc ", "nocorrect ") + other
	case 12:
		return g.pick("f", "ls", "cat", "cd") + g.pick("() { ", "() ( ") + in + g.pick("; }", ")") + "; " + other
	case 13:
		return "for " + g.pick("f", "PATH", "IFS", "x", "_") + " in " + g.word(depth-1) + "; do " + in + "; done"
	case 14:
		return g.pick("((", "let ") + g.arithmetic(depth-1) + g.pick("))", "") + "; " + in
	case 15:
		return "{ " + in + " } always { " + other + " }"
	case 16:
		return g.pick("alias ls=pwn", "alias -g x=pwn", "trap pwn EXIT", "set -x", "shopt -s extglob expand_aliases", "setopt globsubst", "hash ls=/bin/pwn", "enable -n echo", "function ls { pwn; }", "unset PATH", "read PATH", "exec 3>&1") + g.pick("\n", "; ") + in
	case 17:
		return g.assignment(depth-1) + g.pick("; ", " ") + in
	case 18:
		return other + " | " + g.pick("xargs ", "xargs -n1 ", "xargs -0 ", "xargs -I% ") + other
	case 19:
		return "repeat 2 " + g.pick("", "{ ") + in
	case 20:
		return g.pick("find . -exec ", "find . -execdir ", "find . -ok ") + other + g.pick(" {} +", ` \;`)
	}
	return "if [[ a ]] { " + in + " }"
}

func quote(line string) string { return "'" + strings.ReplaceAll(line, "'", `'\''`) + "'" }

var wrappers = []string{"env", "env -i PATH=/bin", "timeout 5", "nice -n 1", "nice", "command", "nohup", "setsid -w", "stdbuf -oL", "env --", "env -u x", "command --", "timeout -k 1 5", "exec", "builtin", "env x=1", "env -S", "ionice -c3", "taskset 1", "taskset -c 0", "chrt -b 0"}

func (g Generator) command(depth int) string {
	var words []string
	if g.one(25) {
		words = append(words, g.assignment(depth))
	}
	if g.one(12) {
		words = append(words, g.pick(wrappers...))
	}
	p := g.Programs[g.IntN(len(g.Programs))]
	switch g.IntN(30) {
	case 0:
		words = append(words, g.pick("pwn", "./pwn", "$y", "'pwn'", "p''wn", "${y}", "{pwn,}", "=pwn", "~/pwn"))
	case 1:
		words = append(words, g.pick(`\`, "'", `"`)+p.Name)
	case 2:
		words = append(words, "'"+p.Name+"'")
	default:
		words = append(words, p.Name)
	}
	for range g.IntN(3) {
		if len(p.Options) > 0 && !g.one(6) {
			words = append(words, g.pick(p.Options...))
		}
	}
	if g.one(12) {
		words = append(words, g.hostileOption())
	}
	for range g.IntN(4) {
		words = append(words, g.word(depth))
	}
	line := words[0]
	for _, w := range words[1:] {
		line += g.blank() + w
	}
	return line + g.redirections()
}

func (g Generator) blank() string {
	if g.one(25) {
		return g.pick("\t", "  ", " \\\n", "\\\n", "\v", "\f", "\u00a0", "\u2003", " \\\\\n", "\n", "", "\x1f", "\u200b", "#", " # ")
	}
	return " "
}

// hostileOption is one that makes some program run, write or read what it
// should not.
func (g Generator) hostileOption() string {
	return g.pick("-v", "-v 'a[$(pwn)]'", "-exec pwn", "--output=new", "-o new", "--ext-diff", "--textconv", "-c core.fsmonitor=pwn", "-c alias.status='!pwn'",
		"--exec-path=.", "-C sub", "--git-dir=sub", "-P", "-i", "-w", "-fnew", "--files0-from=/home/outside/secret", "--hyperlink", "-s 0101", "--set=0101", "-f a.txt", "-T", "-R",
		"-eq", "-ne 1", "-ef a.txt", "-nt", "-t", "-p x", "-a", "-m '*'", "--", "-", "-n", "+x", "-S", "-ue", "--help", "--open-files-in-pager=pwn", "-O", "--paginate", "-p", "%d", "%n PATH", "'%d' x", "-d a", "-e pwn")
}

func (g Generator) assignment(depth int) string {
	return g.pick("A", "x", "PATH", "IFS", "PAGER", "GIT_PAGER", "LD_PRELOAD", "BASH_ENV", "ENV", "CDPATH", "_", "path", "GIT_EXTERNAL_DIFF", "a[$(pwn)]", "a[0]", "NULLCMD", "HOME") +
		g.pick("=", "=", "=", "+=", "=(", "==") + g.pick("", ".", "pwn", "/bin", "'$(pwn)'", "sub)", g.word(depth))
}
