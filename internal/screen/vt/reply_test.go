package vt_test

import (
	"bytes"
	"strings"
	"testing"

	"den/internal/screen/vt"
)

func TestReplies(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"primary attributes", "\x1b[c", "\x1b[?62;4;22;52c"},
		{"primary attributes, 0", "\x1b[0c", "\x1b[?62;4;22;52c"},
		{"DECID", "\x1bZ", "\x1b[?62;4;22;52c"},
		{"secondary attributes", "\x1b[>c", "\x1b[>1;390;0c"},
		{"tertiary attributes", "\x1b[=c", "\x1bP!|64656e00\x1b\\"},
		{"status", "\x1b[5n", "\x1b[0n"},
		{"cursor", "\x1b[3;4H\x1b[6n", "\x1b[3;4R"},
		{"cursor with a pending wrap", strings.Repeat("x", 20) + "\x1b[6n", "\x1b[1;20R"},
		{"cursor under origin mode", "\x1b[?69h\x1b[3;9s\x1b[2;5r\x1b[?6h\x1b[2;2H\x1b[6n", "\x1b[2;2R"},
		{"cursor, DEC", "\x1b[2;5H\x1b[?6n", "\x1b[?2;5;1R"},
		{"ANSI mode", "\x1b[4h\x1b[4$p\x1b[20$p\x1b[99$p", "\x1b[4;1$y\x1b[20;2$y\x1b[99;0$y"},
		{"DEC modes", "\x1b[?7$p\x1b[?2026$p\x1b[?2026h\x1b[?2026$p\x1b[?2027$p\x1b[?2027h\x1b[?2027$p\x1b[?77$p", "\x1b[?7;1$y\x1b[?2026;2$y\x1b[?2026;1$y\x1b[?2027;2$y\x1b[?2027;1$y\x1b[?77;0$y"},
		{"mouse modes", "\x1b[?1002;1006h\x1b[?1000$p\x1b[?1002$p\x1b[?1006$p", "\x1b[?1000;2$y\x1b[?1002;1$y\x1b[?1006;1$y"},
		{"setting SGR", "\x1b[1;4:3;31;48;5;99m\x1bP$qm\x1b\\", "\x1bP1$r0;1;4:3;31;48:5:99m\x1b\\"},
		{"setting SGR, true colours", "\x1b[38;2;9;8;7;48:2::1:2:3;58:5:4m\x1bP$qm\x1b\\", "\x1bP1$r0;38:2::9:8:7;48:2::1:2:3;58:5:4m\x1b\\"},
		{"setting margins", "\x1b[2;4r\x1bP$qr\x1b\\\x1bP$qs\x1b\\", "\x1bP1$r2;4r\x1b\\\x1bP1$r1;20s\x1b\\"},
		{"setting cursor style", "\x1b[5 q\x1bP$q q\x1b\\", "\x1bP1$r5 q\x1b\\"},
		{"setting protection", "\x1b[1\"q\x1bP$q\"q\x1b\\", "\x1bP1$r1\"q\x1b\\"},
		{"setting conformance", "\x1bP$q\"p\x1b\\", "\x1bP1$r62;1\"p\x1b\\"},
		{"setting unknown", "\x1bP$qz\x1b\\", "\x1bP0$r\x1b\\"},
		{"version", "\x1b[>q\x1b[>0q", "\x1bP>|den(1.2.3)\x1b\\\x1bP>|den(1.2.3)\x1b\\"},
		{"capabilities", "\x1bP+q544e;436f;524742\x1b\\", "\x1bP1+r544E=787465726D2D323536636F6C6F72\x1b\\\x1bP1+r436F=323536\x1b\\\x1bP1+r524742=382F382F38\x1b\\"},
		{"capability unknown", "\x1bP+q7a7a\x1b\\", "\x1bP0+r\x1b\\"},
		{"capability that is no hex", "\x1bP+q$(sh x)\x1b\\", "\x1bP0+r\x1b\\"},
		{"palette", "\x1b]4;1;?\a", "\x1b]4;1;rgb:cdcd/0000/0000\a"},
		{"palette, two", "\x1b]4;0;?;15;?\x1b\\", "\x1b]4;0;rgb:0000/0000/0000\x1b\\\x1b]4;15;rgb:ffff/ffff/ffff\x1b\\"},
		{"palette changed", "\x1b]4;200;#102030\a\x1b]4;200;?\a", "\x1b]4;200;rgb:1010/2020/3030\a"},
		{"foreground", "\x1b]10;?\a", "\x1b]10;rgb:d8d8/d8d8/d8d8\a"},
		{"background, other end", "\x1b]11;?\x1b\\", "\x1b]11;rgb:1818/1818/1818\x1b\\"},
		{"three colours", "\x1b]10;?;?;?\a", "\x1b]10;rgb:d8d8/d8d8/d8d8\a\x1b]11;rgb:1818/1818/1818\a\x1b]12;rgb:d8d8/d8d8/d8d8\a"},
		{"kitty keyboard", "\x1b[?u\x1b[>5u\x1b[?u\x1b[<u\x1b[?u", "\x1b[?0u\x1b[?5u\x1b[?0u"},
		{"modifyOtherKeys", "\x1b[>4;2m\x1b[?4m", "\x1b[>4;2m"},
		{"text size", "\x1b[18t\x1b[19t", "\x1b[8;6;20t\x1b[9;6;20t"},
		{"pixel size", "\x1b[14t\x1b[16t", "\x1b[4;120;180t\x1b[6;20;9t"},
		{"terminal parameters", "\x1b[x\x1b[1x", "\x1b[2;1;1;128;128;1;0x\x1b[3;1;1;128;128;1;0x"},
		{"clipboard", "\x1b]52;c;?\a", "\x1b]52;c;\a"},
		{"clipboard, no selection", "\x1b]52;;?\x1b\\", "\x1b]52;c;\x1b\\"},
		{"clipboard, two selections", "\x1b]52;ps0;?\a", "\x1b]52;p;\a"},
		{"clipboard, a command as selection", "\x1b]52;$(sh x);?\x1b\\", ""},
		{"cursor outside the margins", "\x1b[?6h\x1b7\x1b[3;5r\x1b8\x1b[6n", "\x1b[1;1R"},
		{"answerback", "\x05", ""},
		{"title is not given away", "\x1b]2;rm -rf\a\x1b[21t", "\x1b]l\x1b\\"},
		{"colour scheme", "\x1b[?996n\x1b]11;#fff\a\x1b]10;#000\a\x1b[?996n", "\x1b[?997;1n\x1b[?997;2n"},
		{"colour scheme changes", "\x1b[?2031h\x1b]11;#111\a\x1b]11;#fff\a\x1b]10;#000\a\x1b]111\a\x1b]110\a\x1b[?2031l\x1b]11;#fff\a", "\x1b[?997;2n\x1b[?997;1n"},
		{"size in band", "\x1b[?2048h\x1b[?2048$p", "\x1b[48;6;20;120;180t\x1b[?2048;1$y"},
		{"checksum", "\x1b[2;2HAB\x1b[H\x1b[7;1;2;2;2;3*y", "\x1bP7!~FF7D\x1b\\"},
		{"checksum of a cell with attributes", "\x1b[1;4;7;8m\x1b[1\"qA\x1b[m\x1b[1;1;1;1;1;1*y", "\x1bP1!~FFBF\x1b\\"},
		{"checksum of blanks: never written, written, erased", "\x1b[2G x\x1b[3G\x1b[X\x1b[1;1;1;1;1;1*y\x1b[2;1;1;2;1;2*y\x1b[3;1;1;3;1;3*y", "\x1bP1!~FFE0\x1b\\\x1bP2!~FFE0\x1b\\\x1bP3!~FFE0\x1b\\"},
		{"checksum of a wide character", "日\x1b[1;1;1;1;1;2*y\x1b[2J", "\x1bP1!~9A1B\x1b\\"},
		{"checksum of no rectangle", "\x1b[9;1;5;5;3;3*y", "\x1bP9!~0000\x1b\\"},
		{"special colours", "\x1b]5;0;?\a\x1b]5;1;#102030;1;?;9;?\x1b\\\x1b]105;1\a\x1b]5;1;?\a", "\x1b]5;0;rgb:d8d8/d8d8/d8d8\a\x1b]5;1;rgb:1010/2020/3030\x1b\\\x1b]5;1;rgb:d8d8/d8d8/d8d8\a"},
		{"kitty graphics", "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\", "\x1b_Gi=31;OK\x1b\\"},
		{"kitty graphics, no data", "\x1b_Ga=q,i=5\x1b\\", "\x1b_Gi=5;EINVAL:the data is no such image\x1b\\"},
		{"kitty graphics, quiet", "\x1b_Gi=31,a=q,q=2;AAAA\x1b\\", ""},
		{"kitty graphics, no number", "\x1b_Gi=$(sh x),a=q;AAAA\x1b\\\x1b_Ga=q;AAAA\x1b\\", ""},
		{"no reply to a reply", "\x1b[?62;22c\x1b[3;4R\x1b[0n\x1bP1$r0m\x1b\\", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			term := vt.New(config(20, 6, 0))
			term.Write([]byte(c.in))
			if got := string(term.TakeReplies()); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if again := term.TakeReplies(); again != nil {
				t.Errorf("second take gave %q", again)
			}
			if text := term.AppendText(nil); strings.Trim(string(text), "xAB \n") != "" {
				t.Errorf("screen shows %q", text)
			}
		})
	}
}

// Under mode 2048 a resize is reported, once.
func TestResizeIsReportedInBand(t *testing.T) {
	term := vt.New(config(20, 6, 0))
	term.Resize(30, 6)
	term.Write([]byte("\x1b[?2048h"))
	term.TakeReplies()
	term.Resize(40, 10)
	term.Resize(40, 10)
	if got := string(term.TakeReplies()); got != "\x1b[48;10;40;200;360t" {
		t.Errorf("%q", got)
	}
	again := vt.New(config(40, 10, 0))
	again.Write(term.Dump())
	again.Resize(20, 6)
	if got := string(again.TakeReplies()); got != "\x1b[48;6;20;120;180t" {
		t.Errorf("restored from a dump: %q", got)
	}
}

func TestRepliesAreBounded(t *testing.T) {
	term := vt.New(config(80, 24, 0))
	term.Write(bytes.Repeat([]byte("\x1b[c\x1b[>q"), 100000))
	if n := len(term.TakeReplies()); n == 0 || n > 64<<10 {
		t.Errorf("%d bytes of replies", n)
	}
	term.Write([]byte("\x1b[5n"))
	if got := string(term.TakeReplies()); got != "\x1b[0n" {
		t.Errorf("after taking: %q", got)
	}
}
