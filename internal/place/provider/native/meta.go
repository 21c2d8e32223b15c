package native

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"unicode/utf8"

	"den/internal/base/fault"
	"den/internal/base/filelock"
	"den/internal/base/statefile"
	"den/internal/place/provider"
	"den/internal/session/home"
)

// metaVersion is that of meta.json. A newer one is refused.
const metaVersion = 1

// metaFile is a session's metadata. JSON text cannot hold every byte: a value
// that is not UTF-8 stands among Bytes.
type metaFile struct {
	V      int               `json:"v"`
	Values map[string]string `json:"values"`
	Bytes  map[string][]byte `json:"bytes,omitempty"`
}

// SetMeta writes it down before it returns. Like the record of a session that
// runs, it need not outlive the machine.
func (p *Provider) SetMeta(ctx context.Context, name, key, value string) error {
	return p.editMeta(ctx, name, key, func(m *metaFile) bool {
		m.set(key, value)
		return true
	})
}

func (m *metaFile) set(key, value string) {
	delete(m.Values, key)
	delete(m.Bytes, key)
	if utf8.ValidString(value) {
		m.Values[key] = value
	} else {
		m.Bytes[key] = []byte(value)
	}
}

// firstMeta returns the file with which a session begins.
func firstMeta(values map[string]string) ([]byte, error) {
	m := newMeta()
	for key, value := range values {
		if err := provider.CheckKey(key); err != nil {
			return nil, err
		}
		m.set(key, value)
	}
	return json.Marshal(m)
}

func newMeta() *metaFile {
	return &metaFile{V: metaVersion, Values: map[string]string{}, Bytes: map[string][]byte{}}
}

// RemoveMeta writes only if there was such a key.
func (p *Provider) RemoveMeta(ctx context.Context, name, key string) error {
	return p.editMeta(ctx, name, key, func(m *metaFile) bool {
		_, text := m.Values[key]
		_, raw := m.Bytes[key]
		delete(m.Values, key)
		delete(m.Bytes, key)
		return text || raw
	})
}

// GetMeta needs no lock: the file is replaced whole.
func (p *Provider) GetMeta(_ context.Context, name, key string) (string, error) {
	d, err := p.metaOf(name, key)
	if err != nil {
		return "", err
	}
	m, err := readMeta(d)
	if err != nil {
		return "", fmt.Errorf("metadata of session '%s': %w", name, err)
	}
	if raw, ok := m.Bytes[key]; ok {
		return string(raw), nil
	}
	return m.Values[key], nil
}

func (p *Provider) metaOf(name, key string) (home.Dir, error) {
	if err := provider.CheckKey(key); err != nil {
		return home.Dir{}, err
	}
	d, _, err := p.find(name)
	return d, err
}

// editMeta changes the file under its lock, if change says that it did.
func (p *Provider) editMeta(ctx context.Context, name, key string, change func(*metaFile) bool) error {
	d, err := p.metaOf(name, key)
	if err != nil {
		return err
	}
	lock, err := filelock.Wait(ctx, filepath.Join(d.Path, "meta.lock"))
	if err != nil {
		return fmt.Errorf("metadata of session '%s': %w", name, err)
	}
	defer lock.Close() // Best effort: nothing was written.
	m, err := readMeta(d)
	if err != nil {
		return fmt.Errorf("metadata of session '%s': %w", name, err)
	}
	if !change(m) {
		return nil
	}
	if err := statefile.Replace(metaPath(d), metaVersion, *m); err != nil {
		return fault.Errorf(fault.Storage, "metadata of session '%s': %w", name, err)
	}
	return nil
}

// metaName is the file of a session's metadata in its directory.
const metaName = "meta.json"

func metaPath(d home.Dir) string { return filepath.Join(d.Path, metaName) }

// all returns every value.
func (m *metaFile) all() map[string]string {
	values := maps.Clone(m.Values)
	for key, raw := range m.Bytes {
		values[key] = string(raw)
	}
	return values
}

func readMeta(d home.Dir) (*metaFile, error) {
	m, _, err := statefile.Load[metaFile](metaPath(d), metaVersion, statefile.Large)
	if err != nil {
		return nil, err
	}
	if m.Values == nil {
		m.Values = map[string]string{}
	}
	if m.Bytes == nil {
		m.Bytes = map[string][]byte{}
	}
	return &m, nil
}
