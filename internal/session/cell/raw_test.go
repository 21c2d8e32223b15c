package cell_test

import (
	"bytes"
	"iter"
	"testing"

	"den/internal/session/cell"
)

func TestCopyRaw(t *testing.T) {
	const c, d = "\x1b]133;C;den=tok\x1b\\", "\x1b]133;D;0;den=tok\x1b\\"
	for _, tt := range []struct{ name, stream, want string }{
		{"no marks", "echo hi\r\nhi\r\n>>> ", "echo hi\r\nhi\r\n>>> "},
		{"marked", "echo hi\r\n" + c + "hi\r\n" + d + "$ ", "hi\r\n"},
		{"several commands", "a\r\n" + c + "1\r\n" + d + c + "2\r\n" + d + "$ ", "1\r\n" + d + c + "2\r\n"},
		{"begun, never ended", "a\r\n" + c + "1\r\n\x00\xff", "1\r\n\x00\xff"},
		{"nothing ran", d + "$ ", d + "$ "},
		{"nothing at all", "", ""},
	} {
		for size := 1; size <= len(tt.stream)+1; size++ { // any split gives the same
			parts := func() iter.Seq2[[]byte, error] {
				return func(yield func([]byte, error) bool) {
					for p := []byte(tt.stream); len(p) > 0; {
						n := min(size, len(p))
						if !yield(p[:n], nil) {
							return
						}
						p = p[n:]
					}
				}
			}
			var got bytes.Buffer
			if err := cell.CopyRaw(&got, parts); err != nil {
				t.Fatal(err)
			}
			if got.String() != tt.want {
				t.Errorf("%s, %d at a time: %q, want %q", tt.name, size, got.String(), tt.want)
			}
		}
	}
}
