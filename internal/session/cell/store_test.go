package cell_test

import (
	"os"
	"testing"
	"time"

	"den/internal/base/ident"
	"den/internal/session/cell"
)

func TestPruneForgetsTheOldest(t *testing.T) {
	s := cell.Store{Dir: t.TempDir()}
	since := time.Unix(1_700_000_000, 0)
	var ids []string
	for i := range 10 {
		id := ident.New(since.Add(time.Duration(i) * time.Second))
		ids = append(ids, id)
		out := s.OutputPath(id)
		if err := os.WriteFile(out, make([]byte, 100), 0o600); err != nil {
			t.Fatal(err)
		}
		begin(t, s, cell.Record{Result: cell.Result{CellID: id, Status: cell.Done, OutputFile: out}})
	}
	if err := s.Prune(6, 250); err != nil {
		t.Fatal(err)
	}
	for i, id := range ids {
		r, err := s.Load(id)
		if kept := err == nil; kept != (i >= 4) {
			t.Errorf("cell %d: kept %v (%v)", i, kept, err)
		}
		// The newest stays whole; of the others two outputs fit.
		if _, err := os.Stat(s.OutputPath(id)); (err == nil) != (i >= 7) {
			t.Errorf("output of cell %d: %v", i, err)
		}
		if i >= 4 && (r.OutputFile != "") != (i >= 7) {
			t.Errorf("cell %d tells of %q", i, r.OutputFile)
		}
	}
	if r, err := s.Load(""); err != nil || r.CellID != ids[9] {
		t.Errorf("the last: %v, %v", r.CellID, err)
	}
}
