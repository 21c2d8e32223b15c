package main

import (
	"os"
	"testing"
)

// The picture in the documentation is of the tree as it is.
func TestPictureIsCurrent(t *testing.T) {
	wings, allowed, err := read("../../arch_test.go")
	if err != nil {
		t.Fatal(err)
	}
	if len(wings) < 5 || len(allowed) < 50 {
		t.Fatalf("%d wings and %d packages were read", len(wings), len(allowed))
	}
	has, err := os.ReadFile("../../docs/media/wings.svg")
	if err != nil {
		t.Fatal(err)
	}
	if string(has) != draw(wings, allowed) {
		t.Error("docs/media/wings.svg is not current: go run ./scripts/wings")
	}
}
