package den_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

type pictures struct {
	Runs  int
	Files []struct {
		Name   string
		Bytes  int
		SHA256 string
	}
}

// checkManifest compares a directory of pictures with its manifest.
func checkManifest(t *testing.T, dir string) pictures {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var m pictures
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{"manifest.json": true}
	for _, f := range m.Files {
		listed[f.Name] = true
		raw, err := os.ReadFile(filepath.Join(dir, f.Name))
		if err != nil {
			t.Error(err)
			continue
		}
		sum := sha256.Sum256(raw)
		if hex.EncodeToString(sum[:]) != f.SHA256 || len(raw) != f.Bytes {
			t.Errorf("%s is not the one of the manifest: run 'sh scripts/manifest docs/media', and look at it", f.Name)
		}
	}
	there, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range there {
		if !listed[e.Name()] && filepath.Ext(e.Name()) != ".svg" {
			t.Errorf("%s is not in the manifest", e.Name())
		}
	}
	return m
}

// The pictures of the pages are those of the manifest.
func TestPicturesAreListed(t *testing.T) { checkManifest(t, "docs/media") }

// Pictures are promoted after three runs that made the same ones, told nothing of
// the machine, and were looked at.
func TestPromote(t *testing.T) {
	for name, test := range map[string]struct {
		runs   int
		change map[string]string // of the last run
		seen   string
		want   string
	}{
		"two runs":       {runs: 2, seen: "yes", want: "at least 3 runs"},
		"not looked at":  {runs: 3, want: "look at"},
		"an empty one":   {runs: 3, seen: "yes", change: map[string]string{"pictures/a.png": ""}, want: "is empty"},
		"another one":    {runs: 3, seen: "yes", change: map[string]string{"pictures/c.png": "c"}, want: "other pictures"},
		"a path":         {runs: 3, seen: "yes", change: map[string]string{"logs/x.log": "in /secret/place"}, want: "tells of this machine"},
		"in a picture":   {runs: 3, seen: "yes", change: map[string]string{"pictures/a.png": "/secret/place"}, want: "tells of this machine"},
		"a key":          {runs: 3, seen: "yes", change: map[string]string{"logs/x.log": "AKIA0123456789ABCDEF"}, want: "has a secret"},
		"an address":     {runs: 3, seen: "yes", change: map[string]string{"logs/x.log": "by ada@example.org"}, want: "has a secret"},
		"all as it must": {runs: 3, seen: "yes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			to := filepath.Join(dir, "to")
			args := []string{"scripts/promote", to}
			put := func(run, file, text string) {
				path := filepath.Join(run, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for n := range test.runs {
				run := filepath.Join(dir, string(rune('1'+n)))
				put(run, "pictures/a.png", "picture a")
				put(run, "pictures/b.gif", "picture b")
				put(run, "logs/x.log", "hello")
				args = append(args, run)
			}
			for file, text := range test.change {
				put(args[len(args)-1], file, text)
			}
			cmd := exec.Command("sh", args...)
			cmd.Env = append(os.Environ(), "PROMOTE_SEEN="+test.seen, "PROMOTE_HIDE=/secret/place")
			out, err := cmd.CombinedOutput()
			if test.want != "" {
				if err == nil || !strings.Contains(string(out), test.want) {
					t.Errorf("got %v, %s; want %q", err, out, test.want)
				}
				if _, err := os.Stat(to); err == nil {
					t.Error("something was promoted")
				}
				return
			}
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if m := checkManifest(t, to); m.Runs != 3 || len(m.Files) != 2 {
				t.Errorf("%+v", m)
			}
		})
	}
}
