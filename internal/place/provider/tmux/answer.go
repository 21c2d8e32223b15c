package tmux

import (
	"errors"
	"slices"
	"strings"
)

// refusal is tmux's word on a command that it did not carry out. The server
// was asked, and it answered.
type refusal struct{ said string }

func (r *refusal) Error() string { return "tmux: " + r.said }

func refused(err error) bool {
	var r *refusal
	return errors.As(err, &r)
}

// guard is a line "%begin TIME NUMBER FLAGS" or its end.
type guard struct {
	word  string // "begin", "end" or "error"
	ident string // time, number and flags: the same in both
	ours  bool   // the flags say that the command came from this client
}

func parseGuard(line string) (guard, bool) {
	rest, ok := strings.CutPrefix(line, "%")
	if !ok {
		return guard{}, false
	}
	word, ident, ok := strings.Cut(rest, " ")
	if !ok || word != "begin" && word != "end" && word != "error" {
		return guard{}, false
	}
	f := strings.Fields(ident)
	return guard{word: word, ident: ident, ours: len(f) == 3 && f[2] == "1"}, len(f) == 3
}

// An answer is what came between a question and the sentinel after it. The
// sentinel is a word that no program could know when the question was asked:
// what a pane shows may look like guards, and must not end an answer.

// readSingle reads the answer to one command whose output is not to be
// trusted: it goes to the last line that could be its end.
func readSingle(raw []string) (out, notes []string, err error) {
	if len(raw) == 0 {
		return nil, nil, errGarbled
	}
	begin, ok := parseGuard(raw[0])
	if !ok {
		return nil, nil, errGarbled
	}
	for i := len(raw) - 1; i > 0; i-- {
		end, ok := parseGuard(raw[i])
		if !ok || end.ident != begin.ident || end.word == "begin" {
			continue
		}
		notes = notifications(raw[i+1:])
		if end.word == "error" {
			return nil, notes, &refusal{strings.Join(raw[1:i], "\n")}
		}
		return raw[1:i], notes, nil
	}
	return nil, nil, errGarbled
}

// readSequence reads the answers to a sequence of commands, one after the
// other, whose output is tmux's own.
func readSequence(raw []string) (out, notes []string, err error) {
	for len(raw) > 0 {
		begin, ok := parseGuard(raw[0])
		if !ok || begin.word != "begin" {
			notes = append(notes, notifications(raw[:1])...)
			raw = raw[1:]
			continue
		}
		end := slices.IndexFunc(raw, func(line string) bool {
			g, ok := parseGuard(line)
			return ok && g.ident == begin.ident && g.word != "begin"
		})
		if end < 0 {
			return nil, notes, errGarbled
		}
		if begin.ours {
			if g, _ := parseGuard(raw[end]); g.word == "error" && err == nil {
				err = &refusal{strings.Join(raw[1:end], "\n")}
			}
			out = append(out, raw[1:end]...)
		}
		raw = raw[end+1:]
	}
	return out, notes, err
}

func notifications(lines []string) []string {
	var notes []string
	for _, line := range lines {
		if _, isGuard := parseGuard(line); !isGuard && strings.HasPrefix(line, "%") {
			notes = append(notes, line)
		}
	}
	return notes
}

// errGarbled means that the client and we no longer agree on what was asked.
var errGarbled = errors.New("tmux's answer cannot be read")
