package budget

import (
	"fmt"
	"math"
	"sync"
	"time"

	"den/internal/base/fault"
	"den/internal/base/statefile"
)

const (
	fileVersion = 1
	maxFile     = 1 << 20
)

// ledgerFile is what is on disk. A day has 289 buckets at most.
type ledgerFile struct {
	Version int      `json:"v"`
	Buckets []bucket `json:"buckets"`
	// Warned has the limits that were warned of, and when.
	Warned map[Which]time.Time `json:"warned,omitempty"`
}

// A Ledger counts what one agent uses, in a file. One process at a time may
// open it.
type Ledger struct {
	path string

	mu     sync.Mutex // guards the fields below, and the file
	limits Limits
	file   ledgerFile
}

// Open reads a ledger. A file that is not there is an empty one. Where one
// cannot be read the budget would begin anew, so that is an error.
func Open(path string, limits Limits) (*Ledger, error) {
	file, _, err := statefile.Load[ledgerFile](path, fileVersion, maxFile)
	if err != nil {
		return nil, statefile.Advise(fmt.Errorf("open budget: %w", err), "remove the file to begin to count anew")
	}
	return &Ledger{path: path, limits: limits, file: file}, nil
}

// Check tells whether a turn may begin at this time.
func (l *Ledger) Check(now time.Time) Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	return check(l.file.Buckets, l.limits, now)
}

// Add counts use, and returns the limits that are to be warned of now: a limit
// is warned of once when four fifths are used, and again after less was used
// in between. After an error the use is counted, but not on disk.
func (l *Ledger) Add(now time.Time, u Usage) (warn []Line, err error) {
	if u.Tokens < 0 || u.Turns < 0 || !(u.CostUSD >= 0) || math.IsInf(u.CostUSD, 1) {
		return nil, fault.Errorf(fault.Internal, "count use: it is no amount: %+v", u)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.file.Buckets = record(l.file.Buckets, now, u)
	warned := map[Which]time.Time{}
	for _, line := range check(l.file.Buckets, l.limits, now).Lines {
		if line.Level == OK {
			continue
		}
		at, already := l.file.Warned[line.Which]
		if !already {
			at, warn = now, append(warn, line)
		}
		warned[line.Which] = at
	}
	l.file.Warned = warned
	return warn, statefile.Replace(l.path, fileVersion, l.file)
}
