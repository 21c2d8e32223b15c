package native

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/session/home"
)

// find returns the newest session of that name and its record as it is true
// now. One that never was, or is another's, is NotFound.
func (p *Provider) find(name string) (home.Dir, *home.Manifest, error) {
	if err := provider.CheckName(name); err != nil {
		return home.Dir{}, nil, err
	}
	d, m, err := p.inspect(p.ref(name))
	if err == nil && m.Labels[NameLabel] == name {
		return d, m, nil
	}
	if err == nil || fault.KindOf(err) == fault.NotFound {
		err = fault.Hintf(fault.Errorf(fault.NotFound, "no session '%s' of owner '%s'", name, p.Owner), "'den ls --all --home %s' lists the sessions there are", p.Home.Path)
	}
	return home.Dir{}, nil, err
}

// inspect reads what stands under a name of the Home. Not this owner's is NotFound.
func (p *Provider) inspect(ref string) (home.Dir, *home.Manifest, error) {
	target, err := os.Readlink(filepath.Join(p.names(), ref))
	if errors.Is(err, fs.ErrNotExist) {
		if err := p.present(); err != nil {
			return home.Dir{}, nil, err
		}
		return home.Dir{}, nil, fault.Errorf(fault.NotFound, "no session '%s'", ref)
	}
	if err != nil {
		return home.Dir{}, nil, fault.Errorf(fault.Storage, "look up session '%s': %w", ref, err)
	}
	d := p.Home.Dir(filepath.Base(target))
	m, err := d.Inspect()
	if fault.KindOf(err) == fault.NotFound {
		if gone := p.present(); gone != nil {
			return home.Dir{}, nil, gone
		}
	}
	if err != nil {
		return home.Dir{}, nil, err
	}
	if m.Labels[OwnerLabel] != p.Owner {
		return home.Dir{}, nil, fault.Errorf(fault.NotFound, "session '%s' is not of owner '%s'", ref, p.Owner)
	}
	return d, m, nil
}

// present tells a Home without a session from a Home that is not there: its
// disk may be away while its sessions run on.
func (p *Provider) present() error {
	for _, dir := range []string{p.sessions(), p.names()} {
		if _, err := os.Stat(dir); err != nil {
			return fault.Hintf(fault.Errorf(fault.Storage, "ask Home %s: %w", p.Home.Path, err), "it was there when this provider was opened; is its disk still mounted?")
		}
	}
	return nil
}

// mine lists the names in the Home that begin as this owner's do.
func (p *Provider) mine() ([]string, error) {
	dir, err := os.Open(p.names())
	if err != nil {
		return nil, fault.Errorf(fault.Storage, "list sessions: %w", err)
	}
	defer dir.Close() // Best effort: it was only read.
	all, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, fault.Errorf(fault.Storage, "list sessions: %w", err)
	}
	refs := all[:0]
	for _, ref := range all {
		if strings.HasPrefix(ref, p.tag+".") {
			refs = append(refs, ref)
		}
	}
	return refs, nil
}
