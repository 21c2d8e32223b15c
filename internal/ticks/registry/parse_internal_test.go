package registry

import (
	"testing"

	"den/internal/base/ident"
)

// Whatever the file holds, reading it ends, and gives only names and paths that
// can be used.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"v":1,"instances":{"a":{"path":"/x","remote":null,"created":"2026-02-01T09:30:00Z"}}}`, `{"v":2}`, `{"instances":{"a":1}}`, `{}`, ``} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := parse("kernel.json", data)
		if err != nil {
			return
		}
		for _, in := range file.instances {
			if ident.Check("instance", in.Name) != nil || in.Path == "" || in.Path[0] != '/' {
				t.Errorf("%+v", in)
			}
		}
		again, err := parse("kernel.json", file.object.File())
		if err != nil || len(again.instances) != len(file.instances) {
			t.Errorf("%v, %v; want %v", again, err, file.instances)
		}
	})
}
