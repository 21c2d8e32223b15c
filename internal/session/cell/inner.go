package cell

import "strings"

// A shell inside the session's program (ssh, sudo -s, docker exec) is brought to
// print marks by code that is typed into it. Its token differs from that of the
// session's own shell, so that each mark tells whose it is.
const innerToken = "-inner"

// innerMarks is the code for bash, zsh and POSIX shells. It needs no file and no
// program there. The leading blank keeps it out of most histories. The mark H
// says which shell took it.
//
// The ash of busybox takes lines of 1023 bytes. It has escapes in its prompt, as
// the usual one shows: they say what takes no columns, and would take the
// backslash of ST for their own, so marks end with BEL.
const innerMarks = ` __den_m() { printf '\033]133;%s;den=TOKEN\007' "$1"; }; if [ -n "${ZSH_VERSION-}" ]; then ` +
	`__den_pre() { __den_m "D;$?"; }; __den_exe() { __den_m C; }; ` +
	`eval 'precmd_functions+=(__den_pre); preexec_functions+=(__den_exe)'; __den_m "H;zsh"; ` +
	`PS1="%{$(__den_m A)%}$PS1%{$(__den_m B)%}"; PS2="%{$(__den_m "P;k=s")%}$PS2"; ` +
	`else __den_a=$(__den_m A) __den_b=$(__den_m B) __den_q=$(__den_m "P;k=s"); __den_t=$(printf '\033]133;D;'); __den_e=$(printf ';den=TOKEN\007'); ` +
	`if [ -n "${BASH_VERSION-}" ]; then __den_x=$(__den_m C); ` +
	`PS1='\[$__den_t$?$__den_e$__den_a\]'"$PS1"'\[$__den_b\]' PS2='\[$__den_q\]'"$PS2" PS0='$__den_x'"${PS0-}"; __den_m "H;bash"; ` +
	`else __den_o= __den_c=; case "$PS1" in *\\*) __den_o='\[' __den_c='\]';; esac; ` +
	`PS1='$__den_o$__den_t$?$__den_e$__den_a$__den_c'"$PS1"'$__den_o$__den_b$__den_c' PS2='$__den_o$__den_q$__den_c'"$PS2"; __den_m "H;sh"; fi; fi`

// InnerMarks returns code that makes the shell which runs it print marks for a
// session with this token.
func InnerMarks(token string) string {
	return strings.ReplaceAll(innerMarks, "TOKEN", token+innerToken)
}
