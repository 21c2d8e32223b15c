package cell_test

import (
	"strings"
	"testing"
	"time"

	"den/internal/base/ident"
	"den/internal/session/cell"
)

// The code must fit into a line of the smallest editor: that of busybox.
func TestInnerMarksAreALine(t *testing.T) {
	code := cell.InnerMarks(ident.New(time.Now()))
	if strings.Contains(code, "\n") || len(code) > 1000 {
		t.Errorf("%d bytes: %q", len(code), code)
	}
}
