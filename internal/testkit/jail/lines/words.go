package lines

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
