// Package tmux runs agents' sessions in a tmux server of den's own.
//
// Each workspace has one server, on the socket that Options names. Only the server
// keeps state: a session's name, owner, directory and metadata are user options of
// its tmux session. So any process that opens the same socket with the same owner
// finds them, and they end with the session. The owner tag identifies a session,
// never its name; other sessions on the server are not touched.
//
// The package asks through one tmux client in control mode, which it keeps open:
// a question is one line of any length and needs no process. It starts the client
// when it first needs it, and again after the client was lost. The socket itself
// tells whether there is a server, so "no server" is never mistaken for "could not
// ask".
//
// A session is one tmux session whose command keeps its pane when it ends
// (remain-on-exit): the screen and the exit status stay until Stop.
package tmux

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/base/filelock"
	"den/internal/place/provider"
	"den/internal/place/provider/local"
	"den/internal/process/tree"
)

// Options say which server, and whose sessions on it.
type Options struct {
	Socket string // path of the server's socket, one a workspace
	Owner  string // whose sessions these are; others on the server are not seen
	Binary string // "" means tmux on PATH

	// Grace is how long each step of Stop may take before a harder one; 0
	// means 2 s.
	Grace time.Duration
	// Patience is how long the server may take to answer, or to come up. One
	// that does not answer by then could not be asked. 0 means 10 s.
	Patience time.Duration
}

// Provider runs sessions in one tmux server. It holds a client process once it
// was asked something; Close ends that, and no session.
type Provider struct {
	local.Place
	socket   string
	owner    string
	binary   string
	grace    time.Duration
	patience time.Duration
	realm    string // names the socket in the marks of processes
	prefix   string // what this owner's tmux session names begin with
	scans    tree.SharedScan[listing]
	stamps   stamps

	gate   chan struct{} // has one token: whoever holds it may connect; guards the fields below
	client *client       // or nil
	closed bool
}

var (
	_ provider.Provider      = (*Provider)(nil)
	_ provider.OnTerminal    = (*Provider)(nil)
	_ provider.Leaver        = (*Provider)(nil)
	_ provider.ProcessLister = (*Provider)(nil)
)

// maxSocketPath is what every system's socket address holds.
const maxSocketPath = 103

const (
	defaultGrace    = 2 * time.Second
	defaultPatience = 10 * time.Second
)

// Open finds the program and checks the options. It starts nothing.
func Open(o Options) (*Provider, error) {
	binary := o.Binary
	if binary == "" {
		binary = "tmux"
	}
	binary, err := exec.LookPath(binary)
	if err != nil {
		return nil, fault.Hintf(fault.Errorf(fault.Unsupported, "open tmux: %w", err), "install tmux 3.3 or newer, or choose another provider")
	}
	if binary, err = filepath.Abs(binary); err != nil { // sessions call it from elsewhere
		return nil, fault.Errorf(fault.Internal, "open tmux: %w", err)
	}
	if !filepath.IsAbs(o.Socket) {
		return nil, fault.Errorf(fault.Usage, "open tmux: socket path %q is not absolute", o.Socket)
	}
	if len(o.Socket) > maxSocketPath {
		return nil, fault.Hintf(fault.Errorf(fault.Usage, "open tmux: socket path %q has %d bytes, %d fit", o.Socket, len(o.Socket), maxSocketPath),
			"put the socket into a directory with a shorter path")
	}
	if o.Grace == 0 {
		o.Grace = defaultGrace
	}
	if o.Patience == 0 {
		o.Patience = defaultPatience
	}
	socket := filepath.Clean(o.Socket)
	sum := sha256.Sum256([]byte(socket))
	p := &Provider{
		socket: socket, owner: o.Owner, binary: binary, grace: o.Grace, patience: o.Patience,
		realm: hex.EncodeToString(sum[:8]), prefix: ownerPrefix(o.Owner), gate: make(chan struct{}, 1),
		scans: tree.SharedScan[listing]{Scan: func() listing {
			all, err := allProcesses()
			return listing{all, err}
		}},
	}
	p.gate <- struct{}{}
	return p, nil
}

// Close ends the client process. Sessions go on; the provider cannot be used
// any more. What is under way ends with an error.
func (p *Provider) Close() error {
	<-p.gate
	defer func() { p.gate <- struct{}{} }()
	p.closed = true
	if p.client == nil {
		return nil
	}
	p.client.close()
	p.client = nil
	return nil
}

// lockGate takes the gate, or gives up with the context.
func (p *Provider) lockGate(ctx context.Context) error {
	select {
	case <-p.gate:
		return nil
	case <-ctx.Done():
		return unasked(ctx.Err())
	}
}

func (p *Provider) unlockGate() { p.gate <- struct{}{} }

// A tmux session of owner "city" and name "w.1" is called "city/w_2e1". The
// encoding is one to one: letters, digits and '-' stand for themselves, every
// other byte is '_' and two hexadecimal digits. tmux forbids '.' and ':' and
// reads meaning into others; none of those is left. The name is for people and
// for exact targets; what a session is called is in its options.

// keeper is the session that den's own clients are joined to. It has no '/',
// so it is no session's.
const keeper = "den-keeper"

// maxOwner bounds the owner's part. A longer one is digested; "_x" is no
// beginning of an encoded text.
const maxOwner = 64

func ownerPrefix(owner string) string {
	enc := encode(owner)
	if len(enc) > maxOwner {
		sum := sha256.Sum256([]byte(owner))
		enc = "_x" + hex.EncodeToString(sum[:16])
	}
	return enc + "/"
}

func encode(s string) string {
	const digits = "0123456789abcdef"
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-':
			b.WriteByte(c)
		default:
			b.WriteByte('_')
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&0xf])
		}
	}
	return b.String()
}

// decode undoes encode. It reports false for what encode cannot have made.
func decode(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '_' {
			b.WriteByte(s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", false
		}
		raw, err := hex.DecodeString(s[i+1 : i+3])
		if err != nil {
			return "", false
		}
		b.Write(raw)
		i += 2
	}
	return b.String(), encode(b.String()) == s
}

// target is the exact name of a session, for tmux's -t.
func (p *Provider) tmuxName(name string) string { return p.prefix + encode(name) }

// lock takes a lock that holds across goroutines and processes until the file
// is closed. All locks of a server are offsets in one file beside its socket,
// so none is left over.
func (p *Provider) lock(ctx context.Context, what string) (*os.File, error) {
	sum := sha256.Sum256([]byte(what))
	offset := int64(binary.BigEndian.Uint64(sum[:8]) >> 2) // offset+1 must not overflow
	f, err := filelock.WaitAt(ctx, p.socket+".den-lock", offset)
	if err != nil {
		return nil, fault.Errorf(fault.KindOf(err), "wait for a lock of the tmux server: %w", err)
	}
	return f, nil
}
