package permission

import (
	"path/filepath"
	"testing"

	"den/internal/testkit/earlier"
)

// What an owner allowed for always stays allowed.
func TestEarlierRules(t *testing.T) {
	rules, err := readRules(filepath.Join(earlier.Files(t), "keeper", "minds", "coder", "permission"))
	if err != nil || len(rules) != 1 || rules[0].Command != "make check" {
		t.Errorf("%v, %v", rules, err)
	}
}
