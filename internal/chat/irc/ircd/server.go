package ircd

import (
	"context"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	"den/internal/base/fault"
	"den/internal/base/poll"
	"den/internal/chat/irc"
	"den/internal/chat/irc/ircd/history"
)

// A Server is one chat server. Make it with New; Serve runs it.
type Server struct {
	cfg     Config
	created time.Time
	history *history.Log  // or nil
	logins  chan struct{} // a slot for each password that is checked at once
	clients sync.WaitGroup

	mu             sync.Mutex // guards the fields below and the state of clients and channels
	conns          map[*client]struct{}
	addresses      map[string]int      // connections by host
	nicks          map[string]*client  // registered clients, by folded nick
	residents      map[string]resident // see SetResidents; by folded nick
	reserved       map[string]bool     // see Reserve; folded nicks
	mayReserved    func(net.Conn) error
	channels       map[string]*channel
	burst          *burst // of the client whose line is handled, or nil
	batches        uint64
	ids            uint64 // of messages that are not stored
	address        net.Addr
	stopping       bool
	membersChanged bool  // since channels were saved
	syncError      error // why the history could not be synced, or nil
}

// loginsAtOnce bounds how many passwords are checked at the same time: that is
// slow by design. More logins wait.
const loginsAtOnce = 2

// New opens the history and returns a server that serves nobody yet.
func New(cfg Config) (*Server, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{
		cfg: cfg, created: cfg.Now(),
		logins: make(chan struct{}, loginsAtOnce),
		conns:  map[*client]struct{}{}, addresses: map[string]int{}, nicks: map[string]*client{}, channels: map[string]*channel{},
	}
	if cfg.Dir == "" {
		return s, nil
	}
	if s.history, err = history.Open(cfg.Dir, history.Options{MaxBytes: cfg.HistoryBytes, Now: cfg.Now}); err != nil {
		return nil, err
	}
	if err := s.loadChannels(); err != nil {
		return nil, errors.Join(err, s.history.Close())
	}
	return s, nil
}

// Serve accepts clients until the context ends, then disconnects them, waits
// for them and closes the history. The listeners are closed too. It may be
// called once.
func (s *Server) Serve(ctx context.Context, listeners ...Listener) error {
	defer closeAll(listeners)
	for _, l := range listeners {
		if err := s.check(l); err != nil {
			return errors.Join(err, s.Close())
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var workers sync.WaitGroup
	for _, l := range listeners {
		s.announce(l.Addr())
		workers.Go(func() { cancel(s.accept(ctx, l)) })
	}
	workers.Go(func() { s.syncHistory(ctx) })
	<-ctx.Done()
	closeAll(listeners)
	workers.Wait()
	err := s.Close()
	if cause := context.Cause(ctx); cause != context.Canceled && cause != context.DeadlineExceeded {
		return errors.Join(cause, err)
	}
	return err
}

func closeAll(listeners []Listener) {
	for _, l := range listeners {
		l.Close() // Best effort: it may be closed already.
	}
}

func (s *Server) announce(a net.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.address == nil {
		s.address = a
	}
}

// Address is where the server listens, or "" before Serve.
func (s *Server) Address() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.address == nil {
		return ""
	}
	return s.address.String()
}

// Close disconnects all clients, waits for them and closes the history. Serve
// does it by itself.
func (s *Server) Close() error {
	s.mu.Lock()
	if !s.stopping {
		s.saveChannelsLocked() // before its members leave
	}
	s.stopping = true
	for c := range s.conns {
		c.out.close("Server is shutting down")
	}
	s.mu.Unlock()
	s.clients.Wait()
	if s.history == nil {
		return nil
	}
	err := s.history.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(err, s.syncError)
}

// accept returns nil when the context ends.
func (s *Server) accept(ctx context.Context, l Listener) error {
	for pause := time.Duration(0); ; {
		conn, err := l.Accept()
		switch {
		case err == nil:
			pause = 0
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return fault.Errorf(fault.Internal, "accept IRC clients: %w", err)
		default: // too many open files, or a client that left at once
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			if poll.Pause(ctx, pause) != nil {
				return nil
			}
			continue
		}
		if l.TLS != nil {
			conn = tls.Server(conn, l.TLS)
		}
		s.admit(conn, l.loginRequired())
	}
}

// admit begins to serve a connection, unless there are too many.
func (s *Server) admit(conn net.Conn, loginRequired bool) {
	if s.begin(newClient(s, conn, hostOf(conn), loginRequired)) {
		return
	}
	// Best effort: a client that cannot be served may be told why. The line
	// fits in the socket's empty buffer; with TLS it would need a handshake,
	// so there it is not sent.
	if _, plain := conn.(*net.TCPConn); plain {
		conn.SetWriteDeadline(time.Now().Add(time.Second))
		conn.Write([]byte("ERROR :Too many connections\r\n"))
	}
	conn.Close()
}

func (s *Server) begin(c *client) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping || len(s.conns) >= s.cfg.Limits.Clients || s.addresses[c.host] >= s.cfg.Limits.ClientsPerAddress {
		return false
	}
	if c.loginRequired && s.strangersLocked() >= s.cfg.Limits.Strangers {
		return false
	}
	s.conns[c] = struct{}{}
	s.addresses[c.host]++
	s.clients.Go(c.run)
	return true
}

// strangersLocked counts the clients that have to log in and have not.
func (s *Server) strangersLocked() int {
	n := 0
	for c := range s.conns {
		if c.loginRequired && c.account == "" {
			n++
		}
	}
	return n
}

// EndLogins disconnects the clients that are logged in with an account: it was
// removed, or its password is another one now.
func (s *Server) EndLogins(account string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if c.account != "" && fold(c.account) == fold(account) {
			c.out.close("The account was changed")
		}
	}
}

// syncHistory syncs the history until the context ends. Stats has the error of
// the last time.
func (s *Server) syncHistory(ctx context.Context) {
	if s.history == nil {
		return
	}
	tick := time.NewTicker(s.cfg.SyncInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := s.history.Sync()
		s.mu.Lock()
		s.syncError = err
		if s.membersChanged {
			s.saveChannelsLocked()
		}
		s.mu.Unlock()
	}
}

// batchLocked returns a name for a batch, unique on this server.
func (s *Server) batchLocked() string {
	s.batches++
	return encodeID(s.batches)
}

// Stats are figures for a status page.
type Stats struct {
	Clients  int   `json:"clients"`
	Channels int   `json:"channels"`
	Damaged  int   `json:"damaged"` // records of the history that could not be read
	Error    error `json:"-"`       // why the history was not synced to the disk, or nil
}

// Stats returns the figures of now.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := Stats{Clients: len(s.nicks), Channels: len(s.channels), Error: s.syncError}
	if s.history != nil {
		stats.Damaged = s.history.Damaged()
	}
	return stats
}

// A Listener is where clients connect.
type Listener struct {
	net.Listener
	TLS *tls.Config // or nil: plain text, on loopback addresses and Unix sockets only
	// Login has every client log in, also on a loopback address, where every
	// user of the machine can connect. Elsewhere they always have to.
	Login bool
}

// Listen opens a TCP address.
func Listen(address string, config *tls.Config) (Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return Listener{}, fault.Errorf(fault.Unreachable, "listen for IRC clients on %s: %w", address, err)
	}
	return Listener{Listener: l, TLS: config}, nil
}

// local reports whether only processes of this machine reach the listener.
func (l Listener) local() bool {
	switch a := l.Addr().(type) {
	case *net.TCPAddr:
		return a.IP.IsLoopback()
	case *net.UnixAddr:
		return true
	}
	return false
}

// loginRequired reports whether clients have to log in there.
func (l Listener) loginRequired() bool { return l.Login || !l.local() }

// check refuses to offer the server to a network without encryption and
// logins.
func (s *Server) check(l Listener) error {
	if !l.loginRequired() {
		return nil
	}
	if !l.local() && (l.TLS == nil || len(l.TLS.Certificates) == 0 && l.TLS.GetCertificate == nil) {
		return fault.Hintf(fault.Errorf(fault.Denied, "serve IRC on %s: clients from outside need TLS, and it is not configured", l.Addr()),
			"give the server a certificate, or let it listen on 127.0.0.1")
	}
	if s.cfg.Accounts == nil {
		return fault.Hintf(fault.Errorf(fault.Denied, "serve IRC on %s: clients from outside have to log in, and there are no accounts", l.Addr()),
			"create accounts, or let it listen on 127.0.0.1")
	}
	return nil
}

// hostOf is how others see where a client comes from.
func hostOf(conn net.Conn) string {
	tcp, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok || tcp.IP.IsLoopback() {
		return "localhost"
	}
	host := tcp.IP.String()
	if host[0] == ':' {
		host = "0" + host // no parameter begins with a colon
	}
	return host
}

// A resident is one who comes back when it is away, as agents do.
type resident struct{ nick, secret string }

// SetResidents names those who come back when they are away, and the secret that
// each is known by, which it sends as PASS. Its nick is for a resident alone: who
// has it and is not the one is disconnected. A direct message to one that is not
// there is kept in the history, and read from there. Without a history nothing
// is kept.
func (s *Server) SetResidents(secrets map[string]string) {
	residents := map[string]resident{}
	for nick, secret := range secrets {
		residents[fold(nick)] = resident{nick, secret}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.residents = residents
	for nick, c := range s.nicks {
		if s.belongsToAgentLocked(c, nick) {
			c.out.close("Nickname belongs to an agent")
		}
	}
}

// belongsToAgentLocked reports whether a nick is that of a resident, and the
// client another one. An account of that name comes before it.
func (s *Server) belongsToAgentLocked(c *client, nick string) bool {
	_, is := s.residents[fold(nick)]
	return is && c.agent != fold(nick) && !s.isAccount(nick)
}

func (s *Server) isAccount(name string) bool {
	return s.cfg.Accounts != nil && s.cfg.Accounts.Has(name)
}

// recogniseLocked finds out which resident a client is, by what PASS said. It
// answers with an error if it is none.
func (s *Server) recogniseLocked(c *client) bool {
	if c.password == "" || c.account != "" {
		return true
	}
	for nick, r := range s.residents {
		if r.secret != "" && subtle.ConstantTimeCompare([]byte(r.secret), []byte(c.password)) == 1 {
			if !s.isAccount(nick) {
				c.agent = nick
			}
			return true
		}
	}
	c.numericLocked(irc.ERR_PASSWDMISMATCH, "Password incorrect")
	c.out.close("Bad password")
	return false
}
