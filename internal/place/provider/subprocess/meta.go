package subprocess

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/provider/subprocess/shim"
)

// Each key is a file, so that two who set different keys never meet.

func (p *Provider) metaFile(name, key string) (string, error) {
	if err := provider.CheckKey(key); err != nil {
		return "", err
	}
	s, err := p.inspect(name)
	if err != nil {
		return "", err
	}
	return filepath.Join(metaDir(s.dir), fileName(key)), nil
}

// writeMeta writes the first metadata of a session that is about to start.
func writeMeta(dir shim.Dir, values map[string]string) error {
	for key, value := range values {
		if err := provider.CheckKey(key); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(metaDir(dir), fileName(key)), []byte(value), 0o600); err != nil {
			return fault.Errorf(fault.Storage, "set '%s': %w", key, err)
		}
	}
	return nil
}

// SetMeta keeps value under key.
func (p *Provider) SetMeta(_ context.Context, name, key, value string) error {
	file, err := p.metaFile(name, key)
	if err != nil {
		return err
	}
	if err := atomicfile.Replace(file, []byte(value)); err != nil {
		return fault.Errorf(fault.Storage, "set '%s' of session '%s': %w", key, name, err)
	}
	return nil
}

// GetMeta returns the value, or "" where there is none.
func (p *Provider) GetMeta(_ context.Context, name, key string) (string, error) {
	file, err := p.metaFile(name, key)
	if err != nil {
		return "", err
	}
	value, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fault.Errorf(fault.Storage, "get '%s' of session '%s': %w", key, name, err)
	}
	return string(value), nil
}

// RemoveMeta forgets the key.
func (p *Provider) RemoveMeta(_ context.Context, name, key string) error {
	file, err := p.metaFile(name, key)
	if err != nil {
		return err
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.Errorf(fault.Storage, "remove '%s' of session '%s': %w", key, name, err)
	}
	return nil
}
