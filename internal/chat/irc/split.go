package irc

import (
	"strings"
	"unicode/utf8"
)

// Room returns how many bytes of text fit in one PRIVMSG or NOTICE so that
// others receive it whole: they see it with the sender's source in front.
func Room(source, command, target string) int {
	return MaxBody - len(":") - len(source) - len(" ") - len(command) - len(" ") - len(target) - len(" :") - len(crlf)
}

// SplitText cuts text into lines of at most room bytes. A newline begins a new
// line; empty lines, which the protocol cannot express, are left out. NUL and
// CR are removed. A line that is too long is cut before a space if there is one
// in its second half, else between two characters. Nothing else is lost: the
// pieces of a line joined give the line. With less room than the longest
// character needs, a character may be cut.
func SplitText(text string, room int) []string {
	room = max(room, 1)
	var pieces []string
	text = removeForbidden.Replace(text)
	for line := range strings.SplitSeq(text, "\n") {
		for len(line) > room {
			cut := cutPoint(line, room)
			pieces, line = append(pieces, line[:cut]), line[cut:]
		}
		if line != "" {
			pieces = append(pieces, line)
		}
	}
	return pieces
}

// A lone CR ends a line for some receivers, so it is one here too.
var removeForbidden = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "")

// cutPoint returns where to cut a line that is longer than room.
func cutPoint(line string, room int) int {
	// The space begins the next line: some servers remove it from an end.
	if space := strings.LastIndexByte(line[:room+1], ' '); space > room/2 {
		return space
	}
	for cut := room; cut > 0 && cut > room-utf8.UTFMax; cut-- {
		if utf8.RuneStart(line[cut]) {
			return cut
		}
	}
	return room // not text: no character begins here
}
