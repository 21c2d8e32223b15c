package cli

import (
	"bytes"
	"io"

	"den/internal/session"
	"den/internal/session/cell"
)

// printResult prints a cell's result: its rendered output, or the bytes.
func (a *app) printResult(s *session.Session, r cell.Result, raw bool) error {
	if !raw {
		return a.printCell(r)
	}
	parts, err := s.RawOutput(r.CellID)
	if err != nil {
		return err
	}
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
