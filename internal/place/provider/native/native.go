// Package native is the provider whose sessions are den's own: one host
// process each, in a Home.
//
// There is nothing to keep in memory: the Home says which sessions there are,
// whose they are (by the labels OwnerLabel and NameLabel), whether they run
// (by the host's lock) and how they ended. So any number of providers, in any
// number of processes, may be open on one Home.
package native

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"den/internal/base/fault"
	"den/internal/base/filelock"
	"den/internal/base/ident"
	"den/internal/base/statefile"
	"den/internal/place/provider"
	"den/internal/place/provider/children"
	"den/internal/place/provider/local"
	"den/internal/session"
	"den/internal/session/home"
)

// The labels of a session's record that this provider goes by.
const (
	OwnerLabel  = home.OwnerLabel
	NameLabel   = "den.name"
	beforeLabel = "den.before" // the id of the session of that name before this one
)

// Options says where sessions run and whose they are.
type Options struct {
	Home    home.Home
	Owner   string // whose sessions these are; other owners' are not seen
	Binary  string // den, as an absolute path
	Version string // this build's, for hosts to know who calls
	// Grace is how long each way of asking a session to end may take before
	// the next, harder one; 0 means 3 seconds.
	Grace time.Duration
}

// Provider runs sessions in a Home. It starts no goroutine but those of Watch.
type Provider struct {
	Options
	local.Place
	tag      string // the owner as the first part of session names
	children children.Set
}

var (
	_ provider.Provider      = (*Provider)(nil)
	_ provider.OnTerminal    = (*Provider)(nil)
	_ provider.InHome        = (*Provider)(nil)
	_ provider.Looker        = (*Provider)(nil)
	_ provider.ProcessLister = (*Provider)(nil)
)

const defaultGrace = 3 * time.Second

// Open returns the provider for a Home, which is made if there is none.
func Open(o Options) (*Provider, error) {
	switch {
	case o.Owner == "":
		return nil, fault.Errorf(fault.Usage, "open native provider: no owner is given")
	case !filepath.IsAbs(o.Home.Path):
		return nil, fault.Errorf(fault.Usage, "open native provider: Home '%s' is not an absolute path", o.Home.Path)
	case !filepath.IsAbs(o.Binary):
		return nil, fault.Errorf(fault.Usage, "open native provider: den's binary '%s' is not an absolute path", o.Binary)
	}
	if o.Grace == 0 {
		o.Grace = defaultGrace
	}
	p := &Provider{Options: o, tag: ownerTag(o.Owner)}
	// Made now, so that a Home that is missing later is known to be gone, not
	// taken for one without sessions.
	for _, dir := range []string{p.sessions(), p.names()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fault.Hintf(fault.Errorf(fault.KindOf(err), "create Home %s: %w", o.Home.Path, err), "choose a directory that you may write to")
		}
	}
	return p, nil
}

// The two directories of a Home; see docs/protocol/home.md.
func (p *Provider) sessions() string { return filepath.Join(p.Home.Path, "sessions") }
func (p *Provider) names() string    { return filepath.Join(p.Home.Path, "names") }

// session is how a session is talked to.
func (p *Provider) session(d home.Dir) *session.Session {
	return session.In(d, session.Options{Version: p.Version})
}

// A session of owner "city" and name "w-1" is "city.w-1" among all sessions of
// the Home. What den's names cannot hold is replaced, and a digest of the
// original makes it unique again; the labels have the original. An owner's
// part has no '.', so where it ends is never in doubt.

// Digests are long enough that two names never meet by accident; a name that
// ends as if it had one gets one, so none can be made to meet either.
const (
	ownerDigest = 10
	nameDigest  = 16
	maxOwner    = 40 // of what a name may have, in bytes
	maxReadable = 50 // what people see of a name that does not fit
)

var (
	plainOwner  = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]*$`)
	likeDigest  = regexp.MustCompile(`(^|-)x[0-9a-f]+$`)
	notReadable = regexp.MustCompile(`[^A-Za-z0-9_-]+`)
)

// ownerTag is what all session names of an owner begin with, before the '.'.
func ownerTag(owner string) string {
	if len(owner) <= maxOwner && plainOwner.MatchString(owner) && !likeDigest.MatchString(owner) {
		return owner
	}
	return digested(owner, ownerDigest, maxOwner-ownerDigest-len("-x"))
}

// ref is the session's name in the Home.
func (p *Provider) ref(name string) string {
	if ref := p.tag + "." + name; ident.Check("session", ref) == nil && !likeDigest.MatchString(name) {
		return ref
	}
	return p.tag + "." + digested(name, nameDigest, maxReadable)
}

// DenSession is the session's name for den's own verbs.
func (p *Provider) DenSession(name string) string { return p.ref(name) }

// digested is a readable part of at most readable bytes and a digest.
func digested(s string, digest, readable int) string {
	sum := sha256.Sum256([]byte(s))
	shown := strings.TrimLeft(notReadable.ReplaceAllString(s, "-"), "-")
	shown = shown[:min(len(shown), readable)]
	return strings.TrimLeft(shown+"-x"+hex.EncodeToString(sum[:])[:digest], "-")
}

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
