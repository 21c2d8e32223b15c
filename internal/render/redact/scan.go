package redact

// softBreak stands in a scanned text where a program moved the cursor to the
// beginning of a row: the text may go on there, or be another.
const softBreak = 0x01

// hardBreak stands where the cursor went elsewhere.
const hardBreak = 0x02

// scanner takes the text out of what a program wrote: without the sequences
// that colour it, and with the place of each byte in the stream.
type scanner struct {
	state state
	param []byte // of the sequence at hand

	text []byte
	at   []int // for each byte of text: its place in the stream
	// strs are the places of titles, links and the like: they are text too.
	strs []Span
	open int // where the string at hand began
}

type state uint8

const (
	ground state = iota
	escape
	intermediate
	csi
	osc
	oscEscape
	str // DCS, APC, PM, SOS
	strEscape
)

// scan takes bytes whose first one is at place pos.
func (s *scanner) scan(p []byte, pos int) {
	for i, c := range p {
		s.byte(c, pos+i)
	}
}

func (s *scanner) byte(c byte, pos int) {
	switch s.state {
	case ground:
		s.groundByte(c, pos)
	case escape:
		s.escapeByte(c, pos)
	case intermediate:
		if c >= 0x30 {
			s.state = ground
		}
	case csi:
		switch {
		case c == 0x1b:
			s.state = escape
		case c >= 0x40 && c <= 0x7e:
			s.state = ground
			s.control(c, pos)
		default:
			s.param = append(s.param, c)
		}
	case osc, str:
		switch c {
		case 0x1b:
			s.state++
		case 0x07, 0x18, 0x1a:
			s.endString(pos)
		}
	case oscEscape, strEscape:
		s.endString(pos - 1)
		if c != '\\' {
			s.state = escape
			s.escapeByte(c, pos)
		}
	}
}

func (s *scanner) endString(pos int) {
	if s.state == osc || s.state == oscEscape {
		s.strs = append(s.strs, Span{s.open, pos})
	}
	s.state = ground
}

func (s *scanner) escapeByte(c byte, pos int) {
	s.param = s.param[:0]
	switch {
	case c == '[':
		s.state = csi
	case c == ']':
		s.state, s.open = osc, pos+1
	case c == 'P' || c == 'X' || c == '^' || c == '_':
		s.state = str
	case c == 0x1b:
	case c < 0x30:
		s.state = intermediate
	default:
		s.state = ground
	}
}

func (s *scanner) groundByte(c byte, pos int) {
	switch {
	case c == 0x1b:
		s.state = escape
	case c == '\n':
		if n := len(s.text); n > 0 && s.text[n-1] == '\r' {
			s.text, s.at = s.text[:n-1], s.at[:n-1]
		}
		s.put(c, pos)
	case c == '\r':
		// A line editor that wraps writes a space and comes back: no break.
		if n := len(s.text); n > 1 && s.text[n-1] == ' ' && s.text[n-2] > ' ' {
			s.text, s.at = s.text[:n-1], s.at[:n-1]
			s.put(softBreak, pos)
			return
		}
		s.put(c, pos)
	case c == '\b':
		if n := len(s.text); n > 0 && s.text[n-1] >= ' ' {
			s.text, s.at = s.text[:n-1], s.at[:n-1]
		}
	case c == '\t', c >= ' ' && c != 0x7f:
		s.put(c, pos)
	}
}

// control takes a sequence that moves the cursor as the break that it is.
func (s *scanner) control(final byte, pos int) {
	switch final {
	case 'H', 'f':
		if column(s.param) == 1 {
			s.put(softBreak, pos)
		} else {
			s.put(hardBreak, pos)
		}
	case 'C', 'a':
		s.put(' ', pos)
	case 'A', 'B', 'D', 'E', 'F', 'G', 'd', '`', 'e', 'r':
		s.put(hardBreak, pos)
	}
}

// column is the second parameter of a cursor position.
func column(param []byte) int {
	n, second := 0, false
	for _, c := range param {
		switch {
		case c == ';' && second:
			return n
		case c == ';':
			second = true
		case second && c >= '0' && c <= '9':
			n = min(n*10+int(c-'0'), 1<<16)
		}
	}
	return max(n, 1)
}

func (s *scanner) put(c byte, pos int) {
	s.text, s.at = append(s.text, c), append(s.at, pos)
}
