package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

// The page says what the attacks are, and each names a test that there is.
func TestTable(t *testing.T) {
	all, err := attacks(table)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs/threat-model.md"))
	if err != nil {
		t.Fatal(err)
	}
	if made, err := withTable(string(page), all); err != nil || made != string(page) {
		t.Errorf("docs/threat-model.md has another table: run 'go run ./scripts/attack -write' (%v)", err)
	}
	for _, a := range all {
		name, script, isScript := strings.Cut(a.test, "/")
		if !isDeclared(t, a.pkg, name) {
			t.Errorf("%s has no %s", a.pkg, name)
		}
		if _, err := os.Stat(filepath.Join(root, a.pkg, "testdata", script+".txtar")); isScript && name == "TestScripts" && err != nil {
			t.Error(err)
		}
	}
}

func isDeclared(t *testing.T, pkg, test string) bool {
	files, err := filepath.Glob(filepath.Join(root, pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+test+"(") {
			return true
		}
	}
	return false
}
