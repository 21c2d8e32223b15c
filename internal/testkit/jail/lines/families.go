package lines

import "strings"

// Whole families of what shells read in their own ways, each in every place and
// with every kind of what it consists of.

// payload is a command that is seen where it runs.
func (g Generator) payload() string { return g.pick("pwn", "pwn", "pwn a", "p1", "echo x >new.txt") }

// evaluated is text that runs code where a shell takes it for a number, a name
// or a prompt.
func (g Generator) evaluated() string {
	p := g.payload()
	return g.pick("'a[$("+p+")]'", "'path[$("+p+")]'", `"a[\$(`+p+`)]"`, "'a[`"+p+"`]'", "x", "_", "'x'", `a[\$\(`+`pwn\)]`, "'$("+p+")'", "'1+a[$("+p+")]'", "$x", `"$x"`, "'options[$("+p+")]'", "a.txt", "'PATH=1'", "'0,a[$("+p+")]'")
}

func (g Generator) family(depth int) string {
	families := []func() string{
		g.document, g.document, g.format, g.format, g.text, g.condition2, g.stateful, g.zsh, g.zsh, g.process, g.outside,
		func() string { return "echo $(" + g.document() + ")" },
		func() string { return "echo \"`" + strings.ReplaceAll(g.format(), "`", "\\`") + "`\"" },
		func() string { return g.pick("cat ", "echo ", "wc -l ") + "<(" + g.document() + ")" },
		func() string { return "{ " + g.document() + g.pick("\n}", "}", "; }") },
		func() string { return "if true; then " + g.document() + "\nfi" },
		func() string { return "case a in a) " + g.document() + "\n;; esac" },
		func() string {
			return g.pick("eval ", "sh -c ", "bash -c ", "zsh -c ") + quote(g.pick(g.document(), g.format(), g.zsh()))
		},
		func() string { return g.continued(g.pick(g.document(), g.format(), g.text(), g.list(depth))) },
	}
	return families[g.IntN(len(families))]()
}

// document is a here-document, with what a shell may take for its end or for
// commands behind it, or a here-string.
func (g Generator) document() string {
	name := g.pick("E", "EOF", "E F", "E-1", "E\\E", "")
	mark := name
	switch g.IntN(9) {
	case 0:
		mark = "'" + name + "'"
	case 1:
		mark = `"` + name + `"`
	case 2:
		mark = `\` + name
	case 3:
		mark = "$'" + name + "'"
	case 4:
		mark = name[:len(name)/2] + "'" + name[len(name)/2:] + "'"
	case 5:
		mark = name[:len(name)/2] + "\\\n" + name[len(name)/2:]
	case 6:
		mark = name + g.pick("$x", "$(pwn)", "`pwn`", `""`, "''", "{a,b}", "*")
	}
	if g.one(6) {
		return g.pick("cat", "echo", "wc -l") + " <<<" + g.pick("", " ") + g.pick(g.evaluated(), `"$(`+g.payload()+`)"`, "$path[x]", "a "+g.payload(), "a\n"+g.payload(), "'a'"+"\\\n"+";"+g.payload(), "*", "~", "$'a'", "(a)", "<(pwn)")
	}
	if g.one(2) {
		return g.endTwice(g.pick("E", "EOF"))
	}
	body := ""
	for range g.IntN(3) {
		body += g.pick("a", "$x", "\\", "'", `"`, "`", "$(", ")", "}", "a\\", name+"\\", name[:len(name)/2]+"\\", name+" ", "\t"+name, "$(pwn)", "`pwn`", "\\$(pwn)", "$((x))", "$path[x]", "${v:-'", "${x", "\\\\", "#", "") + "\n"
	}
	end := g.pick(name, name, name, name, "\t"+name, name+")", name+"}", name+"`", name+" ", "", name+"\\")
	tail := g.pick("", "", "\n"+g.payload(), "\n"+g.payload()+"\n"+name, "\n"+g.payload()+"\n"+name+"\n", "; pwd", "\n)", "\n"+name, "\nls\n"+name)
	head := g.pick("cat", "cat", "wc -l", "echo", ": ", "true") + g.pick(" <<", " <<", " <<-", "<<", " << ", " <<~") + mark
	if g.one(6) {
		head += " " + g.pick("<<", "<<-") + g.pick("F", "'F'", mark)
		tail = "\n" + g.pick("b", "$(pwn)") + "\nF" + tail
	}
	return head + g.pick("", "", " | cat", "; pwd", " && ls", " &", ")", " # a", " \\", " > new.txt") + "\n" + body + end + tail
}

// endTwice is a here-document that ends in one line or in another, by how a
// shell reads the lines before them.
func (g Generator) endTwice(name string) string {
	half := 1 + g.IntN(len(name))
	mark := g.pick(name, name, name, "'"+name+"'", `"`+name+`"`, `\`+name)
	first := g.pick("\\\n"+name, name[:half]+"\\\n"+name[half:], "a\\\n"+name, name+")", name+"`", name+"}", "\t"+name, name+" ", "\\\\\n"+name, "$(\n"+name, "`\n"+name, "${x:-\n"+name, "\"\n"+name, "'\n"+name)
	text := g.pick("cat", "wc -l", "true") + g.pick(" <<", " <<", " <<-") + mark + g.pick("", "", " | cat", ")", "; pwd", " &") + "\n" + g.pick("", "a\n", "$x\n") + first + "\n" + g.payload() + "\n" + name + g.pick("", "\n")
	return g.pick(text, text, text, "echo \"$("+text+"\n)\"", "echo \"`"+text+"\n`\"", "( "+text+"\n)", "echo $("+g.pick("cat <<", "cat <<-")+mark+")"+name+"\n"+g.payload()+"\n"+name, "echo \"$(cat <<"+mark+")"+name+"\n"+g.payload()+"\n"+name+"\n\"")
}

// format is printf or echo, with every escape and conversion.
func (g Generator) format() string {
	percent := g.pick("%", "%", `\u0025`, `\U00000025`, `\x25`, `\45`, `\045`, `\0045`, `%%`, `\\%`, `\e%`, `\c%`, `\'%`, `\"%`, "%1$", "%-", "%+", "% ", "%#", "%0", "%'", "%5", "%.3", "%*", "%.*", "%*.*", "%l", "%ll", "%h", "%z", "%j")
	conversion := g.pick("d", "i", "o", "u", "x", "X", "f", "e", "g", "a", "c", "s", "b", "q", "n", "(%s)T", "d%s", "s%d", "Q", "5d", "")
	form := g.pick("", "a", "%s", `\n`, `\t`) + percent + conversion + g.pick("", `\n`, "%s", `\c`)
	args := ""
	for range 1 + g.IntN(2) {
		args += " " + g.evaluated()
	}
	switch g.IntN(9) {
	case 6, 7, 8: // a conversion of numbers that an escape hides
		hidden := g.pick(`\u0025`, `\U00000025`, `\x25`, `\45`, `\045`, `\0045`, `\u25`, `\U25`) + g.pick("d", "i", "o", "u", "x", "f", "e", "g", "*s", ".*s")
		return "printf '" + g.pick("", "a", "%s", "%b", `\n`) + hidden + g.pick("", `\n`, "%s") + "'" + strings.Repeat(" "+g.pick("'path[$(pwn)]'", "'x'", g.evaluated()), 1+g.IntN(2))
	case 0:
		return "printf " + g.pick("-v ", "-- ", "-- -v ", "-va ", "-r ") + g.evaluated() + " '" + form + "'" + args
	case 1:
		return "echo " + g.pick("-e", "-n", "-E", "-ne", "-e -n", "--", "-") + " '" + form + "'" + args
	case 2:
		return "printf " + g.pick(`"`, "$'", `$"`) + strings.ReplaceAll(form, "'", "") + g.pick(`"`, "'") + args
	case 3:
		return "printf " + form + args
	}
	return "printf '" + strings.ReplaceAll(form, "'", "") + "'" + args
}

// text is a word that a shell rewrites before it looks at it again.
func (g Generator) text() string {
	p := g.payload()
	return g.pick("echo ", "cat ", "ls ", ": ", "true ") + g.pick(
		`$'\x24(`+p+`)'`, `$'a\n`+p+`'`, `$'\'; `+p+`; echo '`, `$'\c''; `+p+`'`, "{a,$("+p+")}", "{a,b}{c,`"+p+"`}", "{1..$x}", "{$x..3}", "a{,b}", `{"a,b";`+p+`}`, "~+", "~-", "~+/..", "~0", "~"+g.evaluated(), "~$x", "!!", "!"+p, "!-1", "!?pwn?", "^a^"+p+"^", "!#", `"!!"`, `"!pwn"`,
		"${x@P}", "${z@P}", "${z@E}", "${z@Q}", "${x@A}", "${!z}", "${!x@}", "${x:"+g.evaluated()+"}", "${x:0:"+g.evaluated()+"}", "${x/"+g.evaluated()+"/$("+p+")}", "${x^^$("+p+")}", "${PS1@P}", "$[ "+g.evaluated()+" ]", "$(("+g.evaluated()+"))", "$(( 1 + "+g.evaluated()+" ))", "$(( $x ))", "$(( ${x} ))", "$(( 1 ? x : 2 ))")
}

// condition2 is a test, in all of its forms, with what it evaluates.
func (g Generator) condition2() string {
	a, b := g.evaluated(), g.evaluated()
	test := g.pick("-v "+a, "-R "+a, "-t "+a, "-o "+a, "-a "+a, "-N "+a, "! -v "+a, a+" -eq "+b, "1 -eq "+a, a+" -lt 1", a+" = "+b, a+" =~ "+b, a+" < "+b, a+" -nt "+b, "-n "+a, a+" -a "+b, "( "+a+" )", "-e *(e:pwn:)", a+" == (#e)pwn", "1 -ne 1 -o "+a+" -eq 1")
	return g.pick("[[ "+test+" ]]", "test "+test, "[ "+test+" ]", "[[ ! ( "+test+" ) ]]", "[[ a && "+test+" ]]", "builtin test "+test, "command [ "+test+" ]", `\[ `+test+" ]", `\test `+test)
}

// stateful is a command that sets something which later ones evaluate.
func (g Generator) stateful() string {
	a, p := g.evaluated(), g.payload()
	return g.pick(
		"read "+a+" <<< 1", "read -a "+a+" < a.txt", "read -r x < a.txt; echo $((x))", "mapfile "+a+" < a.txt", "mapfile -C "+p+" -c 1 x < a.txt", "readarray -t "+a+" < a.txt", "let "+a, "let 'x=1' "+a, "(( "+a+" ))", "((x="+a+"))", "wait -p "+a, "wait "+a, "getopts a "+a, "unset "+a, "export "+a+"=1", "declare "+a+"=1", "declare -i x="+a, "declare -n x="+a+"; echo $x", "typeset -i x="+a, "local "+a, "readonly "+a, "integer x="+a, "float x="+a, "printf -v "+a+" 1",
		"trap "+quote(p)+" EXIT", "trap -- "+quote(p)+" DEBUG; ls", "trap "+quote(p)+" 0 && pwd", "PS4='$("+p+")'; set -x; ls", "PS4='$("+p+")' sh -xc ls", "PROMPT_COMMAND="+p+" bash -ic ls", "PS1='$("+p+")' bash -ic ls", "set -- "+a+"; echo $(($1))", "set -x "+a, "alias ls="+p+"\nls", "alias -g x="+p+"\necho x", "alias -s txt="+p+"\na.txt", "hash -p /bin/pwn ls; ls", "enable -f x y", "shopt -s expand_aliases\nalias ls="+p+"\nls", "BASH_ENV=a.txt bash -c ls", "ENV=a.txt sh -c ls", "exec 3<a.txt; read x <&3; echo $((x))", "sleep "+a, "seq "+a, "ulimit "+a, "umask "+a, "shift "+a, "exit "+a, "return "+a, "break "+a, "kill "+a, "fc -e "+p, "history -c", "bind -x a:"+p, "complete -C "+p+" ls", "compgen -C "+p, "compgen -W '$("+p+")'", "type "+a, "hash "+a, "command -v "+a, "select x in a; do "+p+"; done", "coproc "+p, "time "+p, "repeat 1 "+p, "jobs -x "+p, "dirs "+a, "pushd sub; cat secret", "times; "+p)
}

// zsh is what zsh alone expands or evaluates.
func (g Generator) zsh() string {
	a, p := g.evaluated(), g.payload()
	return g.pick("echo ", "ls ", "cat ", "echo \"", ": ") + g.pick(
		"*(e:"+p+":)", "*(e:'"+p+"':)", "*(e{"+p+"})", "*(+"+p+")", "*(oe:"+p+":)", "*(N.e:"+p+":)", "a.txt(#qe:"+p+":)", "*(#qe:"+p+":)", "*(P:x:)", "*(:s/a/b/)", "=("+p+")", "="+p, "=ls", "~"+p, "~[a]", "<->", "<1-9>", "(a|b)", "a#", "^a", "*~a", "${(e)z}", "${(e)x}", "${(%):-%x}", "${(%)z}", "${(P)y}", "${(z)z}", "${(Q)z}", "${(M)x:#a}", "${(s:a:)x}", "${(j:"+p+":)x}", "${(f)\"$("+p+")\"}", "${(e):-'$("+p+")'}", "${:-$("+p+")}", "${(l:"+"x"+":)y}", "${(r:path[x]:)y}", "$~z", "$=z", "$^z", "$+x", "$x["+a+"]", "$path["+a+"]", "${path["+a+"]}", "$path[(i)"+a+"]", "$path[(w)x]", "$x[1,"+a+"]", "$#x["+a+"]", "$+path["+a+"]", "$functions[x]", "$aliases[x]", "$x:s/a/b", "$x:h", "${x:h:t}", "$y:A", "${x:$y}", "$1["+a+"]", "$@["+a+"]", "$*["+a+"]", "$?["+a+"]", "$$["+a+"]", "$-["+a+"]", "$!["+a+"]", "!:$x", "$(("+a+"))", "$[[#16]x]", "%$x", "$'\\C-a'")
}

// process is a substitution of a process, in every place.
func (g Generator) process() string {
	p := g.pick(g.payload(), "ls", "cat a.txt", "pwd")
	return g.pick("cat <("+p+")", "cat < <("+p+")", "ls > >("+p+")", "ls 2> >("+p+" )", "echo >("+p+")", "cat =("+p+")", "wc -l <("+p+") <(ls)", "cat <("+p+" <(ls))", "echo a<("+p+")b", "cat <( "+p+"\n)", "echo \"<("+p+")\"", "cat <<<<("+p+")", "ls &> >("+p+")", "cat <("+p, "cat < <(", "[ -e <("+p+") ]", "[[ -e <("+p+") ]]", "test -f <("+p+")", "diff <("+p+") a.txt", "tee >("+p+") < a.txt")
}

// outside looks at what is not in the agent's directory.
func (g Generator) outside() string {
	at := g.pick("/home/outside/", "../outside/", "~/outside/", "out/", "$HOME/outside/", "sub/../../outside/", "${v:-/home/outside/}", "/home/*/", "*/", "./out/", "/home/project/out/")
	return g.pick("echo ", "basename ", "dirname ", ": ", "ls ", "cat ", "stat ", "[ -e ", "printf '%s' ", "git diff -- ", "du ", "grep -r a ", "readlink -f ", "echo $(echo ", "echo `ls ", "cat < ", "(cd ") + at + g.pick("*", "?*", "s*", "secret", "[a-z]*", "", "**", "{secret,x}") + g.pick("", " ]", ")", "`", "; ls)", " && ls")
}

// continued breaks a line somewhere.
func (g Generator) continued(line string) string {
	for range 1 + g.IntN(3) {
		at := g.IntN(len(line) + 1)
		line = line[:at] + g.pick("\\\n", "\\\n", "\\\n", "\\\\\n", " \\\n ", "\\ \n", "#\\\n", "\n") + line[at:]
	}
	return line
}
