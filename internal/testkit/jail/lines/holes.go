package lines

import "slices"

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
