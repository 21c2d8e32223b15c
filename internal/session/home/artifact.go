package home

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
)

// maxArtifacts bounds the artifacts of one kind in a session. Beyond it the
// oldest are removed, so that frequent snapshots do not fill the disk.
const maxArtifacts = 200

// Artifact is a line of the artifact list: a file and the moment it shows.
type Artifact struct {
	Kind       string `json:"kind"`
	Seq        uint64 `json:"seq"`
	ScreenHash string `json:"screen_hash,omitempty"`

	// Set by SaveArtifact.
	File    string    `json:"file"`
	Bytes   int       `json:"bytes"`
	SHA256  string    `json:"sha256"`
	Created time.Time `json:"created"`
}

// ArtifactPath returns where an artifact of that name goes, and makes the
// directory: most sessions never have one.
func (d Dir) ArtifactPath(name string) (string, error) {
	if name != filepath.Base(name) {
		return "", fmt.Errorf("artifact name %q is a path", name)
	}
	root, err := d.openArtifacts()
	if err != nil {
		return "", err
	}
	root.Close() // Best effort: nothing was written.
	return filepath.Join(d.Artifacts(), name), nil
}

// openArtifacts opens the directory of artifacts, and makes it if needed. A
// container may share the session's directory: a link that its program leaves
// there must not lead out of it.
func (d Dir) openArtifacts() (*os.Root, error) {
	if err := d.Home.CheckOwner(); err != nil {
		return nil, err
	}
	session, err := os.OpenRoot(d.Path)
	if err != nil {
		return nil, fault.Errorf(fault.KindOf(err), "create artifact: %w", err)
	}
	defer session.Close() // Best effort: nothing was written.
	name := filepath.Base(d.Artifacts())
	if err := session.Mkdir(name, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fault.Errorf(fault.Storage, "create artifact: %w", err)
	}
	root, err := session.OpenRoot(name)
	if err != nil {
		return nil, fault.Errorf(fault.Storage, "create artifact: %w", err)
	}
	return root, nil
}

// SaveArtifact writes an artifact and its line in the manifest, and drops the
// oldest of its kind beyond the bound.
func (d Dir) SaveArtifact(path string, a Artifact, data []byte) error {
	root, err := d.openArtifacts()
	if err != nil {
		return err
	}
	defer root.Close() // Best effort: each file is closed after its write.
	name := filepath.Base(path)
	_, err = root.Lstat(name)
	fresh := errors.Is(err, os.ErrNotExist)
	if err := atomicfile.ReplaceIn(root, name, data); err != nil {
		return err
	}
	if fresh {
		if err := pruneArtifacts(root, a.Kind); err != nil {
			return err
		}
	}
	sum := sha256.Sum256(data)
	a.File, a.Bytes, a.SHA256, a.Created = name, len(data), hex.EncodeToString(sum[:]), time.Now().UTC()
	line, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("write artifact manifest: %w", err)
	}
	// A short append is atomic: lines of other processes are not interleaved.
	f, err := root.OpenFile(artifactList, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("write artifact manifest: %w", err)
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// ListedArtifacts returns the lines of the artifact list, oldest first. An
// artifact that was written again has several.
func (d Dir) ListedArtifacts() ([]Artifact, error) {
	raw, err := atomicfile.Read(filepath.Join(d.Artifacts(), artifactList), maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Errorf(fault.Storage, "read artifact manifest: %w", err)
	}
	var all []Artifact
	for line := range bytes.Lines(raw) {
		var a Artifact
		if json.Unmarshal(line, &a) == nil { // else torn by a full disk
			all = append(all, a)
		}
	}
	return all, nil
}

// artifactList is the name of the file with a line for each artifact.
const artifactList = "manifest.jsonl"

// pruneArtifacts removes the oldest artifacts of a kind beyond the bound.
func pruneArtifacts(root *os.Root, kind string) error {
	entries, err := fs.ReadDir(root.FS(), ".")
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
	// A tenth at a time, so that the list is not rewritten every time.
	for _, f := range files[:len(files)-maxArtifacts+maxArtifacts/10] {
		root.Remove(f.name) // Best effort: another writer may prune too.
	}
	return pruneArtifactList(root)
}

// pruneArtifactList removes the lines of removed artifacts. A line that another
// process appends at the same time may be lost; its artifact is not.
func pruneArtifactList(root *os.Root) error {
	raw, err := root.ReadFile(artifactList)
	if err != nil {
		return fmt.Errorf("prune artifacts: %w", err)
	}
	var kept []byte
	for line := range bytes.Lines(raw) {
		var e Artifact
		if json.Unmarshal(line, &e) != nil {
			continue // torn by a full disk
		}
		if _, err := root.Lstat(filepath.Base(e.File)); err == nil {
			kept = append(kept, line...)
		}
	}
	return atomicfile.ReplaceIn(root, artifactList, kept)
}
