package cell_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/base/ident"
	"den/internal/session/cell"
)

// begin keeps a cell's record and returns its journal, which the test's end
// closes.
func begin(t *testing.T, s cell.Store, r cell.Record) *cell.Journal {
	t.Helper()
	j, err := s.Begin(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return j
}

func save(t *testing.T, j *cell.Journal, r cell.Record) {
	t.Helper()
	if err := j.Save(r); err != nil {
		t.Fatal(err)
	}
}

// A host that dies while it writes leaves any beginning of the file: the last
// whole record counts, and what is written later counts again.
func TestJournalCutAnywhere(t *testing.T) {
	s := cell.Store{Dir: t.TempDir()}
	id := ident.New(time.Now())
	r := cell.Record{Result: cell.Result{CellID: id, Status: cell.Running}, Code: "echo '\n'"}
	j := begin(t, s, r)
	path := filepath.Join(s.Dir, id+".jsonl")
	ends := []int{len(read(t, path))}
	for i := range 3 {
		r.Output = strings.Repeat("line\n", i)
		save(t, j, r)
		ends = append(ends, len(read(t, path)))
	}
	whole := read(t, path)
	for cut := range len(whole) + 1 {
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		lines := 0
		for _, end := range ends {
			if end <= cut {
				lines++
			}
		}
		got, err := s.Load(id)
		if lines == 0 {
			if fault.KindOf(err) != fault.Storage {
				t.Fatalf("cut at %d: %v, %v", cut, got, err)
			}
		} else if want := strings.Repeat("line\n", max(lines-2, 0)); err != nil || got.Output != want {
			t.Fatalf("cut at %d: %q, %v; want %q", cut, got.Output, err, want)
		}
		later, err := s.Reopen(id)
		if err != nil {
			t.Fatal(err)
		}
		save(t, later, cell.Record{Result: cell.Result{CellID: id, Status: cell.Done, Output: "the end"}})
		if err := later.Close(); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Load(id); err != nil || got.Output != "the end" {
			t.Fatalf("cut at %d, then written: %q, %v", cut, got.Output, err)
		}
	}
}

// A program that asks without end changes its record without end.
func TestJournalIsBounded(t *testing.T) {
	s := cell.Store{Dir: t.TempDir()}
	id := ident.New(time.Now())
	r := cell.Record{Result: cell.Result{CellID: id, Status: cell.Running}}
	j := begin(t, s, r)
	for i := range 100 {
		r.Output = fmt.Sprintf("%d%s", i, strings.Repeat("x", 100<<10))
		save(t, j, r)
		if got, err := s.Load(id); err != nil || got.Output != r.Output {
			t.Fatalf("record %d: %v", i, err)
		}
	}
	if n := len(read(t, filepath.Join(s.Dir, id+".jsonl"))); n > 1<<20 {
		t.Errorf("the journal takes %d bytes", n)
	}
}

// Which cell is the last is known however many there were, and the file that
// tells stays small.
func TestLastOfMany(t *testing.T) {
	s := cell.Store{Dir: t.TempDir()}
	for i := range 500 {
		id := ident.New(time.Unix(1_700_000_000+int64(i), 0))
		j, err := s.Begin(cell.Record{Result: cell.Result{CellID: id, Status: cell.Done}})
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if r, err := s.Load(""); err != nil || r.CellID != id {
			t.Fatalf("the last is %q, %v; want %q", r.CellID, err, id)
		}
	}
	if n := len(read(t, filepath.Join(s.Dir, "last"))); n > 5<<10 {
		t.Errorf("the file that names the last takes %d bytes", n)
	}
}

func TestBeginRefusesWhatIsThere(t *testing.T) {
	s := cell.Store{Dir: t.TempDir()}
	r := cell.Record{Result: cell.Result{CellID: ident.New(time.Now()), Status: cell.Done, Output: "mine"}}
	begin(t, s, r)
	if _, err := s.Begin(r); err == nil {
		t.Error("a cell was begun twice")
	}
	if got, err := s.Load(r.CellID); err != nil || got.Output != "mine" {
		t.Errorf("then it holds %q, %v", got.Output, err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func BenchmarkRecord(b *testing.B) {
	s := cell.Store{Dir: b.TempDir()}
	r := cell.Record{Result: cell.Result{Status: cell.Running}, Code: "true"}
	for b.Loop() {
		r.CellID = ident.New(time.Now())
		j, err := s.Begin(r)
		if err != nil {
			b.Fatal(err)
		}
		if err := j.Save(r); err != nil {
			b.Fatal(err)
		}
		if err := j.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
