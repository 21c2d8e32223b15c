package container

import (
	"archive/tar"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// tree makes files of a map: a name that ends in '/' is a directory, content
// that begins with "-> " a link.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		switch target, link := strings.CutPrefix(content, "-> "); {
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o755)
		case link:
			err = os.Symlink(target, path)
		default:
			err = os.WriteFile(path, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func hashOf(t *testing.T, dir string) string {
	t.Helper()
	c, err := openContext(dir)
	if err != nil {
		t.Fatal(err)
	}
	hash, err := c.hash()
	if err != nil {
		t.Fatal(err)
	}
	archive, spooled, err := c.spool()
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	if spooled != hash {
		t.Fatalf("hash %s, but of what is sent %s", hash, spooled)
	}
	return hash
}

func TestContextHashIsOfAllThatIsSent(t *testing.T) {
	files := map[string]string{"Containerfile": "FROM scratch\n", "a": "one", "sub/b": "two", "empty/": "", "link": "-> a", "über": "x"}
	dir := tree(t, files)
	first := hashOf(t, dir)
	if again := hashOf(t, tree(t, files)); again != first {
		t.Fatal("the same content at another place has another hash")
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "a"), old, old); err != nil {
		t.Fatal(err)
	}
	if hashOf(t, dir) != first {
		t.Error("a time is in the hash")
	}
	seen := map[string]string{first: "the beginning"}
	for _, change := range []struct {
		what string
		do   func() error
	}{
		{"content", func() error { return os.WriteFile(filepath.Join(dir, "sub/b"), []byte("TWO"), 0o644) }},
		{"a mode", func() error { return os.Chmod(filepath.Join(dir, "a"), 0o755) }},
		{"setuid", func() error { return os.Chmod(filepath.Join(dir, "a"), 0o755|os.ModeSetuid) }},
		{"a directory's mode", func() error { return os.Chmod(filepath.Join(dir, "sub"), 0o700) }},
		{"an empty directory", func() error { return os.Remove(filepath.Join(dir, "empty")) }},
		{"a name", func() error { return os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "A")) }},
		{"a link's target", func() error {
			os.Remove(filepath.Join(dir, "link"))
			return os.Symlink("A", filepath.Join(dir, "link"))
		}},
		{"a link for a file", func() error {
			os.Remove(filepath.Join(dir, "link"))
			return os.WriteFile(filepath.Join(dir, "link"), []byte("A"), 0o644)
		}},
		{"the Containerfile", func() error { return os.WriteFile(filepath.Join(dir, "Containerfile"), []byte("FROM other\n"), 0o644) }},
	} {
		if err := change.do(); err != nil {
			t.Fatal(err)
		}
		hash := hashOf(t, dir)
		if before, dup := seen[hash]; dup {
			t.Errorf("after %s changed the hash is that of %s", change.what, before)
		}
		seen[hash] = change.what
	}
}

func TestContextRules(t *testing.T) {
	dir := tree(t, map[string]string{
		"Containerfile": "FROM scratch\n", "keep": "", "a.log": "", "deep/b.log": "", "deep/c.txt": "", "node_modules/x/y": "", "build/out": "", "build/kept": "", "tmp1": "", "tmp12": "",
		".containerignore": "# a comment\n\n*.log\n**/*.txt\n/node_modules/\nbuild\n!build/kept\ntmp?\nContainerfile\n",
		".dockerignore":    "keep\n",
	})
	c, err := openContext(dir)
	if err != nil {
		t.Fatal(err)
	}
	archive, _, err := c.spool()
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	var names []string
	for r := tar.NewReader(archive); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeDir {
			names = append(names, h.Name)
		}
	}
	want := []string{".containerignore", ".dockerignore", "Containerfile", "build/kept", "deep/b.log", "keep", "tmp12"}
	if !slices.Equal(names, want) {
		t.Errorf("sent %q, want %q", names, want)
	}
}

func TestContextsThatAreNone(t *testing.T) {
	fifo := tree(t, map[string]string{"Dockerfile": "FROM scratch\n"})
	if err := syscall.Mkfifo(filepath.Join(fifo, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, dir := range map[string]string{
		"no absolute path": "context", "no such directory": filepath.Join(t.TempDir(), "none"), "no Containerfile": t.TempDir(), "pipe": fifo,
	} {
		c, err := openContext(dir)
		if err == nil {
			_, err = c.hash()
		}
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	if err := os.WriteFile(filepath.Join(fifo, ".dockerignore"), []byte("pipe\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	hashOf(t, fifo)
}
