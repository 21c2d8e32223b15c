package session

import (
	"testing"

	"den/internal/session/cell"
	"den/internal/session/home"
)

// A session that is killed while its cell is polled: the cell ended first, and
// the poll must not tell another end.
func TestPollOfACellThatEndsMeanwhile(t *testing.T) {
	t.Parallel()
	ended := false
	load := func() (cell.Record, error) {
		r := cell.Record{Result: cell.Result{CellID: "c", Status: cell.Running}}
		if ended {
			r.Status, r.Output, r.By = cell.Failed, "interrupted", cell.ByInt
		}
		return r, nil
	}
	reconcile := func() (*home.Manifest, error) {
		ended = true
		return &home.Manifest{Status: home.Destroyed}, nil
	}
	if r, err := pollRecord(load, reconcile); err != nil || r.Output != "interrupted" || r.By != cell.ByInt {
		t.Errorf("poll: %+v, %v; the record says that it was interrupted", r, err)
	}
}
