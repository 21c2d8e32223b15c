package lines

import "slices"

// word is a word of a command.
func (g Generator) word(depth int) string {
	switch g.IntN(14) {
	case 0:
		return g.expansion(depth)
	case 1:
		return `"` + g.quoted(depth) + `"`
	case 2:
		return g.hostileWord(depth)
	case 3:
		return g.pick("'a b'", `"a  b"`, `a\ b`, "''", `""`, `'$(pwn)'`, `"\$(pwn)"`, `\$x`, "'a[$(pwn)]'", `"a[\$(pwn)]"`, "'`pwn`'", `\;`, `'&& pwn'`, `"#"`, "a#b", "a=b", "a:b", "%s", "'%s\\n'", "1", "0", "-1", "+%s", "HEAD", "HEAD~1", "HEAD:a.txt", "x[1]", "--", "grün", "@", "a,b", "a^b", "a%b", "!", "]", "=", "!=")
	}
	return g.pick(g.Files...)
}

// expansion is what a shell replaces.
func (g Generator) expansion(depth int) string {
	if depth > 0 && g.one(2) {
		in := g.list(depth - 1)
		return g.pick("$("+in+")", "`"+g.command(0)+"`", "<("+in+")", "${v:-$("+in+")}", `"$(`+in+`)"`, "$( "+in+"\n)", "$(<"+g.pick(g.Files...)+")")
	}
	return g.pick("$x", "${x}", "$HOME", "$1", "$?", "$#", "$$", "${#x}", "${x:-a}", "${v:+b}", "${x%a*}", "${x##*a}", "$((1+2))", "$(( (3*4) % 5 ))", "*", "*.txt", "a?txt", "[a-z]*", "{a,b}", "{1..3}", "~", "$@", `"$@"`, "$n", "$((-1))", "$((1<2))", "${n}a", "$x$y", "a$n", "$(pwd)", "`pwd`", "$(echo a)", "$(cat a.txt)", "$!", "$-", "${x}[1]", "$0")
}

// quoted is what stands between double quotes, and in here-documents.
func (g Generator) quoted(depth int) string {
	text := ""
	for range 1 + g.IntN(3) {
		switch g.IntN(8) {
		case 0:
			if depth > 0 {
				text += "$(" + g.list(depth-1) + ")"
			}
		case 1:
			text += g.pick("$x", "${x}", "${x:-$n}", "$((1+1))", "$#", "${#x}", "$?", "a$", "$ a", `\$x`, "\\`pwn\\`", `\\`, `\"`, "$(pwd)", "`pwd`", "$HOME/a")
		case 2:
			if g.one(3) {
				text += g.hostileExpansion(depth)
			}
		default:
			text += g.pick("a", " ", "b c", "'", "[a]", "(b)", "{c}", "*", "!", "#", ";", "&", "|", ">", "=", "~", "1", "é")
		}
	}
	return text
}

func (g Generator) hostileWord(depth int) string {
	if g.one(2) {
		return g.hostileExpansion(depth)
	}
	return g.pick("$'pwn'", "$'a\\'; pwn; echo '", `$"pwn"`, "=pwn", "=ls", "=(pwn)", "*(e:pwn:)", "*(e:'pwn':)", "*(+pwn)", "a.txt(e:pwn:)", "@(a|b)", "?(a)", "+(a)", "!(a)", "(pwn)", "{pwn", "}", "{", "'\\'", "<(pwn)", ">(pwn)", "a{b,$(pwn)}", "$y", "!!", "!pwn", "^a^pwn", "%pwn", "~pwn", "~[pwn]", "~+", "$(pwn", "`pwn", "a\\", "&pwn", ";pwn", "|pwn", "[[", "]]", "<1-9>", "/etc/passwd", "../outside/secret", "sub/secret", "out", "/dev/tcp/127.0.0.1/7", ".git/config", "#", "-exec", "$(</home/outside/secret)", "**", "^a", "a~b", "*#", "[[:alpha:]]", "%1", "\u00a0pwn", "\x01", "a\x00b")
}

func (g Generator) hostileExpansion(depth int) string {
	return g.pick("$(("+g.arithmetic(depth)+"))", "$["+g.arithmetic(depth)+"]", "$_", "${_}", "$x[1]", "$path['$(pwn)']", "$path[_]", "$PATH[$(pwn)]", "$_[1]", "$options[$(pwn)]", "$options[_]",
		"$path[x]", "$x[$x]", "${x[1]}", "${x['$(pwn)']}", "${x[x]}", "${x:1}", "${x:x}", "${x:$x}", "${x:_:1}", "${x@P}", "${z@P}", "${z@E}", "${!x}", "${!y}", "${!x*}", "${x:=pwn}", "${x=pwn}", "${PATH:=.}", "${v:=$(pwn)}", "$~z", "$=z", "$^z", "$+x", "${~z}", "${=z}", "${^z}", "${(e)z}", "$(e)z", "${(%)z}", "${(P)y}", "${(Q)z}", "$#x", "$#path[_]", "${#x[x]}", "${x/a/$(pwn)}", "${x//a/b}", "${x^}", "${x,,}", "${x:#a}", "${x:h}", "$x:h", "$x:s/a/$(pwn)/", "$x:e", "${v:-$((_))}", "${v:-$x[_]}", "${v:-$[x]}", "${x%$((x))}", "${x#$[_]}", "${ pwn;}", "${|pwn;}", "${v:-`pwn`}", "${v:?$(pwn)}", "$*[x]", "$@[_]", "$1[x]", "$?[x]", "$$[x]", "$-[x]", "$![_]", "$0[x]", "$x'['x]", `$x"["x]`, `$x\[x]`, "$path[(r)$(pwn)]", "$path[(e)_]", "$functions[x]", "$(("+g.pick("x", "_", "a[0]", "PATH=1", "x++", "n", "n=2", "$x", "$n", "$(pwn)", "`pwn`", "'x'", `"x"`, "1,x", "x?1:2", "##a", "#x", "1 +x", "0x1", "16#f", "x[0]")+"))")
}

// arithmetic is what stands within $(( )).
func (g Generator) arithmetic(depth int) string {
	operand := func() string {
		if g.one(4) {
			return g.pick("x", "_", "'a[$(pwn)]'", "a[$(pwn)]", "$x", "${x}", "PATH=1", "PATH", "$(pwn)", "x++", "--n", "a[x]", "`pwn`", "\"x\"", "n", "$_", "##x", "path[_]", "RANDOM", "$[x]", "$((x))")
		}
		return g.pick("1", "2", "10", "(3)", "-4", "!0", "~1", "+5", " 6 ", "0")
	}
	text := operand()
	for g.one(2) {
		text += g.pick("+", "-", "*", "/", "%", "**", "<", ">", "==", "!=", "<=", ">=", "&", "|", "^", "<<", ">>", "&&", "||", ",", "=", "+=", "?1:", " ", "^^", ";", ")(") + operand()
	}
	return text
}

func (g Generator) pattern() string {
	return g.pick("a", "a*", "*", "'a'", `"a"`, "a|b", "[a]", "$x", "$(pwn)", "*(a)", "@(a)", "$((_))", "(a", "$x[_]", "<1-9>", "a#", "^a", "~a")
}

// condition is what stands within [ ] and [[ ]].
func (g Generator) condition(depth int) string {
	if g.one(3) {
		return g.pick("-e", "-f", "-d", "-r", "-w", "-x", "-s", "-L", "-h", "-z", "-n", "! -e", "-v", "-R", "-o", "-t", "-p", "-N", "-a") + " " + g.word(depth)
	}
	return g.word(depth) + " " + g.pick("=", "==", "!=", "-eq", "-ne", "-lt", "-gt", "-nt", "-ef", "=~", "<", ">", "&&", "||", "-a", "-o", "-ot") + " " + g.word(depth)
}

func (g Generator) redirections() string {
	if !g.one(7) {
		return ""
	}
	switch g.IntN(4) {
	case 0:
		return g.pick(" 2>&1", " 2>/dev/null", " > /dev/null", " < a.txt", " >new.txt", " >> 'new 2'", " &>/dev/null", " >&2", " 2>&-", " < /dev/null", " <& 0", " &>> new.txt", " >| new.txt", " 1>new.txt 2>&1",
			" < a.txt > /dev/stdin", " 2<a.txt >/dev/stderr", " >/dev/stdout", " 3<a.txt >/dev/fd/3", " <1-9>|new.txt", " <->/dev/null", " 12>&1", " 123>/dev/null", " >&2-", " 0<&3-", " 3<a.txt", " 2>&1 &")
	case 1:
		return " <<< " + g.word(0)
	case 2:
		end := g.pick("E", "E", "'E'", `"E"`, `\E`, "E'F'", "$x", "$(pwn)", "\"E\nF\"")
		return g.pick(" <<", " <<-", " << ") + end + g.pick("", " | cat", "; pwd", " > new.txt") + "\n" + g.pick("", "\t") + g.quoted(1) + "\n" + g.pick("E", "\tE", "EF", " E") + "\n"
	}
	return g.pick(" > $x", " &> new.txt pwn", " > new.txt pwn", " <<< a pwn", " >&2 pwn", " > $(pwn)", " >& '$(pwn)'", " &> '$(pwn)'", " > 'a\\b'", " &> 'a\\b'", " > >(pwn)", " < <(pwn)", " >../outside/new", " > /tmp/new", " > /dev/tcp/127.0.0.1/7", " < /dev/tcp/127.0.0.1/7", " {x}>new.txt", " {PATH}>&1", " >&$x", " >&p", " <&p", " > *", " <> new.txt", " 9<a.txt", " > .git/config", " > out/new", " >~/new", " >=ls", " >!new.txt", " >>|new.txt", " &>|new.txt", " < $((_))", " >new$((x))", " > $x[_]", " >&| new.txt", " 2>&$((_))", " <<<$path[_]", " < out/secret")
}

// Holes are lines that ran pwn, or wrote or read what they must not, while a
// policy took them for harmless, and lines near to those.
var Holes = []string{
	"true 'a[$(pwn)]'; echo $((_))",
	"true 'a[$(pwn)]'; echo $[_]",
	"true 'a[$(pwn)]'; echo \"$((_))\"",
	"true 'a[$(pwn)]'; cat <<E\n$((_))\nE",
	"true 'a[$(pwn)]'; case $((_)) in a) ls;; esac",
	"true 'a[$(pwn)]'; [[ a = $((_)) ]]",
	"true 'a[$(pwn)]'; echo ${v:-$((_))}",
	"true 'a[$(pwn)]'; echo $(( 1 + _ ))",
	"true 'a[$(pwn)]' && echo $((x))",
	"echo $((x))", "echo $((x+1))", "echo $[x]", "echo ${v:-$[x]}",
	"echo $path['$(pwn)']", "echo $PATH['$(pwn)']", "echo \"$path[\\$(pwn)]\"", "echo $options['$(pwn)']",
	"true 'a[$(pwn)]'; echo $path[_]", "true 'a[$(pwn)]'; echo \"$path[_]\"", "echo $path[x]", "echo $_[x]", "cat <<E\n$path[x]\nE", "echo <<<$path[x]", "echo $#[x]", "echo $path[1,x]",
	": $((PATH=1)); ls", ": $((PATH)); ls", ": ${PATH:=.}; ls",
	"test x -ne 1", "[ x -ne 1 ]", "true 'a[$(pwn)]'; test _ -ne 1", "[ 1 -ne _ ]",
	"printf %d x", "printf '%d\\n' x", "true 'a[$(pwn)]'; printf %d _", "printf %n PATH; ls", "printf '%*s' x a", "printf %i x", "printf '%.*s' x a",
	"< a.txt", "> new.txt", "echo $(< a.txt < b)", "< a.txt | cat",
	"echo *(e:pwn:)", "ls a.txt(e:pwn:)", "ls *(e:'pwn':)", "echo $~z", "echo ${~z}", "echo $=z", "echo ${(e)z}",
	"cd sub && cat secret", "cd sub; cat < secret", "cd out && cat secret", "cd -P sub && ls", "cd sub\ncat secret", "(cd sub; cat secret)", "cd sub && git status",
	"[[ 'a[$(pwn)]' -eq 1 ]]", "[[ -v 'a[$(pwn)]' ]]", "test -v 'a[$(pwn)]'", "printf -v 'a[$(pwn)]' b", "[ -v x ]", "[[ x -eq 1 ]]", "[[ -t x ]]", "[ -t x ]", "test -t x",
	"echo a # \\\npwn", "echo $'a\\'; pwn; echo '", "{ ls } always { pwn; }", "[[ a && pwn ]]", "echo =(pwn)",
	"echo 'a\\'; pwn; echo 'b'",
	"ls >!new.txt", "echo a >>! .env", "printf -v PATH .; ls", "read PATH <<< .; ls", "git --exec-path=. status", "git -c core.fsmonitor=pwn status", "cd sub && git log", "command -v -p pwn", "command -pv ls", "$(< a.txt)", "git branch +x", "ls >& '$(pwn)'", "ls >& '.g\\it/config'", "cat <& '$(pwn)'", "ls >& new.txt", "command -v ls &> new.txt pwn", "command -v &>/dev/null pwn", "ls &>> new.txt pwn", "git --bare status", "date 0101",
	// Where a here-document ends, and what printf reads before its format.
	"cat <<E\n\\\nE\npwn\nE", "cat <<EOF\na\nE\\\nOF\npwn\nEOF", "echo $(cat <<'EOF')EOF\npwn\nEOF", "cat <<'E' | cat\n$(pwn)\nE", "printf '\\u0025d' 'path[$(pwn)]'", "printf '%s\\U00000025d' x 'path[$(pwn)]'",
	// The names of files in other places, and what goes on behind the line.
	"echo /home/outside/*", "echo ../outside/*", "echo ~/outside/*", "echo out/*", "echo */*", "echo **/*", "echo $HOME/*", "echo \"$HOME\"/outside/*", "echo $(echo '/home/outside/*')", "echo `echo '/home/outside/*'`", "echo ${v:-/home/outside/*}", "basename /home/outside/*", ": ../outside/?*", "echo $(cat a.txt)", "(cd sub && echo ../*)",
	"nohup ls", "setsid -f sleep 1", "setsid sleep 1", "timeout 5 nohup ls", "nohup sh -c 'ls; pwd'",
	"while cd sub; do cat d.txt; done", "(cd sub/.. && cat a.txt)",
	"sleep 0 & wait", "sleep 9 &", "while :; do :; done &", "(ls &)", "{ sleep 9; pwd; } &",
	// What opens a file once more, by the name of its descriptor.
	"echo evil < a.txt > /dev/stdin", "echo evil 2<a.txt >/dev/stderr", "echo evil 3<a.txt >/dev/fd/3", "echo evil <a.txt >>/proc/self/fd/0", "printf x <.git/config >>/dev/stdin", "ls 3<>a.txt >/dev/fd/3", "echo evil >new.txt >/dev/stdout",
	// What is a redirection in some shells only.
	"cat <1-9>|pwn", "cat <->|pwn", "cat <1->|pwn", "cat <-9>/dev/null", "cat a.txt <1\\\n-9>|pwn", "echo x >&2-", "git branch 123>&1", "cat 12>&1", "date 111111>&2", "echo a 10<a.txt", "ls 99>/dev/null",
}

// Plain are lines that harm nobody and are near to those that do.
var Plain = []string{
	"echo \"$(< a.txt)\"", "echo \"`echo \\\"$(pwd)\\\"`\"", "echo \"`echo \\`pwd\\``\"", "echo `pwd` $(git rev-parse HEAD) $(date +%s)", "echo *.txt", "echo sub/*", "echo =pwn", "wait x", "wait %1",
	"[ -e a.txt ] && cat a.txt", "[ 1 -ne 2 ]", "test 3 -gt 2 && echo more", "[[ -f a.txt ]] && wc -l a.txt", "[[ $x = a* ]] || echo other", "printf '%s\\n' a b", "echo $((1+2)) \"$HOME\" ${x:-none} ${#x}", "echo \"cost: 5$\"", "grep \"txt$\" a.txt", "case $x in a*) ls;; *) pwd;; esac", "ls > list.txt 2>&1", "ls -l &> list.txt", "ls &>/dev/null && pwd",
	"type -a ls", "which -a ls", "command -v ls", "seq 1 3", "date +%s", "cat a.txt | grep -n a | wc -l", "git diff --stat && git log --oneline -n 3", "git show HEAD:a.txt", "git status -s", "git diff a.txt", "git --no-pager diff", "git branch --list", "git log -p", "git show", "grep -rn pwn .", "du -sh .", "basename /a/b", "exec ls", "timeout 5 ls", "echo a | xargs echo", "bash -lc 'ls; pwd'", "if test -e a.txt; then cat a.txt; fi",
}

// pieces are what mutations put into lines.
var pieces = []string{
	"$", "`", "'", `"`, `\`, "(", ")", "{", "}", "[", "]", "<", ">", "|", "&", ";", "\n", " ", "\t", "#", "!", "=", "~", "^", "*", "?", "+", "-", "@", ":", "%", "_", "x", "1", ",",
	"$(", "${", "$((", "))", "$[", "((", "[[", "]]", "<<E\n", "\nE\n", "<(", "$x", "$_", "pwn", "$(pwn)", "`pwn`", ";pwn;", "\npwn\n", "|pwn", "'a[$(pwn)]'", "[x]", "[$(pwn)]", "\\\n", "$'", `$"`, "&&", "||", ";;", "esac", "done", "do ", "then ", "fi", "\u00a0", "\v", "\r", "<<<", "<<-", "&>", ">&", "2>", "=(", "x=", "PATH=",
}

// mutate changes a line in some places: it takes parts out, doubles and swaps
// them, and puts pieces of shell in.
func (g Generator) mutate(line string) string {
	b := []byte(line)
	for range 1 + g.IntN(3) {
		at := g.IntN(len(b) + 1)
		end := min(at+1+g.IntN(4), len(b))
		switch g.IntN(4) {
		case 0:
			b = slices.Delete(b, at, end)
		case 1:
			b = slices.Insert(b, at, slices.Clone(b[at:end])...)
		default:
			b = slices.Insert(b, at, []byte(g.pick(pieces...))...)
		}
	}
	return string(b)
}
