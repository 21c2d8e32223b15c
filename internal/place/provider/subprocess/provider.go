// Package subprocess runs sessions without a terminal, each behind a shim that
// outlives the process that started it.
//
// A session's command has pipes instead of a terminal: input is written as
// lines, and the end of its output is kept. It is alive for as long as its shim
// holds the session's lock; PIDs are never used for that.
//
// Under Options.Dir each owner has a directory of its own:
//
//	OWNER/locks/NAME        held by the shim; has the count of starts
//	OWNER/sessions/NAME/    session.json, end.json, output.log, last, meta/
//
// with names encoded as fileName says. The files of an ended session stay until
// a session of that name is started again.
package subprocess

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/provider/local"
	"den/internal/place/provider/subprocess/shim"
)

// Options says where sessions are kept, and for whom.
type Options struct {
	Dir     string // absolute; made where it is missing
	Owner   string // whose sessions these are; others see none of them
	Binary  string // the den that is started as shim; "" means this one
	Version string // of this build, for people

	// Grace is how long processes may take to end by themselves, when they are
	// stopped or their command has left them behind, before they are killed;
	// 0 means 3 seconds.
	Grace time.Duration
}

// defaultGrace is that of 'den kill', too.
const defaultGrace = 3 * time.Second

// Provider is a provider.Provider. It keeps no state: two of them on one Dir
// and Owner, in one process or in two, see the same.
type Provider struct {
	local.Place
	root    root
	owner   string
	binary  string
	version string
	grace   time.Duration
}

var (
	_ provider.Provider = (*Provider)(nil)
	_ provider.Pruner   = (*Provider)(nil)
)

// Open opens the sessions of one owner. It starts nothing.
func Open(o Options) (*Provider, error) {
	if !filepath.IsAbs(o.Dir) {
		return nil, fault.Errorf(fault.Usage, "open subprocess provider: directory %q is not absolute", o.Dir)
	}
	if err := provider.CheckName(o.Owner); err != nil {
		return nil, fault.Errorf(fault.Usage, "open subprocess provider: owner: %w", err)
	}
	p := &Provider{owner: o.Owner, binary: o.Binary, version: o.Version, grace: o.Grace}
	if p.binary == "" {
		binary, err := os.Executable()
		if err != nil {
			return nil, fault.Errorf(fault.Internal, "find den's own binary: %w", err)
		}
		p.binary = binary
	}
	if p.grace <= 0 {
		p.grace = defaultGrace
	}
	p.root = root(filepath.Join(o.Dir, fileName(o.Owner)))
	return p, p.root.make()
}

// Attach is what a session without a terminal cannot do.
func (p *Provider) Attach(_ context.Context, name string, _, _ *os.File) error {
	return noTerminal("attach to", name)
}

// SendKeys is what a session without a terminal cannot do.
func (p *Provider) SendKeys(_ context.Context, name string, _ ...string) error {
	return noTerminal("send keys to", name)
}

func noTerminal(what, name string) error {
	return fault.Hintf(fault.Errorf(fault.Unsupported, "%s session '%s': a subprocess has no terminal", what, name),
		"start it with the provider native or tmux; Nudge and Peek work here")
}

// root is the directory of one owner.
type root string

func (r root) locks() string    { return filepath.Join(string(r), "locks") }
func (r root) sessions() string { return filepath.Join(string(r), "sessions") }

func (r root) lock(name string) string { return filepath.Join(r.locks(), fileName(name)) }

func (r root) session(name string) shim.Dir {
	return shim.Dir(filepath.Join(r.sessions(), fileName(name)))
}

func (r root) make() error {
	for _, dir := range []string{r.locks(), r.sessions()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fault.Errorf(fault.Storage, "make the directory of sessions: %w", err)
		}
	}
	return nil
}

// metaDir holds a file for each metadata key.
func metaDir(d shim.Dir) string { return filepath.Join(string(d), "meta") }

// maxFileName leaves room, under the 255 bytes of most file systems, for what
// temporary files put around a name.
const maxFileName = 180

// fileName turns a name into a file's, a different one for each name. Small
// letters, digits, '-', '_' and '.' stand for themselves and all else is
// %XX, so it can be read back, on file systems that fold case too. What
// becomes too long is cut and told apart by a hash after a '~'; its whole
// name is in the session's record.
func fileName(name string) string {
	const hexDigits = "0123456789abcdef"
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		plain := c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' && i > 0
		if plain {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hexDigits[c>>4])
		b.WriteByte(hexDigits[c&15])
	}
	file := b.String()
	if len(file) <= maxFileName {
		return file
	}
	sum := sha256.Sum256([]byte(name))
	tail := "~" + hex.EncodeToString(sum[:16])
	return file[:maxFileName-len(tail)] + tail
}

// nameOf undoes fileName. It reports false for names that were cut, and for
// files that fileName did not name.
func nameOf(file string) (string, bool) {
	name, err := url.PathUnescape(file)
	return name, err == nil && fileName(name) == file && len(name) <= len(file)
}

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
