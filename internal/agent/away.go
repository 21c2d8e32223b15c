package agent

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"den/internal/base/fault"
	"den/internal/place/provider"
)

// away is the provider, if its sessions run on other machines: then files are
// sent there and hooks run there.
func (m *Managed) away() provider.Away {
	p, _ := m.provider.(provider.Away)
	return p
}

// place is what of the configuration describes where the session runs.
func (m *Managed) place() provider.Config {
	return provider.Config{WorkDir: m.config.WorkDir, Options: m.config.ProviderOptions}
}

// runCommand runs one of the user's commands where the session runs.
func (m *Managed) runCommand(ctx context.Context, argv []string, dir string, env map[string]string) (string, error) {
	if m.away() == nil {
		return runCommand(ctx, argv, dir, env)
	}
	return m.execAway(ctx, provider.ExecSpec{Argv: argv, Dir: dir, Env: env}, lastArg(argv))
}

// runScriptAway runs a script of this machine by the shell of the session's.
func (m *Managed) runScriptAway(ctx context.Context, script string, env map[string]string) (string, error) {
	file, err := os.Open(script)
	if err != nil {
		return "", fault.Errorf(fault.NotFound, "run %q: %w", script, err)
	}
	defer file.Close() // Best effort: it was only read.
	return m.execAway(ctx, provider.ExecSpec{Argv: []string{"sh", "-s"}, Dir: m.config.WorkDir, Env: env, Stdin: file}, script)
}

func (m *Managed) execAway(ctx context.Context, e provider.ExecSpec, what string) (string, error) {
	out := &tail{}
	e.Stdout, e.Stderr = out, out
	code, err := m.provider.Exec(ctx, m.session, m.place(), e)
	switch {
	case ctx.Err() != nil:
		return out.String(), fault.Errorf(fault.Timeout, "run %q: it did not end in time", what)
	case err == nil && code != 0:
		err = fmt.Errorf("run %q: exit status %d", what, code)
	}
	return out.String(), err
}

// copyEntry puts a file or a directory at dst below the work directory, over what
// is there.
func (m *Managed) copyEntry(ctx context.Context, src, dst string) (string, error) {
	if m.away() == nil {
		return copyEntry(ctx, src, dst, m.config.WorkDir)
	}
	return m.stageAway(ctx, src, filepath.ToSlash(filepath.Clean(dst)), provider.StageOptions{})
}

// stageAway sends a file or a directory to where the session runs.
func (m *Managed) stageAway(ctx context.Context, src, base string, o provider.StageOptions) (string, error) {
	sent := 0
	o.Progress = func(string) { sent++ }
	r, w := io.Pipe()
	packed := make(chan error, 1) // room for its only value
	go func() {
		err := packTree(ctx, w, src, base)
		w.CloseWithError(err)
		packed <- err
	}()
	err := m.provider.Stage(ctx, m.session, m.place(), r, o)
	r.Close() // Best effort: it ends the writer.
	if perr := <-packed; perr != nil && !errors.Is(perr, io.ErrClosedPipe) {
		err = perr // why the archive was cut off
	}
	return fmt.Sprintf("%d sent", sent), wrapStage("send "+src, err)
}

// packTree writes a file or a directory as an archive, in which it stands at base.
// As when it is staged on this machine, no link may lead out.
func packTree(ctx context.Context, to io.Writer, src, base string) error {
	src = filepath.Clean(src)
	info, err := os.Stat(src)
	if err != nil {
		return err
	}
	dir, name := src, "."
	if !info.IsDir() {
		dir, name = filepath.Dir(src), filepath.Base(src)
	}
	from, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer from.Close() // Best effort: it was only read.
	p := packer{from: from, out: tar.NewWriter(to)}
	if name != "." {
		err = p.one(name, base)
	} else {
		err = fs.WalkDir(from.FS(), ".", func(at string, _ fs.DirEntry, err error) error {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return err
			}
			return p.one(at, path.Join(base, at))
		})
	}
	return errors.Join(err, p.out.Close())
}

// packer writes one archive.
type packer struct {
	from *os.Root
	out  *tar.Writer
}

func (p *packer) one(src, dst string) error {
	info, err := p.from.Lstat(src)
	if err != nil {
		return err
	}
	switch {
	case info.IsDir() && dst == ".":
		return nil
	case info.IsDir():
		return p.out.WriteHeader(&tar.Header{Name: dst + "/", Mode: 0o700, Typeflag: tar.TypeDir})
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := p.from.Readlink(src)
		if err == nil {
			err = checkLink(src, dst, target)
		}
		if err != nil {
			return err
		}
		return p.out.WriteHeader(&tar.Header{Name: dst, Linkname: target, Typeflag: tar.TypeSymlink})
	case !info.Mode().IsRegular():
		return fault.Errorf(fault.Usage, "'%s' is neither a file nor a directory", src)
	}
	file, err := p.from.Open(src)
	if err != nil {
		return err
	}
	defer file.Close() // Best effort: it was only read.
	if err := p.out.WriteHeader(&tar.Header{Name: dst, Mode: int64(0o600 | info.Mode().Perm()&0o100), Size: info.Size(), Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	_, err = io.CopyN(p.out, file, info.Size())
	return err
}
