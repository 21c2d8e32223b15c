package vt

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"unicode/utf8"
)

// apcMark begins den's own APC strings, which a dump uses for what no standard
// sequence can say.
//
// They are obeyed only inside a dump: from a fresh terminal's very first bytes,
// which must be dumpIntro, to the string "end". What a program prints later,
// be it a recording that holds a dump, has no such power. A program could
// still begin with dumpIntro, so each string is checked all the same and gives
// no more than other sequences do.
const apcMark = "den;"

// dumpIntro begins a dump: CAN ends whatever sequence a terminal is in, RIS
// resets it, ED 3 empties its scrollback.
const dumpIntro = "\x18\x1bc\x1b[3J"

// restore tracks how much of a dump a terminal has read.
type restore struct {
	matched int  // bytes of dumpIntro seen; -1 once other bytes came
	open    bool // den's own strings are obeyed
	images  restoredImages
}

// watch checks the first bytes that a terminal is fed for dumpIntro.
func (r *restore) watch(p []byte) {
	for _, b := range p {
		if b != dumpIntro[r.matched] {
			r.matched = -1
			return
		}
		if r.matched++; r.matched == len(dumpIntro) {
			r.matched, r.open = -1, true
			return
		}
	}
}

// maxFirstLine and maxSeq keep row numbers and event numbers exact in JSON.
const (
	maxFirstLine = 1 << 53
	maxSeq       = 1 << 53
)

// apcReadable reports whether an APC that begins like this may be den's own.
// Kitty's graphics protocol is read, too.
func apcReadable(text []byte) bool {
	if isGraphics(text) {
		return len(text) <= maxGraphicsControl || bytes.IndexByte(text, ';') >= 0
	}
	n := min(len(text), len(apcMark))
	return string(text[:n]) == apcMark[:n]
}

func isGraphics(text []byte) bool { return len(text) > 0 && text[0] == 'G' }

func (t *Terminal) dispatchAPC(text []byte) {
	if isGraphics(text) {
		t.dispatchGraphics(text[1:])
		return
	}
	text, ok := bytes.CutPrefix(text, []byte(apcMark))
	if !ok || !t.restore.open {
		return
	}
	fields := bytes.Split(text, []byte{';'})
	args := fields[1:]
	switch string(fields[0]) {
	case "end":
		t.restore.open = false
		t.restore.images = restoredImages{}
		t.images.release()
		t.privatePartial(args)
	case "wrap":
		t.cur.pending = true
		t.forgetLast()
	case "join":
		// The row above the cursor runs on into the cursor's.
		if t.cur.y > 0 {
			t.row(t.cur.y - 1).join()
		} else if l := t.hist.last(); l != nil && !t.altActive() {
			l.join()
		}
	case "prompt":
		if n, ok := number(args, 0, 10); ok && n < uint64(CommandEnd)<<1 {
			t.row(t.cur.y).prompt = PromptMarks(n)
		}
	case "first":
		// Row numbers may skip ahead, as after much output, never back.
		if n, ok := number(args, 0, 10); ok && n <= maxFirstLine && int64(n) > t.FirstLine() {
			t.hist.first = int64(n)
		}
	case "anchor":
		up, ok1 := number(args, 0, 10)
		col, ok2 := number(args, 1, 10)
		if ok1 && ok2 && up <= uint64(t.ScrollbackLen()) && col < uint64(t.cols) {
			t.anchor = anchor{int(up), int(col)}
		}
	case "seq":
		if n, ok := number(args, 0, 10); ok && n <= maxSeq {
			t.SetSeq(n)
		}
	case "below":
		t.privateBelow(args)
	case "at":
		y, ok1 := number(args, 0, 10)
		x, ok2 := number(args, 1, 10)
		if ok1 && ok2 && x < uint64(t.cols) && y < uint64(t.rows) {
			t.moveTo(int(x), int(y))
			t.forgetLast()
		}
	case "tabs":
		t.privateTabs(args)
	case "modes":
		known, ok1 := number(args, 0, 16)
		on, ok2 := number(args, 1, 16)
		if ok1 && ok2 && known>>len(decModes) == 0 && on&^known == 0 {
			t.saved = savedModes{known, on}
		}
	case "clip":
		t.privateClipboard(args)
	case "last":
		t.privateLast(args)
	case "picture":
		t.privatePicture(args)
	case "place":
		t.privatePlace(args)
	case "tiles":
		t.privateTiles(args)
	case "image":
		t.privateName(args)
	case "virtual":
		t.privateVirtual(args)
	case "upload":
		t.privateUpload(args)
	}
}

func number(args [][]byte, i, base int) (uint64, bool) {
	if i >= len(args) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(args[i]), base, 64)
	return n, err == nil
}

// privatePartial sets the first bytes of a rune, to be finished by what comes
// after the string.
func (t *Terminal) privatePartial(args [][]byte) {
	if len(args) != 1 {
		return
	}
	b, err := hex.DecodeString(string(args[0]))
	if err == nil && len(b) > 0 && !utf8.FullRune(b) && subpart(b) == len(b) {
		t.parser.nPartial = copy(t.parser.partial[:], b)
	}
}

func (t *Terminal) privateTabs(args [][]byte) {
	var s tabStops
	for i := range s {
		w, ok := number(args, i, 16)
		if !ok {
			return
		}
		s[i] = w
	}
	t.tabs = s
}

func (t *Terminal) privateClipboard(args [][]byte) {
	if len(args) != 1 {
		return
	}
	data, err := base64.StdEncoding.DecodeString(string(args[0]))
	if err == nil && len(data) <= maxClipboard {
		t.names.clipboard = data
	}
}

// privateLast sets the character that REP repeats and that runes may join. It
// must be one that printing can make, and to be joined the one before the cursor.
func (t *Terminal) privateLast(args [][]byte) {
	join, ok1 := number(args, 0, 10)
	wide, ok2 := number(args, 1, 10)
	if !ok1 || !ok2 || len(args) != 3 || join > uint64(joinRegional) {
		return
	}
	text, err := hex.DecodeString(string(args[2]))
	if err != nil || !utf8.Valid(text) {
		return
	}
	content, state, ok := t.internText(string(text))
	if !ok {
		return
	}
	base, n := utf8.DecodeRune(text)
	second, _ := utf8.DecodeRune(text[n:])
	canWiden := t.modes.has(modeClusters) && second == emojiSelector && takesEmojiSelector(base)
	if isWide := t.propsOf(base).width() == 2; isWide != (wide == 1) && !canWiden {
		return
	}
	if wide == 1 {
		content |= cellWide
	}
	t.last = lastChar{content: content}
	l, x, ok := t.previous()
	if ok && joinState(join) == state && l.cells()[x].content() == content.content() {
		t.last.join = state
	}
}

// internText returns the content for a text that is one character, as
// printing its runes in a row would make it, and what could join it then.
func (t *Terminal) internText(text string) (content cell, join joinState, ok bool) {
	if utf8.RuneCountInString(text) > maxClusterRunes {
		return 0, 0, false
	}
	for i, r := range text {
		p := t.propsOf(r)
		switch {
		case r < 0x20 || r >= 0x7f && r < 0xa0:
			return 0, 0, false
		case i == 0:
			if p.width() == 0 {
				return 0, 0, false
			}
			content, join = cell(r), startsJoin(p&classMask)
			continue
		case p.width() == 0:
			join = join.withMark(r)
		case join.takes(p & classMask):
			join = join.with(p & classMask)
		default:
			return 0, 0, false
		}
		content = t.extend(content, r)
	}
	return content, join, content != 0
}
