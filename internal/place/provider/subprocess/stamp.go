package subprocess

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"den/internal/base/fault"
)

// ChangeStamp names the start and the end of the output's file. The shim is
// not asked.
func (p *Provider) ChangeStamp(_ context.Context, name string) (string, error) {
	s, err := p.inspect(name)
	if err != nil {
		return "", err
	}
	stamp := s.record.Started.String()
	fi, err := os.Stat(s.dir.LogFile())
	switch {
	case err == nil:
		return fmt.Sprintf("%s:%d:%d", stamp, fi.Size(), fi.ModTime().UnixNano()), nil
	case errors.Is(err, fs.ErrNotExist):
		return stamp, nil // it has written nothing yet
	}
	return "", fault.Errorf(fault.Storage, "stamp of session '%s': %w", name, err)
}
