package chatserver

import (
	"path/filepath"
	"testing"

	"den/internal/testkit/earlier"
)

// The address of an earlier build's server is known.
func TestEarlierPlace(t *testing.T) {
	c := New(filepath.Join(earlier.Files(t), "keeper", "chat"), func(string) string { return "" })
	if p, err := c.Where(); err != nil || p.Address != "127.0.0.1:42429" || !p.Own {
		t.Errorf("%+v, %v", p, err)
	}
}
