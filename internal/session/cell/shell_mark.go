package cell

import (
	"strconv"
	"strings"

	"den/internal/screen/vt"
)

// OwnMark reports whether a mark came from the shell that was prepared with
// this token, and not from a program that prints marks itself. A status is the
// exit status in a D mark, else 0.
//
// What a prepared shell gives, in this order:
//
//	A  the prompt starts; in fish once, elsewhere again when it is drawn anew
//	B  the prompt ended and input starts; again when the prompt is drawn anew
//	P  the shell asks for the rest of an unfinished command (not in fish)
//	C  a command starts, its output is next (not in sh)
//	H  a shell inside the session's program prints marks from now on; with its kind
//	K  the input was emptied by den's own key, and the prompt stands (fish)
//	Z  the next prompt comes with text in its input, which nobody typed (zsh)
//	D  back from the input: the command ended with the status
//
// Between two prompts there is at least one D. One without a C before it says
// that nothing ran: an error of syntax, an interrupt, an empty line; the status
// is what the shell's $? says. Lines pasted together give several C, in zsh
// each with its D, before the next A. The first prompt has no D before it. A
// prompt that a hook of the user's changed after ours may lack A and B once.
func OwnMark(m vt.Mark, token string) (status int, own bool) {
	args, own := strings.CutSuffix(m.Args, "den="+token)
	if !own {
		return 0, false
	}
	if m.Kind != 'D' {
		return 0, args == "" || strings.HasSuffix(args, ";")
	}
	status, err := strconv.Atoi(strings.TrimSuffix(args, ";"))
	return status, err == nil && strings.HasSuffix(args, ";")
}
