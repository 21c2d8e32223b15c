package vt_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// generator makes terminal output that leans to what is hard: margins, wide
// characters at edges, half sequences, private strings.
type generator struct{ r *rand.Rand }

func newGenerator(seed uint64) generator {
	return generator{rand.New(rand.NewPCG(seed, 1))}
}

func (g generator) pick(list ...string) string { return list[g.r.IntN(len(list))] }

// num is a parameter: mostly small, sometimes missing or absurd.
func (g generator) num() string {
	switch g.r.IntN(12) {
	case 0:
		return ""
	case 1:
		return "0"
	case 2:
		return g.pick("65535", "2000000000", "99999999999999")
	case 3:
		return fmt.Sprint(g.r.IntN(300))
	}
	return fmt.Sprint(1 + g.r.IntN(12))
}

func (g generator) nums(max int) string {
	var list []string
	for range g.r.IntN(max + 1) {
		list = append(list, g.num())
	}
	return strings.Join(list, g.pick(";", ";", ";", ":"))
}

var texts = []string{
	"hello world ", "a", "abc", "           ", "the quick brown fox jumps over ",
	"日本語", "漢", "한국어", "é", "e\u0301\u0302", "\u0301", "\u0301\u0308", "👍🏽", "👍", "🏽", "👩‍👩‍👧‍👦", "👩\u200d", "\u200d", "🇩🇪", "🇩", "🇩🇪🇫",
	"❤️", "❤", "\uFE0F", "\uFE0E", "1️⃣", "#", "⌚︎", "한", "ᄒ", "ᅡ", "हिन्दी", "─│┌┐", "█", "\u00ad", "\u200b", "\u3000", "lqqk", "~`_#", "\x1b[38;5;5m\U0010eeee\u0305\u0305\U0010eeee\u0305\u030d\U0010eeee", "\U0010eeee",
	"\xff", "\xe2\x82", "\xf0\x9f", "\xc3", "\xed\xa0\x80", "\u0085", "\u009b31m", "\u009c",
}

var decNums = []string{
	"1", "3", "5", "6", "7", "8", "9", "12", "25", "40", "45", "47", "66", "67", "69", "1000", "1002", "1003", "1004", "1005", "1006",
	"1007", "1015", "1016", "1036", "1047", "1048", "1049", "2004", "2026", "2027", "2031", "2048", "80", "8452", "31337",
}

// piece is one text or control.
func (g generator) piece() string {
	switch g.r.IntN(30) {
	case 0, 1, 2, 3, 4, 5, 6:
		return g.pick(texts...)
	case 7:
		return strings.Repeat(g.pick("x", "日", "ab", "❤️", "e\u0301", "👍🏽 "), 1+g.r.IntN(40))
	case 8, 9:
		return g.pick("\n", "\r\n", "\r", "\b", "\t", "\v", "\f", "\x0e", "\x0f", "\a", "\x00", "\x18", "\x1a", "\x7f")
	case 10, 11:
		return "\x1b[" + g.num() + ";" + g.num() + "H"
	case 12, 13, 14:
		return "\x1b[" + g.nums(3) + g.pick(strings.Split("ABCDEFGHIJKLMPSTXZ@`abdefgrsu^", "")...)
	case 15, 16:
		return g.sgr()
	case 17, 18, 19:
		nums := g.pick(decNums...)
		if g.r.IntN(3) == 0 {
			nums += ";" + g.pick(decNums...)
		}
		return "\x1b[?" + nums + g.pick("h", "h", "h", "l", "l", "s", "r", "$p")
	case 20:
		return "\x1b[" + g.pick("4", "20", "2") + g.pick("h", "l", "$p")
	case 21, 22:
		return "\x1b" + g.pick("7", "8", "D", "E", "M", "H", "N", "O", "n", "o", "=", ">", "6", "9", "#8", "#3", "#4", "#5", "#6", "#6", "(0", "(B", ")0", "*A", "+0", "(A", "%G", "\\", "c", "Z", "\"%5")
	case 23:
		return "\x1b[" + g.nums(4) + g.pick(" @", " A", "'}", "'~", " q", "\"q", "!p", "$x", "$z", "${", "$v", "#{", "#}", "#p", "#q", "*y")
	case 24:
		return "\x1b[?" + g.nums(1) + g.pick("J", "K", "W", "n", "m", "u", "S")
	case 25:
		return "\x1b[" + g.pick(">", "=", "<") + g.nums(2) + g.pick("u", "u", "u", "m", "n", "c", "q")
	case 26:
		return g.osc()
	case 27:
		return g.pick("\x1bP", "\x1b_", "\x1bX", "\x1b^") + g.pick("$qm", "$q\"p", "+q544e;zz", "q#0;2;0", "q#1~~-#2!40~", "0;1q\"1;1;30;50#5~?~$#6?~-!9~", "7;1q!300~", "Gf=32;AAAA", "Gi=1,a=q;AA", "Ga=T,f=24,s=2,v=2,i=3,c=3,r=2;AQIDBAUGBwgJCgsM", "Ga=t,s=1,v=1,i=7;AQIDBA==", "Ga=p,i=7,c=2", "Ga=p,i=7,p=2,C=1,r=1,z=-1", "Ga=p,I=4", "Ga=d",
			"Ga=d,d=I,i=7", "Ga=d,d=C", "Ga=d,d=q,x=1,y=1,z=-1", "Ga=T,f=24,s=2,v=2,m=1,i=9;AQIDBAUG", "Gm=1;BwgJ", "Gm=0;CgsM", "Ga=T,U=1,i=5,s=1,v=1,c=2,r=2,I=4;AQIDBA==", "Ga=q,i=7", "G", "den;", "tmux;x", "1;2|x") + g.pick("\x1b\\", "\x1b\\", "", "\a", "\x18")
	case 28:
		return g.private()
	}
	return "\x1b[" + g.nums(2) + g.pick("t", "n", "c", "x", "22;0t", "22;2t", "23;1t", "23t")
}

func (g generator) sgr() string {
	var list []string
	for range 1 + g.r.IntN(3) {
		list = append(list, g.pick("", "0", "1", "2", "3", "4", "4:3", "4:0", "5", "7", "8", "9", "21", "22", "24", "27", "29", "31", "39", "42", "49", "53", "55",
			"94", "105", "38;5;208", "48;5;17", "38:2::1:2:3", "48;2;9;8;7", "58:5:9", "58:2::4:5:6", "59", "38", "48;2", "58:2", "4:9", "38:5:999",
			fmt.Sprintf("38;2;%d;%d;%d", g.r.IntN(256), g.r.IntN(256), g.r.IntN(256))))
	}
	return "\x1b[" + strings.Join(list, ";") + "m"
}

func (g generator) osc() string {
	return "\x1b]" + g.pick("0;title ✳", "1;icon", "2;\xff\xfe", "4;1;rgb:11/22/33", "4;1;?;2;#123", "7;file://h/tmp", "8;;http://a/", "8;id=x;http://b/;c",
		"8;;", "9;note", "9;4;1;50", "9;4;0", "99;i=1:p=body;x", "5;1;?", "5;0;red", "105", "10;?", "10;red;#000", "11;#aabbcc", "12;?", "52;c;aGk=", "52;c;?", "52;$(x);?", "52;c;!", "104", "104;1", "110", "111", "112",
		"133;A", "133;B", "133;C", "133;D;1", "133;L", "777;notify;a;b", "999999;x", "l", "") + g.pick("\a", "\a", "\x1b\\", "\x1b\\", "", "\x1b", "\x18")
}

func (g generator) private() string {
	n := g.num()
	return "\x1b_den;" + g.pick("wrap", "join", "end", "end;e282", "end;ff", "end;e282ac", "prompt;"+n, "first;"+n, "anchor;"+n+";"+g.num(), "at;"+n+";"+g.num(), "below;"+n+";"+g.num(), "below;1;1", "tabs;"+n, "modes;ff;3", "modes;ffffffffffffffff;1",
		"tiles;"+n+";"+g.num()+";"+g.num(), "clip;aGk=", "clip;!!", "clip;", "last;1;0;61", "last;3;1;f09f91a9e2808d", "last;4;1;f09f87a9", "last;1;1;61", "last;2;1;f09f91a9", "last;0;0;e29da4efb88f", "last;0;1;e29da4efb88f", "last;"+n+";0;", "x") + "\x1b\\"
}

func (g generator) stream(pieces int) []byte {
	var b []byte
	for range pieces {
		p := g.piece()
		if g.r.IntN(40) == 0 && len(p) > 1 {
			p = p[:g.r.IntN(len(p))]
		}
		b = append(b, p...)
	}
	return b
}
