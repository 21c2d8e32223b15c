package cli

import (
	"bytes"
	"io"
	"iter"

	"den/internal/cell"
	"den/internal/eventlog"
	"den/internal/home"
)

// printResult prints a cell's result: its rendered output, or the bytes.
func (a *app) printResult(d home.Dir, r cell.Result, raw bool) error {
	if !raw {
		return a.printCell(r)
	}
	rec, err := cell.Store{Dir: d.Cells()}.Load(r.CellID)
	if err != nil {
		return err
	}
	log, err := eventlog.Open(d.Log())
	if err != nil {
		return err
	}
	parts := func() iter.Seq2[[]byte, error] { return cellBytes(log, rec) }
	if !a.json {
		return cell.CopyRaw(a.stdout, parts)
	}
	var b bytes.Buffer
	if err := cell.CopyRaw(&b, parts); err != nil {
		return err
	}
	answer := struct {
		cell.Result
		Raw []byte `json:"raw"`
	}{r, append([]byte{}, b.Bytes()...)}
	return a.answer(answer, func(io.Writer) {})
}

// cellBytes is the session's output while the cell ran.
func cellBytes(log *eventlog.Log, rec cell.Record) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for e, err := range log.Events(rec.StartSeq) {
			if err != nil {
				yield(nil, err)
				return
			}
			if rec.EndSeq > 0 && e.Seq > rec.EndSeq {
				return
			}
			if p, ok := e.Output(); ok && !yield(p, nil) {
				return
			}
		}
	}
}
