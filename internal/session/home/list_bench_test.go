package home_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"den/internal/base/ident"
	"den/internal/session/home"
)

// BenchmarkReconcileAll is what a list of sessions costs beside its printing.
func BenchmarkReconcileAll(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			root := home.Home{Path: b.TempDir()}
			for i := range n {
				d := root.Dir(ident.New(time.Now().Add(time.Duration(i) * time.Millisecond)))
				if err := os.MkdirAll(d.Log(), 0o700); err != nil {
					b.Fatal(err)
				}
				m := &home.Manifest{ID: d.ID, Name: fmt.Sprint("s", i), Status: home.Exited, Command: []string{"bash"}, Cwd: "/", Created: time.Now()}
				if err := d.Save(m); err != nil {
					b.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(d.Log(), "000000000001.cast"), nil, 0o600); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				dirs, err := root.All()
				if err != nil {
					b.Fatal(err)
				}
				for _, d := range dirs {
					if _, err := d.Reconcile(); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
