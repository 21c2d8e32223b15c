package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"den/internal/base/atomicfile"
	"den/internal/base/journal"
)

// model is what a journal must be: the lines of its files, the newest last. A
// half line is one that a crash left.
type model struct {
	files [][]string
	half  string
}

func (m *model) newest() *[]string { return &m.files[len(m.files)-1] }

// FuzzFile does to a file what the steps say, and to a model of it: whatever
// happens, whole lines stay, in order.
func FuzzFile(f *testing.F) {
	f.Add([]byte("aaaa"))
	f.Add([]byte("aacaarraaocaaxax"))
	f.Add([]byte("acacrcacrcaxca"))
	f.Add([]byte("arararararaa"))
	const kept = 2
	f.Fuzz(func(t *testing.T, steps []byte) {
		path := filepath.Join(t.TempDir(), "f")
		file := journal.New(path)
		defer func() { file.Close() }()
		m := model{files: [][]string{nil}}
		there := false // the newest file is
		for i, step := range steps[:min(len(steps), 60)] {
			line := fmt.Sprintf("%d %s", i, strings.Repeat("x", i%7))
			var err error
			switch step {
			case 'a', 'b': // append
				err = file.Append([]byte(line))
				if m.half != "" {
					*m.newest() = append(*m.newest(), m.half)
					m.half = ""
				}
				*m.newest() = append(*m.newest(), line)
				there = true
			case 'c': // a crash in the middle of a write
				err = file.Close()
				file = journal.New(path)
				if there && m.half == "" {
					m.half = "torn"
					err = errors.Join(err, add(path, m.half))
				}
			case 'o': // another process
				err = file.Close()
				file = journal.New(path)
			case 'r': // rotate
				if err = file.Rotate(kept); there {
					m.files = append(m.files, nil)
					m.half = ""
					there = false
				}
				m.files = m.files[max(0, len(m.files)-kept-1):]
			case 'x': // compact
				err = file.Rewrite([]byte(line+"\n"), atomicfile.Replace)
				*m.newest() = []string{line}
				m.half, there = "", true
			}
			if err != nil {
				t.Fatalf("step %d, %c: %v", i, step, err)
			}
		}
		var got []string
		if err := journal.Read(path, journal.Limits{Bytes: 1 << 20, Kept: kept}, func(line []byte) error {
			got = append(got, string(line))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if want := slices.Concat(m.files...); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", steps, got, want)
		}
		if data, err := os.ReadFile(path); err == nil {
			for last := range slices.Values(m.files[len(m.files)-1:]) {
				var newest string
				journal.Last(data, func(line []byte) bool { newest = string(line); return true })
				if len(last) > 0 && newest != last[len(last)-1] {
					t.Errorf("%s: the last line is %q of %q", steps, newest, last)
				}
			}
			if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o600 {
				t.Errorf("%v, %v", fi, err)
			}
		}
	})
}

func add(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// Lines of any length are told apart, and their places known.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\n\nbb\nhalf"), 3)
	f.Add([]byte("toolong\nok\n"), 2)
	f.Add(bytes.Repeat([]byte("x"), 200), 16)
	f.Fuzz(func(t *testing.T, data []byte, most int) {
		if most < 1 || most > 1<<20 {
			return
		}
		at := int64(0)
		whole, err := journal.Lines(bytes.NewReader(data), most, func(line []byte, end int64) error {
			want := data[at : end-1]
			if data[end-1] != '\n' || bytes.IndexByte(want, '\n') >= 0 {
				t.Fatalf("%q is no line", data[at:end])
			}
			if (line == nil) != (len(want) > most) || line != nil && !bytes.Equal(line, want) {
				t.Fatalf("%q, want %q of at most %d", line, want, most)
			}
			at = end
			return nil
		})
		if err != nil || whole != at || bytes.IndexByte(data[at:], '\n') >= 0 {
			t.Errorf("%d of %d, %v", whole, at, err)
		}
	})
}

// A long line is one, whatever the buffer's size.
func TestLongLines(t *testing.T) {
	long := strings.Repeat("x", 200<<10)
	var got []int
	if _, err := journal.Lines(strings.NewReader("a\n"+long+"\n"+long+"x\nb\n"), len(long), func(line []byte, _ int64) error {
		if line == nil {
			got = append(got, -1)
		} else {
			got = append(got, len(line))
		}
		return nil
	}); err != nil || !slices.Equal(got, []int{1, len(long), -1, 1}) {
		t.Errorf("%v, %v", got, err)
	}
}

// A full disk is an error, and the next line is whole.
func TestFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.Symlink("/dev/full", path); err != nil {
		t.Fatal(err)
	}
	file := journal.New(path)
	if err := file.Append([]byte("lost")); err == nil {
		t.Fatal("a full disk took a line")
	}
	if err := errors.Join(file.Close(), os.Remove(path), file.Append([]byte("a")), file.Close()); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(path); string(data) != "a\n" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
}
