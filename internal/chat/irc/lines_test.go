package irc_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"den/internal/chat/irc"
)

// piecewise returns its data in pieces of the given sizes, over and over, with
// a failure after each, as a connection with deadlines does.
type piecewise struct {
	data  []byte
	sizes []byte
	reads int
}

var errTimeout = errors.New("timeout")

func (p *piecewise) Read(b []byte) (int, error) {
	if len(p.data) == 0 {
		return 0, io.EOF
	}
	p.reads++
	if p.reads%2 == 0 {
		return 0, errTimeout
	}
	n := len(p.data)
	if len(p.sizes) > 0 {
		n = 64*int(p.sizes[p.reads/2%len(p.sizes)]) + 1
	}
	n = copy(b[:min(n, len(b))], p.data)
	p.data = p.data[n:]
	return n, nil
}

// However the bytes arrive, each line is read once, in order, and those above
// the limit are reported in their places.
func FuzzLineReader(f *testing.F) {
	long := strings.Repeat("x", 700)
	f.Add([]byte("a\r\nb\nc"), []byte{0})
	f.Add([]byte(strings.Repeat(long+"\n", 100)), []byte{255, 0, 30})
	f.Add([]byte(strings.Repeat("short line\r\n", 5000)+long+long+"\nlast\n"), []byte{255, 255, 255, 1})
	f.Add([]byte(long[:599]+"\n"+long[:600]+"\n"+long[:601]+"\nend\n"), []byte(nil))
	f.Fuzz(func(t *testing.T, data, sizes []byte) {
		const limit = 600
		reader := irc.NewLineReader(&piecewise{data: data, sizes: sizes}, limit)
		for len(data) > 0 {
			want, rest, found := bytes.Cut(data, []byte("\n"))
			if !found {
				break
			}
			data = rest
			buffered := reader.Buffered()
			line, err := reader.Next()
			for errors.Is(err, errTimeout) {
				if buffered {
					t.Fatal("a line was said to be there, and had to be read")
				}
				line, err = reader.Next()
			}
			if len(want)+1 > limit {
				if !errors.Is(err, irc.ErrLineTooLong) {
					t.Fatalf("a line of %d bytes: %v", len(want)+1, err)
				}
				continue
			}
			if err != nil || !bytes.Equal(line, bytes.TrimSuffix(want, []byte("\r"))) {
				t.Fatalf("%q, %v, want %q", line, err, want)
			}
		}
		for err := error(errTimeout); !errors.Is(err, io.EOF); {
			var line []byte
			if line, err = reader.Next(); err == nil {
				t.Fatalf("%q comes after the end", line)
			}
		}
	})
}
