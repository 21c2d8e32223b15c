package permission

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"den/internal/base/fault"
	"den/internal/base/statefile"
)

const (
	approvalsDir = "approvals"
	rulesFile    = "rules.json"
	maxOpen      = 100 // more requests are denied
	keptClosed   = 200 // the oldest of the rest are removed
	maxRecord    = 1 << 20
	maxRules     = 500 // remembered for one agent
)

// idAlphabet has no letters that people confuse, and idLen of them are few
// enough to type.
const (
	idAlphabet = "23456789abcdefghjkmnpqrstvwxyz"
	idLen      = 5
)

func newID(taken func(string) bool) string {
	for {
		var random [idLen]byte
		rand.Read(random[:]) // never fails: crypto/rand crashes the program instead
		id := make([]byte, idLen)
		for i, r := range random {
			id[i] = idAlphabet[int(r)%len(idAlphabet)]
		}
		if !taken(string(id)) {
			return string(id)
		}
	}
}

// LooksLikeID reports whether a word could be the id of an approval.
func LooksLikeID(word string) bool {
	return len(word) == idLen && strings.Trim(word, idAlphabet) == ""
}

// List reads the approvals that are kept in dir, a Broker's, from any
// process: first the open ones, the oldest first, then the others, the newest
// first. A file that cannot be read is named in damaged.
func List(dir string) (all []Approval, damaged []string, err error) {
	entries, err := os.ReadDir(filepath.Join(dir, approvalsDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("list approvals: %w", err)
	}
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || strings.HasPrefix(id, ".") {
			continue
		}
		path := filepath.Join(dir, approvalsDir, e.Name())
		a, found, err := statefile.Load[Approval](path, recordVersion, maxRecord)
		switch {
		case err != nil || found && a.ID != id:
			damaged = append(damaged, path)
		case found: // else it was removed meanwhile
			all = append(all, a)
		}
	}
	sortApprovals(all)
	return all, damaged, nil
}

func sortApprovals(all []Approval) {
	slices.SortFunc(all, func(a, b Approval) int {
		if (a.State == Open) != (b.State == Open) {
			if a.State == Open {
				return -1
			}
			return 1
		}
		if a.State == Open {
			return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
		}
		return cmp.Or(b.Decided.Compare(a.Decided), cmp.Compare(a.ID, b.ID))
	})
}

func writeApproval(dir string, a Approval) error {
	return statefile.Save(filepath.Join(dir, approvalsDir, a.ID+".json"), recordVersion, a)
}

func removeApproval(dir, id string) error {
	return os.Remove(filepath.Join(dir, approvalsDir, id+".json"))
}

// remembered are the rules that owners added by deciding for always.
type remembered struct {
	Version int    `json:"v"`
	Rules   []Rule `json:"rules"`
}

func readRules(dir string) ([]Rule, error) {
	path := filepath.Join(dir, rulesFile)
	kept, _, err := statefile.Load[remembered](path, recordVersion, maxRecord)
	if err != nil {
		return nil, fault.Hintf(err, "remove %s to be asked again for everything that it allowed", path)
	}
	return kept.Rules, nil
}

func writeRules(dir string, rules []Rule) error {
	return statefile.Save(filepath.Join(dir, rulesFile), recordVersion, remembered{Rules: rules})
}
