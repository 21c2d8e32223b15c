package subprocess

import (
	"context"

	"den/internal/place/provider/workdir"
)

// CopyTo copies into the directory that the session was started in.
func (p *Provider) CopyTo(ctx context.Context, name, src, rel string) error {
	s, err := p.inspect(name)
	if err != nil {
		return err
	}
	return workdir.Copy(ctx, name, s.record.WorkDir, src, rel)
}
