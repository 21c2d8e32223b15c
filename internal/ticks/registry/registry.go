// Package registry keeps the list of agents that have a data repository on this
// machine: their names, and where each repository is.
package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/base/filelock"
	"den/internal/base/ident"
	"den/internal/base/statefile"
	"den/internal/ticks/jsonobject"
)

const (
	version = 1
	maxFile = 4 << 20
)

// Registry is the file with the list. A missing file is an empty list; a
// damaged one is an error that names it, and is never written over.
type Registry struct {
	Path string
}

// An Instance is an agent with a data repository.
type Instance struct {
	Name    string
	Path    string // of the data repository: absolute, without symbolic links
	Remote  string // the URL that it was cloned from, or ""
	Created time.Time
}

// New returns the registry of this user, in the configuration directory.
func New(getenv func(string) string) (Registry, error) {
	config := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(config) {
		config = filepath.Join(getenv("HOME"), ".config")
	}
	if !filepath.IsAbs(config) {
		return Registry{}, fault.Errorf(fault.Usage, "find the list of instances: neither XDG_CONFIG_HOME nor HOME is an absolute path")
	}
	return Registry{Path: filepath.Join(config, "den", "kernel.json")}, nil
}

// List returns all instances, by name.
func (r Registry) List() ([]Instance, error) {
	f, err := r.read()
	if err != nil {
		return nil, err
	}
	return f.instances, nil
}

// Get returns one instance.
func (r Registry) Get(name string) (Instance, error) {
	if err := ident.Check("instance", name); err != nil {
		return Instance{}, err
	}
	f, err := r.read()
	if err != nil {
		return Instance{}, err
	}
	i := f.find(name)
	if i < 0 {
		return Instance{}, noSuch(name)
	}
	return f.instances[i], nil
}

func noSuch(name string) error {
	return fault.Hintf(fault.Errorf(fault.NotFound, "no instance is named '%s'", name), "den kernel list shows them; den kernel init makes one")
}

// Add adds an instance. Its path must be that of a directory, which no other
// instance has: two names of one repository would have it tick twice. The
// instance is returned as it was recorded.
func (r Registry) Add(ctx context.Context, in Instance) (Instance, error) {
	if err := ident.Check("instance", in.Name); err != nil {
		return Instance{}, err
	}
	resolved, err := directory(in.Path)
	if err != nil {
		return Instance{}, err
	}
	in.Path, in.Created = resolved, in.Created.Truncate(time.Second)
	err = r.edit(ctx, func(f *file) error {
		for _, other := range f.instances {
			switch {
			case other.Name == in.Name:
				return fault.Hintf(fault.Errorf(fault.Usage, "an instance is named '%s' already: %s", in.Name, other.Path), "choose another name, or run 'den kernel remove %s' first", in.Name)
			case other.Path == in.Path:
				return fault.Errorf(fault.Usage, "'%s' is the data repository of instance '%s' already", in.Path, other.Name)
			}
		}
		return f.add(in)
	})
	return in, err
}

func directory(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fault.Errorf(fault.Usage, "register data repository '%s': the path is not absolute", path)
	}
	var fi fs.FileInfo
	resolved, err := filepath.EvalSymlinks(path)
	if err == nil {
		fi, err = os.Stat(resolved)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fault.Errorf(fault.NotFound, "register data repository '%s': %w", path, err)
	case err != nil:
		return "", fmt.Errorf("register data repository '%s': %w", path, err)
	case !fi.IsDir():
		return "", fault.Errorf(fault.Usage, "register data repository '%s': it is not a directory", path)
	}
	return resolved, nil
}

// Remove removes an instance from the list, and returns it. The repository is
// not touched.
func (r Registry) Remove(ctx context.Context, name string) (Instance, error) {
	var removed Instance
	err := r.edit(ctx, func(f *file) error {
		i := f.find(name)
		if i < 0 {
			return noSuch(name)
		}
		removed = f.instances[i]
		f.entries.Delete(name)
		return nil
	})
	return removed, err
}

// edit changes the file while nobody else does.
func (r Registry) edit(ctx context.Context, change func(*file) error) error {
	if err := os.MkdirAll(filepath.Dir(r.Path), 0o700); err != nil {
		return fmt.Errorf("write the list of instances: %w", err)
	}
	lock, err := filelock.Wait(ctx, r.Path+".lock")
	if err != nil {
		return fmt.Errorf("write the list of instances: %w", err)
	}
	defer lock.Close() // Best effort: nothing was written to it.
	f, err := r.read()
	if err != nil {
		return err
	}
	if err := change(f); err != nil {
		return err
	}
	if err := f.object.Set("instances", f.entries.Raw()); err != nil {
		return fmt.Errorf("write the list of instances: %w", err)
	}
	return atomicfile.Write(r.Path, f.object.File())
}

// file is the content of a registry.
type file struct {
	object    *jsonobject.Object
	entries   *jsonobject.Object // of its key "instances"
	instances []Instance         // by name
}

func (f *file) find(name string) int {
	return slices.IndexFunc(f.instances, func(in Instance) bool { return in.Name == name })
}

func (f *file) add(in Instance) error {
	var remote *string // null where there is none
	if in.Remote != "" {
		remote = &in.Remote
	}
	return f.entries.Set(in.Name, struct {
		Path    string  `json:"path"`
		Remote  *string `json:"remote"`
		Created string  `json:"created"`
	}{in.Path, remote, in.Created.Format(time.RFC3339)})
}

func (r Registry) read() (*file, error) {
	data, err := atomicfile.Read(r.Path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		f := &file{object: jsonobject.New(), entries: jsonobject.New()}
		return f, f.object.Set("v", version)
	}
	if err != nil {
		return nil, fault.Errorf(fault.Storage, "read the list of instances: %w", err)
	}
	f, err := parse(r.Path, data)
	if err != nil {
		return nil, fault.Hintf(err, "correct or move the file; den does not write over it")
	}
	return f, nil
}

func parse(path string, data []byte) (*file, error) {
	object, err := jsonobject.Parse(path, data)
	if err != nil {
		return nil, fault.Errorf(fault.Storage, "read the list of instances: %w", err)
	}
	f := &file{object: object, entries: jsonobject.New()}
	if v, ok := object.Get("v"); ok {
		n, err := v.Int()
		if err != nil {
			return nil, fault.Errorf(fault.Storage, "read the list of instances: %w", jsonobject.Key("v", err))
		}
		if err := statefile.Check(path, n, version); err != nil {
			return nil, fmt.Errorf("read the list of instances: %w", err)
		}
	}
	if v, ok := object.Get("instances"); ok {
		if f.entries, err = v.Object(); err == nil {
			f.instances, err = instances(f.entries)
		}
		if err != nil {
			return nil, fault.Errorf(fault.Storage, "read the list of instances: %w", err)
		}
	}
	return f, nil
}

func instances(entries *jsonobject.Object) ([]Instance, error) {
	var all []Instance
	for _, name := range entries.Keys() {
		v, ok := entries.Get(name)
		if !ok {
			continue // a null
		}
		if err := ident.Check("instance", name); err != nil {
			return nil, v.Errorf("%w", err)
		}
		in, err := instance(name, v)
		if err != nil {
			return nil, jsonobject.Key(name, err)
		}
		all = append(all, in)
	}
	slices.SortFunc(all, func(a, b Instance) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

func instance(name string, v jsonobject.Value) (Instance, error) {
	in := Instance{Name: name}
	o, err := v.Object()
	if err != nil {
		return in, err
	}
	path, ok := o.Get("path")
	if !ok {
		return in, v.Errorf(`"path" is missing`)
	}
	if in.Path, err = path.Text(); err != nil {
		return in, jsonobject.Key("path", err)
	}
	if !filepath.IsAbs(in.Path) {
		return in, path.Errorf("%.200q is not an absolute path", in.Path)
	}
	if err := jsonobject.Field(o, "remote", jsonobject.Value.Text, &in.Remote); err != nil {
		return in, err
	}
	if created, ok := o.Get("created"); ok {
		text, err := created.Text()
		if err != nil {
			return in, jsonobject.Key("created", err)
		}
		if in.Created, err = time.Parse(time.RFC3339, text); err != nil {
			return in, created.Errorf("%.80q is no time", text)
		}
	}
	return in, nil
}
