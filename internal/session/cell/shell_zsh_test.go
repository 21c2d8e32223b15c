package cell_test

import (
	"strings"
	"testing"
)

func zsh(t *testing.T, rc string, argv ...string) *shellSession {
	t.Helper()
	programPath(t, "zsh")
	t.Parallel()
	return ready(t, start{argv: append([]string{"zsh"}, argv...), files: map[string]string{".zshrc": rc}})
}

func TestZshHooks(t *testing.T) {
	for name, rc := range map[string]string{
		"precmd":   `precmd() { s=$?; echo "<pc>"; PS1="[$s] " }`,
		"array":    `theme() { s=$?; echo "<pc>"; PS1="[$s] " }; precmd_functions+=(theme)`,
		"replaced": `theme() { s=$?; echo "<pc>"; PS1="[$s] " }; precmd_functions=(theme)`,
		"subst":    `setopt promptsubst; s=0; precmd() { s=$?; echo "<pc>" }; PS1='[${s}] '`,
		"strict":   `setopt nounset errreturn ksharrays shwordsplit; s=0; precmd() { s=$?; echo "<pc>"; PS1="[$s] " }`,
		"nosp":     `unsetopt promptsp; precmd() { s=$?; PS1="[$s] " }`,
		"noeol":    `PROMPT_EOL_MARK=; precmd() { s=$?; echo "<pc>"; PS1="[$s] " }`,
		"right":    `RPS1=right; precmd() { s=$?; echo "<pc>"; PS1="[$s] " }`,
		"lines":    `precmd() { s=$?; echo "<pc>"; PS1=$'first\n['"$s] " }`,
	} {
		t.Run(name, func(t *testing.T) {
			programPath(t, "zsh")
			t.Parallel()
			s := open(t, start{argv: []string{"zsh"}, files: map[string]string{".zshrc": rc}})
			s.quiet()
			s.run("true") // brings the hook back
			for range 3 {
				s.expect("echo out", 0, "out\n")
				if name != "nosp" { // zsh itself writes over it
					s.expect("printf '<no newline>'", 0, "<no newline>")
				}
				if got := s.lastLine(); !strings.HasPrefix(got, "[0]") {
					t.Errorf("prompt %q", got)
				}
				s.expect("(exit 3)", 3, "")
				if got := s.lastLine(); !strings.HasPrefix(got, "[3]") {
					t.Errorf("prompt %q", got)
				}
			}
		})
	}
}

func TestZshChanges(t *testing.T) {
	s := zsh(t, "setopt interactivecomments")
	for _, line := range []string{
		"PS1='new> '", `PS1="(venv) $PS1"`, "PROMPT_EOL_MARK='<eol>'", "unset PROMPT_EOL_MARK", "precmd_functions=()",
		"preexec_functions=()", "autoload add-zsh-hook; late() { PS1=\"late $PS1\" }; add-zsh-hook precmd late", "set -x", "set +x",
		"setopt ksharrays", "setopt nopromptcr", "unset precmd_functions", "unset preexec_functions", "set -u", "unsetopt promptpercent",
	} {
		s.send(line + "\r")
		s.quiet()
		s.send("true\r") // a hook that was lost comes back with this
		s.quiet()
		r := s.run("echo out; (exit 4)")
		if r.status != 4 || line != "set -x" && r.output != "out\n" || !strings.HasPrefix(r.kinds, "CDAB") {
			t.Errorf("%s: %+v", line, r)
		}
	}
	if text := s.screen(); strings.Contains(text, "__den") {
		t.Errorf("it shows:\n%s", text)
	}
}

func TestZshStart(t *testing.T) {
	programPath(t, "zsh")
	files := map[string]string{
		".zshenv": "echo read zshenv $ZDOTDIR\n", ".zprofile": "echo read zprofile $ZDOTDIR\n",
		".zshrc": "echo read zshrc $ZDOTDIR\n", ".zlogin": "echo read zlogin $ZDOTDIR\n",
		"z/.zshenv": "echo read z/zshenv\n", "z/.zshrc": "echo read z/zshrc\n",
		"y/.zshrc": "echo read y/zshrc\n",
	}
	for _, c := range []struct{ args, zdotdir, read string }{
		{"zsh", "", "zshenv zshrc"},
		{"zsh -f", "", ""},
		{"zsh -i", "", "zshenv zshrc"},
		{"zsh -l", "", "zshenv zprofile zshrc zlogin"},
		{"-zsh", "", "zshenv zprofile zshrc zlogin"},
		{"zsh -e", "z", "z/zshenv z/zshrc"},
		{"zsh -o vi", "y", "y/zshrc"},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			st := start{argv: strings.Fields(c.args), files: files}
			if c.zdotdir != "" {
				st.env = []string{"ZDOTDIR=" + c.zdotdir} // relative: the shell starts at home
			}
			s := ready(t, st)
			var read []string
			for line := range strings.Lines(s.screen()) {
				if text, ok := strings.CutPrefix(line, "read "); ok {
					read = append(read, strings.TrimSpace(text))
				}
			}
			if got := strings.Join(read, " "); got != c.read {
				t.Errorf("read %q, want %q", got, c.read)
			}
			s.expect("echo ${ZDOTDIR-unset} ${(t)ZDOTDIR}", 0, map[bool]string{true: "unset\n", false: c.zdotdir + " scalar-export\n"}[c.zdotdir == ""])
			s.expect("print -r -- $PS1", 0, "%m%#\n")
		})
	}
}

func TestZshPaste(t *testing.T) {
	s := zsh(t, "")
	r := s.keys("\x1b[200~echo one\nfalse\necho two; (exit 8)\x1b[201~\r")
	if strings.Trim(r.kinds, "CD") != "AB" || r.status != 8 || r.output != "one\ntwo\n" {
		t.Errorf("%+v", r)
	}
}

// fish

func TestFishPrompt(t *testing.T) {
	programPath(t, "fish")
	t.Parallel()
	s := ready(t, start{argv: []string{"fish"}, files: map[string]string{".config/fish/config.fish": `
set fish_greeting
function fish_prompt; echo -n "[$status $pipestatus] "; end
function fish_right_prompt; echo right; end
function title --on-event fish_prompt; echo "<pc>"; end
`}})
	s.expect("true | false", 1, "")
	s.quiet()
	if got := s.lastLine(); !strings.HasPrefix(got, "[1 0 1]") {
		t.Errorf("prompt %q", got)
	}
	s.run("function fish_prompt; echo -n \"new $status> \"; end")
	s.quiet()
	s.expect("printf '<no newline>'; sh -c 'exit 3'", 3, "<no newline>")
	s.quiet()
	if got := s.lastLine(); !strings.HasPrefix(got, "new 3>") {
		t.Errorf("prompt %q", got)
	}
	s.expect("begin\recho one\recho two\rend", 0, "one\ntwo\n")
	s.quiet()
	r := s.keys("\x1b[200~echo one\nfalse\necho two; sh -c 'exit 8'\x1b[201~\r")
	if r.kinds != "CDAB" || r.status != 8 || r.output != "one\ntwo\n" {
		t.Errorf("%+v", r)
	}
}

func TestFishStart(t *testing.T) {
	programPath(t, "fish")
	for _, args := range []string{"fish -i", "fish -l", "fish -N", "fish -P", "-fish", "fish -C true", "fish --features=qmark-noglob"} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			s := ready(t, start{argv: strings.Fields(args)})
			s.expect("echo out", 0, "out\n")
		})
	}
}

func TestZshWithoutFiles(t *testing.T) {
	s := zsh(t, "PS1='not read> '", "-f")
	s.expect("echo out; (exit 3)", 3, "out\n")
	s.expect("[[ -o rcs ]] && echo rcs || echo no rcs", 0, "no rcs\n")
	if text := s.screen(); strings.Contains(text, "not read") {
		t.Errorf("it read the user's file:\n%s", text)
	}
}
