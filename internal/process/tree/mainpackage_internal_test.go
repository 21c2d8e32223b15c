package tree

import (
	"bytes"
	"debug/buildinfo"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestMainPackage: it is what debug/buildinfo tells.
func TestMainPackage(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	programs := []string{self, "/bin/sh", t.TempDir(), "/nowhere"}
	if path, err := exec.LookPath("go"); err == nil {
		programs = append(programs, path)
	}
	if compiler, err := exec.Command("go", "tool", "-n", "compile").Output(); err == nil {
		programs = append(programs, string(bytes.TrimSpace(compiler)))
	}
	small := filepath.Join(t.TempDir(), "small")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", small, "./testdata/main")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	programs = append(programs, small)
	for _, program := range programs {
		want := ""
		if info, err := buildinfo.ReadFile(program); err == nil {
			want = info.Path
		}
		if got := mainPackage(program); got != want {
			t.Errorf("%s: %q, want %q", program, got, want)
		}
	}
}

func FuzzPathIn(f *testing.F) {
	f.Add([]byte(buildInfo))
	f.Add([]byte(buildInfo + "\x08\x02" + string(make([]byte, 16)) + "\x01v\x2a0123456789abcdefpath\ta/b\n0123456789abcdef"))
	f.Add([]byte(buildInfo + "\x08\x02" + string(make([]byte, 16)) + "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, data []byte) { pathIn(data) })
}
