package decisive

import (
	"fmt"

	"den/internal/base/fault"
	"den/internal/base/statefile"
)

const (
	listVersion = 1
	maxList     = 1 << 20
)

// list is what Save writes.
type list struct {
	Version int    `json:"v"`
	Files   []File `json:"files"`
}

// Save writes down which files a workspace is made of, for those who decide
// requests in other processes.
func Save(file string, own []File) error {
	if err := statefile.Replace(file, listVersion, list{Files: own}); err != nil {
		return fault.Errorf(fault.Storage, "write the list of the workspace's files: %w", err)
	}
	return nil
}

// Load reads what Save wrote.
func Load(file string) ([]File, error) {
	l, found, err := statefile.Load[list](file, listVersion, maxList)
	if err == nil && !found {
		err = fault.Errorf(fault.NotFound, "there is no %s", file)
	}
	if err != nil {
		return nil, fmt.Errorf("read the list of the workspace's files: %w", err)
	}
	return l.Files, nil
}
