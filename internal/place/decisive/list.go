package decisive

import (
	"encoding/json"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
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
	if err := atomicfile.ReplaceJSON(file, list{Version: listVersion, Files: own}); err != nil {
		return fault.Errorf(fault.Storage, "write the list of the workspace's files: %w", err)
	}
	return nil
}

// Load reads what Save wrote.
func Load(file string) ([]File, error) {
	data, err := atomicfile.Read(file, maxList)
	if err != nil {
		return nil, fault.Errorf(fault.KindOf(err), "read the list of the workspace's files: %w", err)
	}
	var l list
	if err := json.Unmarshal(data, &l); err != nil {
		return nil, fault.Errorf(fault.Storage, "read the list of the workspace's files %s: %w", file, err)
	}
	if l.Version > listVersion {
		return nil, fault.Errorf(fault.Protocol, "%s has version %d, this den knows %d", file, l.Version, listVersion)
	}
	return l.Files, nil
}
