package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"den/internal/atomicfile"
)

// maxArtifacts bounds the artifacts of one kind in a session. At the bound
// the oldest go: an agent that looks every second must not fill the disk.
const maxArtifacts = 200

// artifactEntry is a line of the artifacts' manifest.
type artifactEntry struct {
	File    string    `json:"file"`
	Kind    string    `json:"kind"`
	Seq     uint64    `json:"seq"`
	Bytes   int       `json:"bytes"`
	Created time.Time `json:"created"`
}

// ArtifactPath returns where an artifact of that name goes.
func (d Dir) ArtifactPath(name string) (string, error) {
	if name != filepath.Base(name) {
		return "", fmt.Errorf("artifact name %q is a path", name)
	}
	return filepath.Join(d.Artifacts(), name), nil
}

// SaveArtifact writes an artifact and its line in the manifest, and drops the
// oldest of its kind beyond the bound.
func (d Dir) SaveArtifact(path, kind string, seq uint64, data []byte) error {
	_, err := os.Stat(path)
	fresh := errors.Is(err, os.ErrNotExist)
	if err := atomicfile.Replace(path, data); err != nil {
		return err
	}
	if fresh {
		if err := d.prune(kind); err != nil {
			return err
		}
	}
	line, err := json.Marshal(artifactEntry{File: filepath.Base(path), Kind: kind, Seq: seq, Bytes: len(data), Created: time.Now().UTC()})
	if err != nil {
		return fmt.Errorf("write artifact manifest: %w", err)
	}
	// One short append is whole: writers in other processes do not mix in.
	f, err := os.OpenFile(d.artifactList(), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("write artifact manifest: %w", err)
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// prune removes the oldest artifacts of a kind beyond the bound.
func (d Dir) prune(kind string) error {
	entries, err := os.ReadDir(d.Artifacts())
	if err != nil {
		return fmt.Errorf("prune artifacts: %w", err)
	}
	type aged struct {
		name string
		when time.Time
	}
	var files []aged
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), kind+"-") {
			continue
		}
		if fi, err := e.Info(); err == nil {
			files = append(files, aged{e.Name(), fi.ModTime()})
		}
	}
	if len(files) <= maxArtifacts {
		return nil
	}
	slices.SortFunc(files, func(a, b aged) int { return a.when.Compare(b.when) })
	// A tenth at once, so that the list is not written anew every time.
	for _, f := range files[:len(files)-maxArtifacts+maxArtifacts/10] {
		os.Remove(filepath.Join(d.Artifacts(), f.name)) // Best effort: another writer may prune too.
	}
	return d.pruneList()
}

// pruneList drops the lines of artifacts that are gone. A line that another
// process appends in this moment may be lost; its artifact is not.
func (d Dir) pruneList() error {
	raw, err := os.ReadFile(d.artifactList())
	if err != nil {
		return fmt.Errorf("prune artifacts: %w", err)
	}
	var kept []byte
	for line := range bytes.Lines(raw) {
		var e artifactEntry
		if json.Unmarshal(line, &e) != nil {
			continue // torn by a full disk
		}
		if _, err := os.Stat(filepath.Join(d.Artifacts(), filepath.Base(e.File))); err == nil {
			kept = append(kept, line...)
		}
	}
	return atomicfile.Write(d.artifactList(), kept)
}

func (d Dir) artifactList() string { return filepath.Join(d.Artifacts(), "manifest.jsonl") }
