package cell

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An output that is more than the file may have keeps its begin and its very end,
// and says what is missing between them.
func TestSinkBeyondItsFile(t *testing.T) {
	s := NewSink(filepath.Join(t.TempDir(), "out"))
	s.max = 1 << 20
	const lines = 400_000
	for i := range lines {
		s.Line(fmt.Appendf(nil, "line %d", i))
	}
	var r Result
	if err := s.Close(&r, Limit{Lines: 6}); err != nil {
		t.Fatal(err)
	}
	if !r.Truncated || r.OutputLacks == "" || !strings.HasSuffix(r.Output, fmt.Sprintf("\nline %d", lines-1)) {
		t.Errorf("truncated %v, lacks %q", r.Truncated, r.OutputLacks)
	}
	f, err := os.Open(r.OutputFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, cut, err := CutFile(f, 6)
	if err != nil || !cut || !strings.HasPrefix(text, "line 0\nline 1\nline 2\n[... ") || !strings.HasSuffix(text, fmt.Sprintf("\nline %d\nline %d\nline %d", lines-3, lines-2, lines-1)) {
		t.Errorf("%q %v", text, err)
	}
	raw, err := os.ReadFile(r.OutputFile)
	if err != nil || !bytes.Contains(raw, []byte("\n[... "+r.OutputLacks+" ...]\n")) {
		t.Errorf("the file does not say what it lacks: %v", err)
	}
}

// A line without an end is not held in memory.
func TestSinkOfParts(t *testing.T) {
	s := NewSink(filepath.Join(t.TempDir(), "out"))
	part := bytes.Repeat([]byte("x"), 64<<10)
	for range 100 {
		s.Part(part)
	}
	s.Line([]byte("end"))
	var r Result
	if err := s.Close(&r, Limit{}); err != nil {
		t.Fatal(err)
	}
	if want := strings.Repeat("x", 100*64<<10) + "end"; r.Output != want || r.Truncated {
		t.Errorf("%d bytes, want %d", len(r.Output), len(want))
	}
}

// What stands behind the output for now is in the file only until more comes.
func TestSinkProgress(t *testing.T) {
	for _, lines := range []int{100, 100_000} {
		s := NewSink(filepath.Join(t.TempDir(), "out"))
		var all strings.Builder
		for i := range lines {
			fmt.Fprintf(&all, "line %d\n", i)
			s.Line(fmt.Appendf(nil, "line %d", i))
		}
		for range 2 {
			var r Result
			if err := s.Progress(&r, "go on? ", Limit{Lines: 8}); err != nil {
				t.Fatal(err)
			}
			raw, err := os.ReadFile(r.OutputFile)
			if err != nil || string(raw) != all.String()+"go on? \n" {
				t.Errorf("%d lines: the file has %d bytes (%v)", lines, len(raw), err)
			}
		}
		s.Line([]byte("go on? yes"))
		s.Line([]byte("done"))
		var r Result
		if err := s.Close(&r, Limit{Lines: 8}); err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(r.OutputFile)
		if err != nil || string(raw) != all.String()+"go on? yes\ndone\n" {
			t.Errorf("%d lines: the file has %d bytes (%v)", lines, len(raw), err)
		}
	}
}
