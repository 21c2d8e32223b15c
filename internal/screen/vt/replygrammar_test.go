package vt_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"den/internal/screen/vt"
)

// replyForms are all replies that the emulator may send, each with a query that
// makes it. What a program prints may come from anywhere, and a reply is input
// of whatever reads the terminal next. So a reply holds fixed text, numbers, colours and hexadecimal digits, and no text that the
// program chose. docs/emulator.md has the same table for readers.
var replyForms = []struct{ name, query, form string }{
	{"DA1", "\x1b[c", `\x1b\[\?62;4;22;52c`},
	{"DA2", "\x1b[>c", `\x1b\[>1;[0-9]{1,3};0c`},
	{"DA3", "\x1b[=c", `\x1bP!\|64656e00\x1b\\`},
	{"XTVERSION", "\x1b[>q", `\x1bP>\|den\([0-9A-Za-z.+-]*\)\x1b\\`},
	{"DSR 5", "\x1b[5n", `\x1b\[0n`},
	{"CPR", "\x1b[6n", `\x1b\[NUM;NUMR`},
	{"DECXCPR", "\x1b[?6n", `\x1b\[\?NUM;NUM;1R`},
	{"DEC status", "\x1b[?26n", `\x1b\[\?(13|20|27;1;0;0|53|57;0|70)n`},
	{"colour scheme", "\x1b[?996n", `\x1b\[\?997;[12]n`},
	{"resize in band", "\x1b[?2048h", `\x1b\[48;NUM;NUM;NUM;NUMt`},
	{"XTSMGRAPHICS", "\x1b[?2;1S", `\x1b\[\?NUM;[01];NUM(;NUM)?S`},
	{"DECRQCRA", "\x1b[1*y", `\x1bPNUM!~[0-9A-F]{4}\x1b\\`},
	{"kitty graphics", "\x1b_Gi=1,a=q,s=1,v=1;AAAAAA==\x1b\\", `\x1b_G(i=ID|I=ID|i=ID,I=ID)(,p=ID)?;(OK|E[A-Z]{4,6}:[a-z ]{1,60})\x1b\\`},
	{"special colours", "\x1b]5;1;?\a", `\x1b\]5;[0-4];RGBEND`},
	{"DECRQM", "\x1b[?7$p", `\x1b\[\??NUM;[0-3]\$y`},
	{"DECREQTPARM", "\x1b[x", `\x1b\[[23];1;1;128;128;1;0x`},
	{"window state and sizes", "\x1b[18t", `\x1b\[(1|[4-9];NUM;NUM)t`},
	{"window titles, always empty", "\x1b[21t", `\x1b\][lL]\x1b\\`},
	{"kitty keyboard flags", "\x1b[?u", `\x1b\[\?[0-9]{1,2}u`},
	{"modifyOtherKeys", "\x1b[?4m", `\x1b\[>4;[0-2]m`},
	{"DECRQSS refused", "\x1bP$qz\x1b\\", `\x1bP0\$r\x1b\\`},
	{"DECRQSS SGR", "\x1bP$qm\x1b\\", `\x1bP1\$r0([;:]{1,2}NUM)*m\x1b\\`},
	{"DECRQSS", "\x1bP$qr\x1b\\", `\x1bP1\$rNUM(;NUM)?(r|s|t| q|"q|"p|\$\||\*\|)\x1b\\`},
	{"XTGETTCAP refused", "\x1bP+q7a\x1b\\", `\x1bP0\+r\x1b\\`},
	{"XTGETTCAP", "\x1bP+q544e\x1b\\", `\x1bP1\+r[0-9A-F]{4,14}(=[0-9A-F]{2,200})?\x1b\\`},
	{"palette", "\x1b]4;1;?\a", `\x1b\]4;NUM;RGBEND`},
	{"default colours", "\x1b]11;?\a", `\x1b\]1[0-2];RGBEND`},
	{"clipboard, always empty", "\x1b]52;c;?\a", `\x1b\]52;[cpqs0-7];END`},
}

// replyExpression expands the short names in a form.
func replyExpression(form string) string {
	return strings.NewReplacer(
		"RGB", `rgb:[0-9a-f]{4}/[0-9a-f]{4}/[0-9a-f]{4}`,
		"END", `(\x07|\x1b\\)`,
		"NUM", `[0-9]{1,5}`,
		"ID", `[0-9]{1,10}`,
	).Replace(form)
}

var replyGrammar = func() *regexp.Regexp {
	var forms []string
	for _, f := range replyForms {
		forms = append(forms, replyExpression(f.form))
	}
	return regexp.MustCompile(`^(` + strings.Join(forms, "|") + `)*$`)
}()

func TestEveryReplyFormIsMade(t *testing.T) {
	for _, f := range replyForms {
		term := vt.New(config(20, 6, 0))
		term.Write([]byte(f.query))
		if got := term.TakeReplies(); !regexp.MustCompile(`^` + replyExpression(f.form) + `$`).Match(got) {
			t.Errorf("%s: %q is answered by %q, which is not %s", f.name, f.query, got, f.form)
		}
	}
}

// The most that one byte of output, and one resize, can make the terminal reply.
const (
	repliesPerByte   = 16
	repliesPerResize = 64
)

// replyLaw: all replies are of the forms above, and not many times larger than
// the output that asked for them.
func replyLaw(cfg vt.Config) func([]step) string {
	return func(steps []step) string {
		term := vt.New(cfg)
		for _, s := range steps {
			s.do(term)
			replies := term.TakeReplies()
			if !replyGrammar.Match(replies) {
				return fmt.Sprintf("reply %q", replies)
			}
			allowed := repliesPerResize
			if s.cols == 0 {
				// A sequence may have begun in the step before.
				allowed = repliesPerByte * (len(s.data) + len(intro))
			}
			if len(replies) > allowed {
				return fmt.Sprintf("%d bytes of replies to %d bytes", len(replies), len(s.data))
			}
		}
		return ""
	}
}

func TestRepliesHaveKnownForms(t *testing.T) {
	hold(t, 2000, func(cfg vt.Config, _ uint64) func([]step) string { return replyLaw(cfg) })
}

// Each query around text that an attacker chose: none of the text comes back.
func TestRepliesDoNotRepeatText(t *testing.T) {
	const text = "$(touch x)\r"
	begins := []string{"\x1b]52;", "\x1b]52;c", "\x1b]4;", "\x1b]5;", "\x1b]10;", "\x1b]l", "\x1b]L", "\x1b]2;", "\x1b]99;i=", "\x1b]99;i=x:p=?;", "\x1bP$q", "\x1bP+q", "\x1b_G", "\x1b_Gi=", "\x1b_Ga=q,i=1;"}
	for _, begin := range begins {
		for _, end := range []string{"\x1b\\", "\a", ";?\x1b\\", ";?\a", ",a=q;AAAA\x1b\\"} {
			term := vt.New(config(20, 6, 0))
			term.Write([]byte(begin + text + end + "\x1b[20t\x1b[21t\x05"))
			replies := term.TakeReplies()
			if bytes.Contains(replies, []byte("touch")) || !replyGrammar.Match(replies) {
				t.Errorf("%q is answered by %q", begin+text+end, replies)
			}
		}
	}
}

func FuzzReplies(f *testing.F) {
	for _, form := range replyForms {
		f.Add([]byte(form.query), uint64(0), uint8(1))
	}
	f.Add([]byte("\x1b]52;$(sh x);?\x1b\\"), uint64(0), uint8(1))
	fuzzLaw(f, func(cfg vt.Config, _ uint64) func([]step) string { return replyLaw(cfg) })
}
