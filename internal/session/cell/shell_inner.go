package cell

import (
	"strconv"
	"strings"

	"den/internal/process/pty"
	"den/internal/screen/vt"
)

// A shell inside the session's program (ssh, sudo -s, docker exec) is brought to
// print marks in two steps. A line that nothing but a shell can make sense of asks
// who is there; the answer, a mark with a token made for this question alone, says
// which shell it is, and that it reads one more line without showing it. That line
// is the code for that shell. It removes what the first line left: on the screen,
// and in the history of bash.
//
// The marks' token differs from that of the session's own shell, so that each tells
// whose it is, and whether it tells where output begins.
const (
	innerToken  = "-in"
	innerSilent = "-insh"
	innerOlder  = "-inner" // of an older den, whose mark H says it
)

// Inquiry is what is known of the shell inside the session's program that was asked
// last. It survives an upgrade.
type Inquiry struct {
	Nonce  string `json:"nonce,omitempty"`  // of the question, until it is settled; or ""
	Answer string `json:"answer,omitempty"` // which shell answered, or ""
	Deaf   bool   `json:"deaf,omitempty"`   // the shell that was asked last showed no marks with its prompt: they do not count

	Shell pty.Process `json:"shell,omitzero"`  // that was asked, or what carries it; or zero
	Local bool        `json:"local,omitempty"` // the kernel shows that shell: this terminal is its own
	Plain bool        `json:"plain,omitempty"` // and it has no line editor
	Code  string      `json:"code,omitempty"`  // of the cell that a shell with marks runs, or ""

	Declined pty.Process `json:"declined,omitzero"` // made nothing of it, at AtPrompt
	AtPrompt string      `json:"at_prompt,omitempty"`
}

// The shells that answer.
const (
	innerBash = "bash"
	innerZsh  = "zsh"
	innerSh   = "sh"
)

// take records the answer to the question.
func (q *Inquiry) take(m vt.Mark) {
	kind, ok := strings.CutSuffix(m.Args, ";den="+q.Nonce)
	if !ok || q.Nonce == "" {
		return
	}
	switch kind {
	case "b":
		q.Answer = innerBash
	case "z":
		q.Answer = innerZsh
	case "":
		q.Answer = innerSh
	}
}

// askShell asks. What is no POSIX shell stops at its first words (fish, csh), or
// knows none of it. The leading blank keeps it out of most histories. The echo goes
// off before the answer, so that the code that follows is never shown.
const askShell = ` : "${ZSH_VERSION+z}"&&stty -echo&&printf '\033]133;Q;%s;den=NONCE\007' "${BASH_VERSION+b}${ZSH_VERSION+z}"&&IFS= read -r __den;stty echo;eval "$__den"`

// AskShell returns the line that asks whether a shell reads it.
func AskShell(nonce string) string { return strings.ReplaceAll(askShell, "NONCE", nonce) }

// The code of each shell. It needs no file and no program there, and none of it is
// exported. What it puts into a prompt is what den.bash and den.sh put there, and
// comes to nothing in a shell that inherits it, until that shell has code of its
// own; zsh alone would show it. Marks end with BEL: the escapes of busybox' prompt
// would take the backslash of ST for their own. A hook of the user's that sets PS1
// is followed, and D does not depend on what was put before PS1 (a Python
// environment's name). In bash D is part of PS1 for the times when no hook runs, as
// den.bash has it. In zsh it also comes before the mark of a line that has no end.
const (
	bashMarks = `set +H;__den_t=$'\e]133;' __den_p=1 __den_i=';den=TOKEN-in' __den_o=$'\1' __den_c=$'\2';` +
		`((BASH_VERSINFO[0]*100+BASH_VERSINFO[1]<404))&&__den_i+=sh;__den_i+=$'\a';` +
		promptMarks + `__den_x=${__den_t}C$__den_i;` +
		`__den_d(){ local s=$?;printf %s "${__den_t}D;$s$__den_i";__den_p=;return $s;};` +
		`__den_w(){ case $PS1 in *__den_b*);;*)PS1='LEFT'$PS1'RIGHT';;esac;};` +
		`PS0='${__den_x:+${__den_x#$((__den_p=1))}}'${PS0-};` +
		`(PROMPT_COMMAND=)2>&-&&PROMPT_COMMAND=__den_d${PROMPT_COMMAND:+$'\n'$PROMPT_COMMAND}$'\n'__den_w;__den_w;` +
		`__den=$(HISTTIMEFORMAT= history 1);case $__den in *den=NONCE*)__den=${__den#"${__den%%[0-9]*}"};history -d ${__den%%[!0-9]*};;esac;` +
		`unset __den;printf '\e[ROW;1H\e[J'`
	zshMarks = `setopt nobanghist;__den_a=$'%{\e]133;A;den=TOKEN-in\a%}' __den_b=$'%{\e]133;B;den=TOKEN-in\a%}';` +
		`__den_d(){ local s=$?;[[ -o promptsp && -o promptcr && $PROMPT_EOL_MARK = *den=TOKEN* ]]||printf '\e]133;D;%s;den=TOKEN-in\a' $s;};__den_x(){ printf '\e]133;C;den=TOKEN-in\a';};` +
		`__den_w(){ [[ $PS1 = *den=TOKEN* ]]||PS1=$__den_a$PS1$__den_b;};` +
		`[[ $PS1 = *__den_b:* ]]&&PS1=${${PS1#*\$__den_a\}}%\$\{__den_b:*};` +
		`precmd_functions=(__den_d $precmd_functions __den_w) preexec_functions+=(__den_x);` +
		`PROMPT_EOL_MARK=$'%{\e]133;D;%?;den=TOKEN-in\a%}'${PROMPT_EOL_MARK-%B%S%#%s%b};` +
		`PS2=$'%{\e]133;P;k=s;den=TOKEN-in\a%}'$PS2;unset __den;printf '\e[ROW;1H\e[J'`
	shMarks = `__den_t=$(printf '\033]133;') __den_p=1 __den_i=$(printf ';den=TOKEN-insh\007') __den_o= __den_c=;` +
		`case $PS1$(readlink /proc/$$/exe 2>&-) in *\\*busybox)__den_o='\[' __den_c='\]';;esac;` +
		promptMarks + `case $PS1 in *__den_b*);;*)PS1='LEFT'$PS1'RIGHT';;esac;` +
		`unset __den;printf '\033[ROW;1H\033[J'`

	// For bash and POSIX shells.
	promptMarks = `__den_e=$__den_i$__den_c __den_d="$__den_o${__den_t}D;";` +
		`__den_a=$__den_o${__den_t}A$__den_e __den_b=$__den_o${__den_t}B$__den_e __den_q="$__den_o${__den_t}P;k=s$__den_e";` +
		`PS2='${__den_q:+$__den_q}'$PS2;`
	leftOfPrompt  = `${__den_a:+${__den_p:+$__den_d$?$__den_e}$__den_a}`
	rightOfPrompt = `${__den_b:+${__den_b#$((__den_p=1))}}`
)

// InnerMarks returns code that makes the shell which answered print marks for a
// session with this token. row, from 1, is where its prompt stood.
func (q *Inquiry) InnerMarks(token string, row int) string {
	code := shMarks
	switch q.Answer {
	case innerBash:
		code = bashMarks
	case innerZsh:
		code = zshMarks
	}
	return strings.NewReplacer("TOKEN", token, "NONCE", q.Nonce, "ROW", strconv.Itoa(row), "LEFT", leftOfPrompt, "RIGHT", rightOfPrompt).Replace(code)
}
