package commandline_test

import (
	"slices"
	"strings"
	"testing"

	"den/internal/agent/permission/commandline"
)

// flat lists every command that a line runs, those that are run by others
// after them. A dynamic word is shown as "?".
func flat(commands []commandline.Command) []string {
	var all []string
	for _, c := range commands {
		var words []string
		for _, w := range c.Words {
			if w.Dynamic {
				w.Text = "?"
			}
			words = append(words, w.Text)
		}
		all = append(all, strings.Join(words, " "))
		all = append(all, flat(c.Runs)...)
	}
	return all
}

func TestCommandsOfALine(t *testing.T) {
	for name, row := range map[string]struct {
		line string
		want []string
	}{
		"one command":              {`git status`, []string{"git status"}},
		"list":                     {`git status && rm -rf /`, []string{"git status", "rm -rf /"}},
		"sequence and background":  {"a; b & c\nd", []string{"a", "b", "c", "d"}},
		"pipeline":                 {`cat x | sort |& uniq`, []string{"cat x", "sort", "uniq"}},
		"quotes are removed":       {`g'i't "sta"tus \rm a\ b`, []string{"git status rm a b"}},
		"backslash in quotes":      {`echo "a\"b\$c\d"`, []string{`echo a"b$c\d`}},
		"continued line":           {"git \\\n status", []string{"git status"}},
		"substitution":             {"echo $(rm x) `rm y`", []string{"echo ? ?", "rm x", "rm y"}},
		"substitution in quotes":   {`echo "$(rm x)"`, []string{"echo ?", "rm x"}},
		"process substitution":     {`diff <(ls a) b`, []string{"diff ? b", "ls a"}},
		"if and while":             {`if a; then b; fi; while c; do d; done`, []string{"a", "b", "c", "d"}},
		"subshell, block, negated": {`(a); { b; }; ! c`, []string{"a", "b", "c"}},
		"assignment before":        {`A=1 B=$x git status`, []string{"A=1 ? git status"}},
		"assignment alone":         {`PATH=/x`, []string{"PATH=/x"}},
		"glob and braces":          {`rm *.go {a,b} a[1] '*'`, []string{"rm ? ? ? *"}},
		"variables":                {`rm $x "${y}" z`, []string{"rm ? ? z"}},
		"home directories":         {`ls ~ ~/x '~' a=~ HEAD~1 =ls =`, []string{"ls ? ? ~ ? HEAD~1 ? ="}},
		"quotes of some shells":    {`ls $'rm'`, []string{"ls ?"}},

		"env":            {`env -i -u X A=1 git status`, []string{"env -i -u X A=1 git status", "A=1 git status"}},
		"nested wrapper": {`nice -n5 timeout -k 1 60 nohup rm x`, []string{"nice -n5 timeout -k 1 60 nohup rm x", "timeout -k 1 60 nohup rm x", "nohup rm x", "rm x"}},
		"time keyword":   {`time rm x`, []string{"rm x"}},
		"xargs":          {`ls | xargs -0 -n1 rm -f`, []string{"ls", "xargs -0 -n1 rm -f", "rm -f ?"}},
		"sh -c":          {`sh -c 'git status; rm x'`, []string{"sh -c git status; rm x", "git status", "rm x"}},
		"bash -lc":       {`/bin/bash -lc "rm x"`, []string{"/bin/bash -lc rm x", "rm x"}},
		"eval":           {`eval "rm x" y`, []string{"eval rm x y", "rm x y"}},
		"sudo":           {`sudo -n -u root rm x`, []string{"sudo -n -u root rm x", "rm x"}},
		"find -exec":     {`find . -name x -exec rm {} \; -ok cp {} y +`, []string{"find . -name x -exec rm {} ; -ok cp {} y +", "rm ?", "cp ? y"}},
		"command -v":     {`command -v go`, []string{"command -v go"}},
		"bash -o":        {`bash --norc -o pipefail -ec 'rm x'`, []string{"bash --norc -o pipefail -ec rm x", "rm x"}},
		"script":         {`bash build.sh -c x`, []string{"bash build.sh -c x"}},
		"busybox":        {`busybox rm x`, []string{"busybox rm x", "rm x"}},
	} {
		got := commandline.Parse(row.line)
		if len(got.Problems) > 0 {
			t.Errorf("%s: problems %q", name, got.Problems)
		}
		if all := flat(got.Commands); !slices.Equal(all, row.want) {
			t.Errorf("%s: %q\n got %q\nwant %q", name, row.line, all, row.want)
		}
	}
}

func TestProblemsOfALine(t *testing.T) {
	for name, line := range map[string]string{
		"syntax error":          `git status "`,
		"fish substitution":     `echo (rm x)`,
		"dynamic name":          `$x status`,
		"substituted name":      `$(echo rm) x`,
		"glob as name":          `/bin/r? x`,
		"function":              `git() { rm -rf /; }; git status`,
		"export":                `export PATH=/x; git status`,
		"for":                   `for PATH in /x; do git status; done`,
		"arithmetic":            `((x=1)); git status`,
		"let":                   `let x=1`,
		"assigning expansion":   `echo ${x:=rm}`,
		"prompt expansion":      `echo ${x@P}`,
		"indirect expansion":    `echo ${!x}`,
		"extended glob":         `ls *(e:'rm x':)`,
		"env with a new option": `env -S 'rm x'`,
		"env with a long value": `env --split-string='rm x'`,
		"dynamic option":        `timeout $x rm y`,
		"sh -c of a variable":   `sh -c "$x"`,
		"sh with options":       `sh -c -e 'rm x'`,
		"sh with a start-up":    `bash --rcfile x -c ls`,
		"quoted arithmetic":     `echo $(( 'a[$(rm x)]' ))`,
		"arithmetic of a name":  `echo $(( $x ))`,
		"slice":                 `echo ${x:'a[$(rm x)]'}`,
		"subscript":             `echo ${x['$(rm x)']}`,
		"condition that counts": `[[ 'a[$(rm x)]' -eq 1 ]]`,
		"condition that is set": `[[ -v 'a[$(rm x)]' ]]`,
		"printf to a subscript": `printf -v 'a[$(rm x)]' y`,
		"test of a subscript":   `test -v 'a[$(rm x)]'`,
		"xargs in the middle":   `ls | xargs -I% sh -c 'git status %'`,
		"trap":                  `trap 'rm x' EXIT`,
		"escaped keyword":       `\declare 'a[$(rm x)]'`,
		"backslash at the end":  `git status \`,
		"eval with an option":   `eval -- rm x`,
		"eval of a variable":    `eval $x`,
		"deep":                  `eval eval eval eval eval eval rm x`,
		"inner syntax error":    `sh -c 'git "'`,
		"inner function":        `sh -c 'git() { rm x; }; git'`,
		"descriptor variable":   `ls {PATH}>x`,
		"coprocess":             `coproc rm x`,
		"NUL":                   "git\x00status",
		"carriage return":       "git status\\\r\nrm x",
		"two backslashes":       "make \\\\\\\ndeploy",
		"condition or list":     `[[ a && rm ]]`,
		"condition or pipe":     `[[ a =~ b|rm ]]`,
		"condition or file":     `[[ a > b ]]`,
		"block of zsh":          `{ git log } always { rm x; }`,
		"short block of zsh":    `{rm}`,
		"keyword of zsh":        `repeat 2 rm x`,
		"quote of fish":         `echo '\' ';rm x;'`,
		"continued comment":     "git status # x \\\nrm x",
		"here-document":         "cat <<E\nx\nE",
		"continued delimiter":   "cat <<E\n\\\nE\nrm x\nE",
		"quoted here-document":  "cat <<'E'\nx\nE",
		"loop that moves":       `while cd l; do cat passwd; done`,
		"format with an escape": `printf '\u0025d' 'path[$(rm x)]'`,
		"too long":              strings.Repeat("a ", 40<<10),
		"find without command":  `find . -exec`,
	} {
		if got := commandline.Parse(line); len(got.Problems) == 0 {
			t.Errorf("%s: %q has no problem: %q", name, line, flat(got.Commands))
		}
	}
}

func TestFilesOfALine(t *testing.T) {
	write := func(path string) commandline.File { return commandline.File{Path: path, Write: true} }
	for line, want := range map[string][]commandline.File{
		`a > x`:                 {write("x")},
		`a >> 'x y'`:            {write("x y")},
		`a &> x`:                {write("x")},
		`a >& x`:                {write("x")},
		`a <> x`:                {write("x")},
		`a >| x`:                {write("x")},
		`a < x`:                 {{Path: "x"}},
		`a > $x`:                {{Path: "$…", Write: true, Dynamic: true}},
		`a 2>&1 >&- <&0`:        nil,
		`a <<< x`:               nil,
		`echo $(a > x)`:         {write("x")},
		`sh -c 'a > x'`:         {write("x")},
		`> x`:                   {write("x")},
		`{ a; } > x`:            {write("x")},
		"cat > x <<E\n> y\nE\n": {write("x")},
	} {
		got := commandline.Parse(line)
		if !slices.Equal(got.Files, want) {
			t.Errorf("%q: %+v, want %+v", line, got.Files, want)
		}
	}
}

// FuzzParse: reading ends for any text, and a line's commands are among those
// of a longer line.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"git status && rm -rf /", "env A=1 sh -c 'x > y'", "$(a) `b`", "find . -exec rm {} +", "a <<E\nb\nE"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		got := commandline.Parse(line)
		for _, c := range got.Commands {
			if len(c.Words) == 0 {
				t.Errorf("%q has a command without words", line)
			}
			_ = c.String() + c.Name().Text
		}
	})
}

// A line that nests as deep as its length allows is read: it neither ends the
// process nor keeps it busy for minutes, as some did.
func TestDeepLines(t *testing.T) {
	const length = 16<<10 - 1
	for _, unit := range []string{"$(", "(", "`", `"$(`, "${x:-", "$((", "{ ", "if ", "((", "<(", "case x in x) ", "! ", "f() ", "eval ", "env ", "{a,", "a{b,c}"} {
		n := length / len(unit)
		if got := commandline.Parse(strings.Repeat(unit, n)); len(got.Problems) == 0 && unit != "a{b,c}" && unit != "! " {
			t.Errorf("%q: no problem", unit)
		}
	}
	commandline.Parse(strings.Repeat("$((", length/5) + strings.Repeat("))", length/5))
	if got := commandline.Parse(strings.Repeat("(", length/2) + "a" + strings.Repeat(")", length/2)); len(got.Problems) == 0 {
		t.Error("parentheses: no problem")
	}
}
