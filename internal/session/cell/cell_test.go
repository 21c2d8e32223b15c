package cell_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/base/ident"
	"den/internal/screen/vt"
	"den/internal/session/cell"
)

func TestPrompts(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{">>> ", ">>> ", true}, {"In [1]: ", "In [27]: ", true}, {"12:03 $ ", "14:59 $ ", true},
		{">>> ", "... ", false}, {"sqlite> ", "   ...> ", false}, {"$ ", "name? ", false},
	} {
		if got := cell.SamePrompt(c.a, c.b); got != c.same {
			t.Errorf("SamePrompt(%q, %q) = %v", c.a, c.b, got)
		}
	}
	for prompt, primary := range map[string]string{"... ": ">>> ", "> ": "$ ", "   ...> ": "sqlite> ", "dquote> ": "% ", "db-# ": "db=# ", "    -> ": "mysql> "} {
		if !cell.IsContinuation(prompt, primary) {
			t.Errorf("%q after %q is not seen as a continuation", prompt, primary)
		}
	}
	for prompt, primary := range map[string]string{">>> ": ">>> ", "name? ": ">>> ", "Password: ": "$ ", "(gdb) ": "$ "} {
		if cell.IsContinuation(prompt, primary) {
			t.Errorf("%q after %q is taken for a continuation", prompt, primary)
		}
	}
}

// collect feeds output in parts, as a host does, and returns what a cell that
// began at the cursor printed.
func collect(t *testing.T, before, output string, scrollback, part int, echo *string) cell.Result {
	t.Helper()
	term := vt.New(vt.Config{Cols: 20, Rows: 5, Scrollback: scrollback})
	term.Write([]byte(before))
	sink := cell.NewSink(filepath.Join(t.TempDir(), "out"))
	c := cell.NewCollector(sink, term.ScreenLine()+int64(term.Cursor().Row), term.Cursor().Col, 0)
	if echo != nil {
		c.Expect(*echo)
	}
	for out := []byte(output); len(out) > 0; {
		n := min(part, len(out))
		term.Write(out[:n])
		out = out[n:]
		c.Scrolled(term, term.ScreenLine())
	}
	c.Finish(term, term.ScreenLine()+int64(term.Cursor().Row), term.Cursor().Col)
	var r cell.Result
	if err := sink.Close(&r, cell.Limit{}); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCollector(t *testing.T) {
	var many strings.Builder
	for i := range 500 {
		fmt.Fprintf(&many, "%d\r\n", i)
	}
	want := strings.TrimSuffix(strings.ReplaceAll(many.String(), "\r", ""), "\n")
	echo := "the code"
	for name, c := range map[string]struct {
		before, output, want string
		echo                 *string
	}{
		"lines":            {"$ x\r\n", "one\r\n\r\n  two  \r\n", "one\n\n  two  ", nil},
		"no newline":       {"", "abc", "abc", nil},
		"nothing":          {"$ ", "", "", nil},
		"wrapped":          {"", strings.Repeat("x", 47) + "\r\ny", strings.Repeat("x", 47) + "\ny", nil},
		"redrawn":          {"", "1%\r50%\r100%\r\ndone", "100%\ndone", nil},
		"scrolled":         {"old\r\n", many.String(), want, nil},
		"wide":             {"", "日本 é\r\n", "日本 é", nil},
		"echo":             {">>> ", "the code\r\nresult\r\n", "result", &echo},
		"echo off":         {">>> ", "result\r\n", "result", &echo},
		"same as the echo": {">>> ", "the code\r\nthe code\r\n", "the code", &echo},
		"broken echo":      {">>> ", "the \r\ncod\r\ne\r\nresult\r\n", "result", &echo},
		"no end of it":     {">>> ", "the \r\ncod\r\nresult\r\n", "the \ncod\nresult", &echo},
		"begin of it":      {">>> ", "the \r\n", "the ", &echo},
	} {
		for _, part := range []int{1, 7, 64} {
			if got := collect(t, c.before, c.output, 1000, part, c.echo); got.Output != c.want {
				t.Errorf("%s in parts of %d: %q, want %q", name, part, got.Output, c.want)
			}
		}
	}
}

// An editor that draws its lines itself, at the bottom of the screen: if the
// terminal echoes Enter meanwhile, the result is written over the code.
func TestCollectorRedrawn(t *testing.T) {
	for name, output := range map[string]string{
		"drawn":     "\x1b[1G1> 2+2\x1b[1G\r\n=> 4\r\n",
		"with echo": "\r\n\x1b[1G1> 2+2\x1b[1G\x1b[1B\x1b[K=> 4\r\n",
	} {
		term := vt.New(vt.Config{Cols: 20, Rows: 5, Scrollback: 100})
		term.Write([]byte("\r\n\r\n\r\n\r\n1> "))
		sink := cell.NewSink(filepath.Join(t.TempDir(), "out"))
		c := cell.NewCollector(sink, term.ScreenLine()+4, term.Cursor().Col, 0)
		c.ExpectRedrawn("2+2", "1> ")
		term.Write([]byte(output))
		c.Scrolled(term, term.ScreenLine())
		c.Finish(term, term.ScreenLine()+int64(term.Cursor().Row), term.Cursor().Col)
		var r cell.Result
		if err := sink.Close(&r, cell.Limit{}); err != nil {
			t.Fatal(err)
		}
		if r.Output != "=> 4" {
			t.Errorf("%s: %q", name, r.Output)
		}
	}
}

// The same with an input of several lines: the editor draws all of them one row too
// low, and the result over the last.
func TestCollectorRedrawnLines(t *testing.T) {
	term := vt.New(vt.Config{Cols: 20, Rows: 5, Scrollback: 100})
	term.Write([]byte("\r\n\r\n1* def f\r\n2*   g\r\n3* "))
	sink := cell.NewSink(filepath.Join(t.TempDir(), "out"))
	c := cell.NewCollector(sink, term.ScreenLine()+4, term.Cursor().Col, 0)
	c.ExpectRedrawn("end", "1> ", "def f", "  g", "end", "", "f")
	for _, part := range []string{"\r\n\x1b[1G3* end\x1b[2A", "\x1b[1G1* def f\x1b[1B\x1b[1G2*   g\x1b[1B\x1b[1G3> end\x1b[1G\x1b[1B\x1b[1G\x1b[K=> :f\r\n"} {
		term.Write([]byte(part))
		c.Above(term.ScreenLine() + int64(term.Cursor().Row))
		c.Scrolled(term, term.ScreenLine())
	}
	c.Finish(term, term.ScreenLine()+int64(term.Cursor().Row), term.Cursor().Col)
	var r cell.Result
	if err := sink.Close(&r, cell.Limit{}); err != nil {
		t.Fatal(err)
	}
	if r.Output != "=> :f" {
		t.Errorf("%q", r.Output)
	}
}

func TestSinkKeepsMuchInAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	s := cell.NewSink(path)
	var want bytes.Buffer
	for i := range 200_000 {
		fmt.Fprintf(&want, "line %d\n", i)
		s.Line(fmt.Appendf(nil, "line %d", i))
	}
	var r cell.Result
	if err := s.Close(&r, cell.Limit{}); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(kept, want.Bytes()) {
		t.Fatalf("the file has %d bytes (%v), want %d", len(kept), err, want.Len())
	}
	if r.OutputFile != path || r.Truncated || r.Output+"\n" != want.String() {
		t.Errorf("result: file %q, truncated %v, %d bytes", r.OutputFile, r.Truncated, len(r.Output))
	}
}

// Of an output that is too long for an answer, its size tells whether the file
// has all of it.
func TestLongOutputTellsItsSize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	s := cell.NewSink(path)
	line := bytes.Repeat([]byte("x"), 1023)
	const lines = 9 << 10
	for range lines {
		s.Line(line)
	}
	var r cell.Result
	if err := s.Close(&r, cell.Limit{}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || !r.Truncated || r.OutputFile != path || r.OutputBytes != lines<<10 || info.Size() != r.OutputBytes {
		t.Errorf("truncated %v, %d bytes in all, %v", r.Truncated, r.OutputBytes, err)
	}
}

func TestSinkCrossesToAnotherBinary(t *testing.T) {
	for _, lines := range []int{10, 50_000} {
		path := filepath.Join(t.TempDir(), "out")
		s := cell.NewSink(path)
		var want strings.Builder
		for i := range lines {
			if i == lines/2 {
				state, err := s.State()
				if err != nil {
					t.Fatal(err)
				}
				if s, err = cell.ResumeSink(path, state); err != nil {
					t.Fatal(err)
				}
			}
			fmt.Fprintf(&want, "line %d\n", i)
			s.Line(fmt.Appendf(nil, "line %d", i))
		}
		var r cell.Result
		if err := s.Close(&r, cell.Limit{}); err != nil {
			t.Fatal(err)
		}
		if r.Output+"\n" != want.String() {
			t.Errorf("%d lines became %d bytes, want %d", lines, len(r.Output)+1, want.Len())
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		text string
		max  int
		want string
	}{
		{"a\nb\nc", 0, "a\nb\nc"}, {"a\nb\nc", 3, "a\nb\nc"},
		{"a\nb\nc", 1, "a\n[... 2 lines left out ...]"}, {"a\nb\nc", 2, "a\n[... 1 lines left out ...]\nc"},
		{"a\nb\nc\nd\ne", 3, "a\nb\n[... 2 lines left out ...]\ne"},
		{"a\nb\nc\nd\ne", 4, "a\nb\n[... 1 lines left out ...]\nd\ne"},
	} {
		if got, _ := cell.Cut(c.text, c.max); got != c.want {
			t.Errorf("Cut(%q, %d) = %q", c.text, c.max, got)
		}
	}
}

func TestStore(t *testing.T) {
	s := cell.Store{Dir: filepath.Join(t.TempDir(), "cells")}
	if _, err := s.Load(""); fault.KindOf(err) != fault.NotFound {
		t.Errorf("no cell yet: %v", err)
	}
	id := ident.New(time.Now())
	begin(t, s, cell.Record{Result: cell.Result{CellID: id, Status: cell.Done, Output: "x"}})
	for _, ref := range []string{"", id} {
		if r, err := s.Load(ref); err != nil || r.Output != "x" {
			t.Errorf("Load(%q) = %+v, %v", ref, r, err)
		}
	}
	for _, bad := range []string{"../x", "x", "last"} {
		if _, err := s.Load(bad); fault.KindOf(err) != fault.Usage {
			t.Errorf("Load(%q) = %v", bad, err)
		}
	}
	if _, err := s.Load(ident.New(time.Now())); fault.KindOf(err) != fault.NotFound {
		t.Errorf("an unknown cell: %v", err)
	}
}
