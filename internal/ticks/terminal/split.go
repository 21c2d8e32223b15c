package terminal

import "bytes"

// edge is a sequence of output at which a view must look at the screen before
// or after it takes effect.
type edge int

const (
	noEdge      edge = iota
	cutEdge          // the output ends within a sequence that may be an edge
	eraseBelow       // from the cursor to the end of the screen
	eraseScreen      // all of the screen
	eraseOther       // another part of the screen, or the scrollback
	alternate        // switches to the alternate screen
	reset            // of the terminal
)

// maxEdge is the longest sequence that is held back when it is not complete. A
// longer one is no edge.
const maxEdge = 32

// findEdge returns the first edge in p: it is p[from:to]. Without one, from is
// len(p).
func findEdge(p []byte) (from, to int, kind edge) {
	for from = 0; ; from++ {
		i := bytes.IndexByte(p[from:], 0x1b)
		if i < 0 {
			return len(p), len(p), noEdge
		}
		from += i
		if n, kind := edgeAt(p[from:]); kind != noEdge {
			return from, from + n, kind
		}
	}
}

// edgeAt returns the length and the kind of the sequence that p begins with.
func edgeAt(p []byte) (n int, kind edge) {
	switch {
	case len(p) == 1:
		return 1, cutEdge
	case p[1] == 'c':
		return 2, reset
	case p[1] != '[':
		return 0, noEdge
	}
	end := 2
	for end < len(p) && p[end] >= '0' && p[end] <= '?' {
		end++
	}
	if end == len(p) && end < maxEdge {
		return end, cutEdge
	}
	if end == len(p) {
		return 0, noEdge
	}
	params := string(p[2:end])
	switch {
	case p[end] == 'J':
		return end + 1, erase(params)
	case p[end] == 'h' && isAlternate(params):
		return end + 1, alternate
	}
	return 0, noEdge
}

func erase(params string) edge {
	switch params {
	case "", "0", "?", "?0":
		return eraseBelow
	case "2", "?2":
		return eraseScreen
	}
	return eraseOther
}

// isAlternate reports whether a list of private modes has one of those that
// switch to the alternate screen.
func isAlternate(params string) bool {
	list, private := bytes.CutPrefix([]byte(params), []byte("?"))
	if !private {
		return false
	}
	for _, mode := range bytes.Split(list, []byte(";")) {
		switch string(mode) {
		case "47", "1047", "1049":
			return true
		}
	}
	return false
}
