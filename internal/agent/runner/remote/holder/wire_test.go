package holder_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"den/internal/agent/runner/remote/holder"
)

func TestFrames(t *testing.T) {
	var b bytes.Buffer
	for i, content := range []string{"", "x", string(make([]byte, 100_000))} {
		if err := holder.WriteFrame(&b, byte('a'+i), []byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	for i, size := range []int{0, 1, 100_000} {
		kind, content, err := holder.ReadFrame(&b)
		if kind != byte('a'+i) || len(content) != size || err != nil {
			t.Errorf("frame %d: %q, %d bytes, %v", i, kind, len(content), err)
		}
	}
	if _, _, err := holder.ReadFrame(&b); err != io.EOF {
		t.Errorf("after the last: %v", err)
	}
	if err := holder.WriteFrame(&b, 'x', make([]byte, 5<<20)); err == nil {
		t.Error("a frame without bounds was written")
	}
}

// FuzzReadFrame: whatever comes, reading ends, and what was read is what was
// written.
func FuzzReadFrame(f *testing.F) {
	f.Add([]byte{'i', 0, 0, 0, 1, 'x'})
	f.Add([]byte{'i', 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{'e', 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		for {
			before := r.Len()
			kind, content, err := holder.ReadFrame(r)
			if err != nil {
				if errors.Is(err, io.EOF) && before != 0 {
					t.Errorf("%d bytes before the end were taken for none", before)
				}
				return
			}
			var again bytes.Buffer
			if err := holder.WriteFrame(&again, kind, content); err != nil {
				t.Fatal(err)
			}
			at := len(data) - before
			if !bytes.Equal(again.Bytes(), data[at:at+again.Len()]) {
				t.Errorf("%q is read as %q %q", data[at:], kind, content)
			}
		}
	})
}
