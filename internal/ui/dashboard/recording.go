package dashboard

import (
	"time"

	"den/internal/screen/eventlog"
	"den/internal/session/cell"
	"den/internal/session/home"
)

// A Recording is what can be played: the log of a session, or a file.
type Recording struct {
	key   string // by which what was read of it is kept
	open  func() (*eventlog.Log, error)
	start func() (time.Time, error) // the wall clock at its beginning
	cells string                    // the directory of their records, or ""
}

// Of is the recording of a session.
func Of(d home.Dir) Recording {
	return Recording{
		key: d.Path, cells: d.Cells(),
		open: func() (*eventlog.Log, error) { return eventlog.Open(d.Log()) },
		start: func() (time.Time, error) {
			m, err := d.Load()
			if err != nil {
				return time.Time{}, err
			}
			return m.Created, nil
		},
	}
}

// File is a recording that was exported. key tells it from all others, also
// from a file that had the same name before; start is when it began.
func File(key string, start time.Time, open func() (*eventlog.Log, error)) Recording {
	return Recording{key: "file\x00" + key, open: open, start: func() (time.Time, error) { return start, nil }}
}

// Open opens the log.
func (r Recording) Open() (*eventlog.Log, error) { return r.open() }

func (r Recording) cellStore() (cell.Store, bool) { return cell.Store{Dir: r.cells}, r.cells != "" }
