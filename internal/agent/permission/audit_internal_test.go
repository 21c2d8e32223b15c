package permission

import (
	"os"
	"path/filepath"
	"testing"

	"den/internal/base/journal"
)

func TestAuditLogIsBounded(t *testing.T) {
	dir := t.TempDir()
	l := openAudit(dir, journal.Limits{Bytes: 1000, Kept: auditLimits.Kept})
	for range 200 {
		if err := l.Append(Entry{Event: ByPolicy, Why: "a reason of some length"}); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 1+auditLimits.Kept {
		t.Fatalf("%q, %v", files, err)
	}
	total := int64(0)
	for _, f := range files {
		fi, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		total += fi.Size()
	}
	if total > 5000 {
		t.Errorf("%d bytes", total)
	}
	if entries, damaged, err := ReadAudit(dir); err != nil || damaged > 0 || len(entries) < 10 {
		t.Errorf("%d entries, %d damaged, %v", len(entries), damaged, err)
	}
}
