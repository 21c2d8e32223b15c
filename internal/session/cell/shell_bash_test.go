package cell_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func bash(t *testing.T, rc string, argv ...string) *shellSession {
	t.Helper()
	programPath(t, "bash")
	t.Parallel()
	return ready(t, start{argv: append([]string{"bash"}, argv...), files: map[string]string{".bashrc": rc}})
}

// lastLine is the line that the cursor is in.
func (s *shellSession) lastLine() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.term.Row(s.term.Cursor().Row).AppendText(nil))
}

func (s *shellSession) expect(line string, status int, output string) {
	s.t.Helper()
	r := s.run(line)
	if r.status != status || r.output != output {
		s.t.Errorf("%q: status %d, output %q; want %d, %q", line, r.status, r.output, status, output)
	}
	if !strings.HasPrefix(r.kinds, "C") || strings.Count(r.kinds, "D") != 1 || !strings.HasSuffix(r.kinds, "DAB") {
		s.t.Errorf("%q: marks %s", line, r.kinds)
	}
}

func TestBashPromptCommand(t *testing.T) {
	for name, rc := range map[string]string{
		"string":  `PROMPT_COMMAND='s=$? u=$_; echo "<pc>"; PS1="[$s $u] "'`,
		"array":   `PROMPT_COMMAND=('s=$? u=$_' 'echo "<pc>"' 'PS1="[$s $u] "')`,
		"theme":   `theme() { local s=$? u=$1; echo "<pc>"; PS1="[$s $u] "; }; PROMPT_COMMAND='theme "$_"'`,
		"second":  `PROMPT_COMMAND[1]='s=$? u=$_; echo "<pc>"; PS1="[$s $u] "'`,
		"strict":  "set -eu\n" + `PROMPT_COMMAND='s=$? u=$_; echo "<pc>"; PS1="[$s $u] "'`,
		"novars":  "shopt -u promptvars\n" + `PROMPT_COMMAND='s=$? u=$_; echo "<pc>"; PS1="[$s $u] "'`,
		"debug":   `trap ': "$_"' DEBUG; PROMPT_COMMAND='s=$? u=$_; echo "<pc>"; PS1="[$s $u] "'`,
		"letters": `IFS=abcdefghijklmnopqrstuvwxyz_;` + `PROMPT_COMMAND='s=$? u=$_; echo "<pc>"; PS1="[$s $u] "'`,
	} {
		t.Run(name, func(t *testing.T) {
			s := bash(t, rc)
			for range 3 {
				s.expect("echo out", 0, "out\n")
				if got := s.lastLine(); got != "[0 out]" {
					t.Errorf("prompt %q", got)
				}
				// Not an error for set -e, but a status.
				s.expect("false && true x", 1, "")
				if got := s.lastLine(); got != "[1 false]" {
					t.Errorf("prompt %q", got)
				}
			}
		})
	}
}

// What the user changes while the shell runs.
func TestBashChanges(t *testing.T) {
	s := bash(t, "")
	for _, c := range []struct{ line, prompt string }{
		{`PS1='new> '`, "new>"},
		{`PS1="(venv) $PS1"`, "(venv) new>"},
		{`PS1='a\nb> '`, "b>"},
		{`PS1='$ '; PROMPT_COMMAND=`, "$"},
		{`PROMPT_COMMAND='PS1="pc> "'`, "pc>"},
		{`PROMPT_COMMAND="true;$PROMPT_COMMAND"`, "pc>"},
		{`PROMPT_COMMAND="$PROMPT_COMMAND; PS1='end> '"`, "end>"},
		{`PROMPT_COMMAND+=('PS1="plus> "')`, "plus>"},
	} {
		s.send(c.line + "\r")
		s.quiet()
		s.run("true") // a hook that was lost comes back with this prompt
		s.expect("echo out; (exit 4)", 4, "out\n")
		if got := s.lastLine(); got != c.prompt {
			t.Errorf("%s: prompt %q, want %q", c.line, got, c.prompt)
		}
	}
	// Without the hook the prompt alone gives the marks.
	s.run("unset PROMPT_COMMAND")
	s.expect("echo out; (exit 4)", 4, "out\n")
	s.run("PROMPT_COMMAND=(true true)")
	s.expect("echo out; (exit 4)", 4, "out\n")
	s.run("PS0='<ps0>'; PROMPT_COMMAND=(true '{ __den_post || :; } >/dev/null 2>&1')")
	s.run("true")
	s.expect("echo out; (exit 4)", 4, "out\n")
	if !strings.Contains(s.screen(), "<ps0>out") {
		t.Error("the user's PS0 is gone")
	}
}

func TestBashOptions(t *testing.T) {
	s := bash(t, "PROMPT_COMMAND='true \"$_\"'")
	for _, option := range []string{"-u", "-e", "-T", "-E", "-o posix", "-C", "-f", "-o vi"} {
		s.run("set " + option)
		s.expect("echo out", 0, "out\n")
		s.expect("false || true", 0, "")
		s.expect("! true", 1, "")
	}
	s.run("exec 3>&1 >/dev/null")
	s.expect("echo lost; echo seen >&2", 0, "seen\n")
	s.run("exec >&3")
	s.expect("echo out", 0, "out\n")
}

// set -x and traps must not show that den is there.
func TestBashTrace(t *testing.T) {
	for _, noisy := range []string{"set -x", "set -T; set -x", `trap 'echo "DBG $BASH_COMMAND"' DEBUG`, `trap 'echo ERR' ERR`, `trap 'echo RET' RETURN`} {
		t.Run(noisy, func(t *testing.T) {
			s := bash(t, "PROMPT_COMMAND='true mine'")
			s.run(noisy)
			s.run("echo out")
			s.run("false")
			s.run("f() { :; }; f")
			if text := s.screen(); strings.Contains(text, "__den") {
				t.Errorf("it shows:\n%s", text)
			}
		})
		t.Run("rc/"+noisy, func(t *testing.T) {
			s := bash(t, "PROMPT_COMMAND='true mine'\n"+noisy)
			s.run("echo out")
			if text := s.screen(); strings.Contains(text, "__den") {
				t.Errorf("it shows:\n%s", text)
			}
		})
	}
}

// The timer that many have: it breaks when a hook runs after its own.
func TestBashDebugTimer(t *testing.T) {
	s := bash(t, `
begin() { if [[ -z $busy ]]; then busy=1; echo "<begin $BASH_COMMAND>"; fi; }
end() { unset busy; }
trap begin DEBUG
PROMPT_COMMAND=end`)
	s.run("true first")
	s.run("true second")
	s.run("true third")
	if text := s.screen(); !strings.Contains(text, "<begin true second>") || !strings.Contains(text, "<begin true third>") {
		t.Errorf("the trap saw something else:\n%s", text)
	}
	// A prompt that changes is marked all the same.
	s.run("PS1='new> '")
	s.run("true")
	if r := s.run("(exit 9)"); r.status != 9 || !strings.HasSuffix(r.kinds, "DAB") {
		t.Errorf("%+v", r)
	}
}

// How the shell starts: which files, which marks.
func TestBashStart(t *testing.T) {
	programPath(t, "bash")
	files := map[string]string{
		".bashrc": "echo read bashrc $PWD\n", "other": "echo read other\n",
		".bash_profile": "echo read bash_profile\n", ".profile": "echo read profile\n",
	}
	for _, c := range []struct {
		args string
		read string
	}{
		{"bash", "bashrc"},
		{"bash -i", "bashrc"},
		{"bash --noediting", "bashrc"},
		{"bash -u -o vi -O autocd", "bashrc"},
		{"bash --norc", ""},
		{"bash --norc -e", ""},
		{"bash --rcfile other", "other"},
		{"bash --init-file ./other -i", "other"},
		{"bash -l", "bash_profile"},
		{"bash --login --norc", "bash_profile"},
		{"bash --login --noprofile", ""},
		{"-bash", "bash_profile"},
		{"bash --posix", ""},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			s := ready(t, start{argv: strings.Fields(c.args), files: files, env: []string{`PROMPT_COMMAND=echo pc`}})
			var read []string
			for line := range strings.Lines(s.screen()) {
				if text, ok := strings.CutPrefix(line, "read "); ok {
					read = append(read, strings.Fields(text)[0])
				}
			}
			if got := strings.Join(read, " "); got != c.read {
				t.Errorf("read %q, want %q", got, c.read)
			}
			if n := strings.Count(s.screen(), "pc\n"); n != 1 {
				t.Errorf("PROMPT_COMMAND of the environment ran %d times", n)
			}
			s.expect("echo out", 0, "out\n")
			if r := s.run("! true"); r.status != 1 {
				t.Errorf("status %d", r.status)
			}
		})
	}
	t.Run("sh", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		if err := os.Symlink(programPath(t, "bash"), filepath.Join(dir, "sh")); err != nil {
			t.Fatal(err)
		}
		s := ready(t, start{argv: []string{filepath.Join(dir, "sh")}, files: map[string]string{"rc": "alias hi='echo from ENV'\n"}, env: []string{"ENV=$HOME/rc"}})
		s.expect("hi", 0, "from ENV\n")
		s.expect("echo $ENV", 0, "$HOME/rc\n")
	})
}

// Lines pasted together are commands of their own, without a prompt between.
func TestBashPaste(t *testing.T) {
	s := bash(t, "")
	r := s.keys("\x1b[200~echo one\nfalse\necho two; (exit 8)\x1b[201~\r")
	if r.kinds != "CCCDAB" || r.status != 8 || r.output != "one\ntwo\n" {
		t.Errorf("%+v", r)
	}
}

// The bash-preexec library, as far as it minds what else is in PROMPT_COMMAND.
func TestBashPreexec(t *testing.T) {
	s := bash(t, `
__bp_interactive_mode() { on=1; }
__bp_precmd_invoke_cmd() { on=; }
__bp_debug() {
	[[ -z $on ]] && return
	case $BASH_COMMAND in *__den*|*__bp*) on=; return;; esac
	on=; echo "<preexec $BASH_COMMAND>"
}
trap __bp_debug DEBUG
PROMPT_COMMAND=$'__bp_precmd_invoke_cmd\n'
PROMPT_COMMAND+=('__bp_interactive_mode')`)
	for range 3 {
		s.expect("echo out", 0, "<preexec echo out>\nout\n")
		s.run("")
	}
}
