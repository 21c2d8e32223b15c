package kubernetes

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"den/internal/base/fault"
	"den/internal/place/provider"
)

// CopyTo sends a file or a directory into the working directory of the session's
// pod, as one stream.
func (p *Provider) CopyTo(ctx context.Context, name, src, rel string) error {
	pod, s, err := p.found(ctx, name)
	if err != nil {
		return err
	}
	if s.stage != running {
		return fault.Errorf(fault.NotRunning, "copy to session '%s': it has ended", name)
	}
	if !filepath.IsLocal(rel) {
		return fault.Errorf(fault.Usage, "copy to session '%s': '%s' is not below its working directory", name, rel)
	}
	if _, err := os.Stat(src); errors.Is(err, fs.ErrNotExist) {
		return fault.Errorf(fault.NotFound, "copy to session '%s': %w", name, err)
	} else if err != nil {
		return fmt.Errorf("copy to session '%s': %w", name, err)
	}
	m := p.local(name)
	if m == nil {
		return fault.Errorf(fault.Unreachable, "copy to session '%s': its working directory is not known here yet", name)
	}
	r, w := io.Pipe()
	go func() { w.CloseWithError(pack(ctx, w, src, rel)) }() // ends with the reader
	defer r.Close()                                          // Best effort: it ends the writer.
	if err := p.stageIn(ctx, pod, m.Cwd, r, provider.StageOptions{}); err != nil {
		return fmt.Errorf("copy to session '%s': %w", name, err)
	}
	return nil
}

// pack writes a file or a directory as an archive, in which it stands at rel.
func pack(ctx context.Context, to io.Writer, src, rel string) error {
	src, err := filepath.EvalSymlinks(src) // it may be named by a link
	if err != nil {
		return err
	}
	out := tar.NewWriter(to)
	err = filepath.WalkDir(src, func(path string, e fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		below, err := filepath.Rel(src, path)
		if err != nil {
			return err
		}
		return packEntry(out, path, filepath.Join(rel, below), e)
	})
	return errors.Join(err, out.Close())
}

func packEntry(out *tar.Writer, path, name string, e fs.DirEntry) error {
	fi, err := e.Info()
	if err != nil {
		return err
	}
	var link string
	if fi.Mode()&fs.ModeSymlink != 0 {
		if link, err = os.Readlink(path); err != nil {
			return err
		}
	}
	h, err := tar.FileInfoHeader(fi, link)
	if err != nil {
		return err
	}
	h.Name = filepath.ToSlash(name)
	if err := out.WriteHeader(h); err != nil || !fi.Mode().IsRegular() {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() // Best effort: it was only read.
	_, err = io.CopyN(out, file, fi.Size())
	return err
}
