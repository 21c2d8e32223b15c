package cell

import (
	"bytes"
	"io"
	"iter"
)

// The begin of den's own prompt marks in a shell's output, and their end.
var (
	markC   = []byte("\x1b]133;C;den=")
	markD   = []byte("\x1b]133;D;")
	markEnd = []byte("\x1b\\")
)

// CopyRaw copies a cell's raw output to w. parts yields the session's output
// between the cell's begin and end; it is iterated twice. If the shell marked
// its command, echo and prompt are left out. Otherwise they stay, because they
// cannot be told apart from output.
func CopyRaw(w io.Writer, parts func() iter.Seq2[[]byte, error]) error {
	from, to, err := marked(parts())
	if err != nil {
		return err
	}
	at := int64(0)
	for p, err := range parts() {
		if err != nil {
			return err
		}
		first, last := max(from-at, 0), int64(len(p))
		if to >= 0 {
			last = min(last, to-at)
		}
		at += int64(len(p))
		if first >= last {
			continue
		}
		if _, err := w.Write(p[first:last]); err != nil {
			return err
		}
	}
	return nil
}

// marked returns the range of the command's output: after the first C mark and
// before the last D mark. Without marks it returns 0 and -1.
func marked(parts iter.Seq2[[]byte, error]) (from, to int64, err error) {
	to = -1
	at, begun := int64(0), false // at is where window begins
	var window []byte
	for p, err := range parts {
		if err != nil {
			return 0, 0, err
		}
		window = append(window, p...)
		if i := bytes.Index(window, markC); !begun && i >= 0 {
			if j := bytes.Index(window[i:], markEnd); j >= 0 {
				begun = true
				from = at + int64(i+j+len(markEnd))
			}
		}
		if i := bytes.LastIndex(window, markD); begun && i >= 0 && at+int64(i) >= from {
			to = at + int64(i)
		}
		// A mark may go on in the next part.
		if drop := len(window) - 128; drop > 0 {
			window = append(window[:0], window[drop:]...)
			at += int64(drop)
		}
	}
	return from, to, nil
}
