package cell_test

import (
	"strings"
	"testing"
	"time"
)

// The screen is the same, to the byte, with marks and without: prompts in
// many lines, lines longer than the screen, editing, completion, clearing.
func TestSameScreen(t *testing.T) {
	type session struct {
		name  string
		start start
		keys  []string
	}
	posix := []string{
		"echo hello\r", "\r", "false\r", "no-such-command\r", "printf 'no newline'\r", "printf 'a\\nb\\n'\r",
		"cat <<X\r", "one\r", "X\r", "echo 'open\r", "closed'\r", ")\r", "echo dropped\x03", "\x03",
		"echo " + strings.Repeat("long ", 30) + "\r", "echo " + strings.Repeat("x", 100), "\x01", "\x05", "\x15", "echo abc\x1b[D\x1b[D-\r",
		"true &&\r", "echo more\r", "(exit 3)\r", "set -u\r", "for i in 1 2\r", "do echo $i\r", "done\r", "sh -c 'exit 9'\r", "clear\r", "echo $?\r",
	}
	editing := append(append([]string{}, posix...), "echo one; echo t", "\x0c", "wo\r", "ec\t\t", "\x15", "\x12hel", "\r", "\x1b[A", "\x1b[A", "\r")
	fish := []string{
		"echo hello\r", "\r", "false\r", "no-such-command\r", "printf 'no newline'\r", "printf 'a\\nb\\n'\r", "echo 'open\r", "closed'\r",
		")\r", "\x03", "begin\r", "echo one\r", "end\r", "echo abc\x1b[D\x1b[D-\r", "clear\r", "echo $status\r", "echo one; echo t", "\x0c", "wo\r", "\x1b[A", "\r",
	}
	const fishConfig = "set fish_greeting\nset fish_autosuggestion_enabled 0\n"
	sessions := []session{
		{"bash", start{argv: []string{"bash"}}, editing},
		{"bash/prompt", start{argv: []string{"bash"}, files: map[string]string{".bashrc": `PS1='\[\e[31m\]line one\n\[\e[0m\]\w \$? $? \[\e[1m\]>\[\e[0m\] '; PS0='<ps0>\n'; PROMPT_COMMAND='echo "<pc $?>"'`}}, editing},
		{"bash/theme", start{argv: []string{"bash"}, files: map[string]string{".bashrc": `p() { PS1="\[\e[3$((RANDOM % 2))m\]$? \[\e[0m\]\\$ "; }; PROMPT_COMMAND=p; PS2='\[\e[1m\]... \[\e[0m\]'`}}, editing},
		{"bash/long", start{argv: []string{"bash"}, cols: 30, files: map[string]string{".bashrc": `PS1='\[\e[32m\]a prompt that is longer than the line\[\e[0m\] \$ '`}}, editing},
		{"bash/full", start{argv: []string{"bash"}, cols: 21, files: map[string]string{".bashrc": `PS1='exactly twenty wide>'`}}, editing},
		{"bash/vi", start{argv: []string{"bash"}, files: map[string]string{".bashrc": `set -o vi; bind 'set show-mode-in-prompt on'`}}, posix},
		{"bash/noediting", start{argv: []string{"bash", "--noediting"}}, posix},
		{"zsh", start{argv: []string{"zsh"}}, editing},
		{"zsh/prompt", start{argv: []string{"zsh"}, files: map[string]string{".zshrc": `PS1=$'%F{red}line one%f\n%~ %? %B>%b '; RPS1='right %?'; precmd() { echo "<pc $?>" }; preexec() { echo "<pe>" }`}}, editing},
		{"zsh/subst", start{argv: []string{"zsh"}, cols: 30, files: map[string]string{".zshrc": `setopt promptsubst; PS1='$(echo sub) $LANG a long prompt %# '; PROMPT_EOL_MARK='<eol>'`}}, editing},
		{"dash", start{argv: []string{"dash"}}, posix},
		{"busybox", start{argv: []string{"busybox", "ash"}, files: map[string]string{"rc": `PS1='\[\033[31m\]$? \$\[\033[0m\] '`}, env: []string{"ENV=$HOME/rc"}}, posix},
		{"fish", start{argv: []string{"fish"}, files: map[string]string{".config/fish/config.fish": fishConfig}}, append(fish,
			"echo "+strings.Repeat("long ", 30)+"\r", "echo "+strings.Repeat("x", 100), "\x01", "\x05", "\x15", "clear\r", "echo $status\r")},
		// fish 3.6 itself spoils the screen where a right prompt meets a long line.
		{"fish/right", start{argv: []string{"fish"}, files: map[string]string{".config/fish/config.fish": fishConfig +
			"function fish_right_prompt; echo r $status; end\n"}}, fish},
	}
	for _, c := range sessions {
		t.Run(c.name, func(t *testing.T) {
			programPath(t, c.start.argv[0])
			t.Parallel()
			plain := c.start
			plain.plain = true
			with, without := open(t, c.start), open(t, plain)
			with.quiet()
			without.quiet()
			for i, keys := range append([]string{""}, c.keys...) {
				with.send(keys)
				without.send(keys)
				with.quiet()
				without.quiet()
				same := func(s *shellSession) string {
					s.mu.Lock()
					cursor := s.term.Cursor()
					s.mu.Unlock()
					return strings.ReplaceAll(s.screen(), s.home, "HOME") + "\n" + strings.Repeat(" ", cursor.Col) + "^"
				}
				// fish may still be at work when it seems to rest.
				for end := time.Now().Add(patient / 4); same(with) != same(without); {
					if time.Now().After(end) {
						t.Fatalf("after %q (%d):\n--- with\n%s\n--- without\n%s", keys, i, same(with), same(without))
					}
					with.quiet()
					without.quiet()
				}
			}
			if with.position() == 0 {
				t.Error("no marks")
			}
		})
	}
}
