package native

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"den/internal/base/fault"
	"den/internal/place/provider"
)

// ChangeStamp names the session and the end of its log. Neither the record is
// read nor the host asked.
func (p *Provider) ChangeStamp(_ context.Context, name string) (string, error) {
	if err := provider.CheckName(name); err != nil {
		return "", err
	}
	target, err := os.Readlink(filepath.Join(p.names(), p.ref(name)))
	if err != nil {
		return "", p.stampError(name, err)
	}
	id := filepath.Base(target)
	segment, size, err := p.Home.Dir(id).LogEnd()
	if err != nil {
		return "", p.stampError(name, err)
	}
	return fmt.Sprintf("%s/%s:%d", id, segment, size), nil
}

func (p *Provider) stampError(name string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return fault.Errorf(fault.Storage, "stamp of session '%s': %w", name, err)
	}
	if err := p.present(); err != nil {
		return err
	}
	return fault.Errorf(fault.NotFound, "no session '%s' of owner '%s'", name, p.Owner)
}
