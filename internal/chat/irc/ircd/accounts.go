package ircd

import (
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/base/statefile"
)

// accountsVersion is of the file.
const accountsVersion = 1

const (
	algorithm      = "pbkdf2-sha256"
	iterations     = 100_000 // about 30 ms; each account records its own
	maxIterations  = 10_000_000
	saltBytes      = 16
	hashBytes      = 32
	maxAccounts    = 10_000
	maxAccountFile = 8 << 20
)

type accountsFile struct {
	Version  int                `json:"version"`
	Accounts map[string]account `json:"accounts"` // by folded name
}

type account struct {
	Name       string `json:"name"`
	Algorithm  string `json:"algorithm"`
	Iterations int    `json:"iterations"`
	Salt       []byte `json:"salt"`
	Hash       []byte `json:"hash"`
}

// Accounts are the users who can log in. Passwords are stored as slow hashes.
type Accounts struct {
	path string

	mu       sync.Mutex // guards the field below
	accounts map[string]account
}

// OpenAccounts reads the file of accounts. A missing file has none.
func OpenAccounts(path string) (*Accounts, error) {
	a := &Accounts{path: path, accounts: map[string]account{}}
	file, _, err := statefile.Load[accountsFile](path, accountsVersion, maxAccountFile)
	if err != nil {
		return nil, fmt.Errorf("read accounts: %w", err)
	}
	for _, acc := range file.Accounts {
		if validNick(acc.Name) {
			a.accounts[fold(acc.Name)] = acc
		}
	}
	return a, nil
}

// Set makes an account, or changes its password. Account names follow the
// rules of nicks.
func (a *Accounts) Set(name, password string) error {
	if !validNick(name) {
		return fault.Errorf(fault.Usage, "set account: %q is no valid name", name)
	}
	if err := checkPassword(password); err != nil {
		return fault.Errorf(fault.Usage, "set account %s: %w", name, err)
	}
	acc := account{Name: name, Algorithm: algorithm, Iterations: iterations, Salt: make([]byte, saltBytes)}
	rand.Read(acc.Salt)
	var err error
	if acc.Hash, err = acc.hash(password); err != nil {
		return err
	}
	return a.change(func(all map[string]account) error {
		if _, exists := all[fold(name)]; !exists && len(all) >= maxAccounts {
			return fault.Errorf(fault.Busy, "set account %s: there are %d already", name, len(all))
		}
		all[fold(name)] = acc
		return nil
	})
}

// maxPassword bounds a password, in bytes.
const maxPassword = 256

// checkPassword refuses what a client cannot send: SASL has NUL between its
// parts, and clients read passwords from lines.
func checkPassword(password string) error {
	switch {
	case password == "":
		return errors.New("the password is empty")
	case len(password) > maxPassword:
		return fmt.Errorf("the password has more than %d bytes", maxPassword)
	case strings.ContainsAny(password, "\x00\r\n"):
		return errors.New("the password has a line end or a NUL in it")
	}
	return nil
}

// Remove deletes an account.
func (a *Accounts) Remove(name string) error {
	return a.change(func(all map[string]account) error {
		if _, exists := all[fold(name)]; !exists {
			return fault.Errorf(fault.NotFound, "remove account: no account %q", name)
		}
		delete(all, fold(name))
		return nil
	})
}

// change writes the file before the change counts.
func (a *Accounts) change(edit func(map[string]account) error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := maps.Clone(a.accounts)
	if err := edit(all); err != nil {
		return err
	}
	data, err := json.MarshalIndent(accountsFile{accountsVersion, all}, "", "\t")
	if err != nil {
		return fault.Errorf(fault.Internal, "encode accounts: %w", err)
	}
	if err := atomicfile.Write(a.path, append(data, '\n')); err != nil {
		return fault.Errorf(fault.Storage, "write accounts: %w", err)
	}
	a.accounts = all
	return nil
}

// Has reports whether there is an account of this name.
func (a *Accounts) Has(name string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, ok := a.accounts[fold(name)]
	return ok
}

// Names lists the accounts.
func (a *Accounts) Names() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	names := []string{}
	for _, acc := range a.accounts {
		names = append(names, acc.Name)
	}
	slices.Sort(names)
	return names
}

// Check returns the account's name as it is written, if the password is right.
// It takes as long for a name that nobody has.
func (a *Accounts) Check(name, password string) (string, error) {
	a.mu.Lock()
	acc, exists := a.accounts[fold(name)]
	a.mu.Unlock()
	if !exists {
		acc = account{Algorithm: algorithm, Iterations: iterations, Salt: make([]byte, saltBytes), Hash: make([]byte, hashBytes)}
	}
	hash, err := acc.hash(password)
	if err != nil {
		return "", err
	}
	if subtle.ConstantTimeCompare(hash, acc.Hash) != 1 || !exists {
		return "", fault.Errorf(fault.Denied, "log in: wrong account or password")
	}
	return acc.Name, nil
}

func (acc account) hash(password string) ([]byte, error) {
	if acc.Algorithm != algorithm || acc.Iterations < 1 || acc.Iterations > maxIterations {
		return nil, fault.Errorf(fault.Unsupported, "log in: the password is hashed by %q with %d iterations", acc.Algorithm, acc.Iterations)
	}
	hash, err := pbkdf2.Key(sha256.New, password, acc.Salt, acc.Iterations, hashBytes)
	if err != nil {
		return nil, fault.Errorf(fault.Internal, "hash password: %w", err)
	}
	return hash, nil
}

// Reserve has some nicks given to people of this machine only. may tells whether
// one is at the other end of a connection; it is not asked under the server's
// lock, and an error is told to the client. Who has such a nick and may not is
// disconnected. Clients that log in are not asked about: their account says who
// they are.
func (s *Server) Reserve(nicks []string, may func(net.Conn) error) {
	reserved := map[string]bool{}
	for _, nick := range nicks {
		reserved[fold(nick)] = true
	}
	s.mu.Lock()
	changed := !maps.Equal(s.reserved, reserved)
	s.reserved, s.mayReserved = reserved, may
	var holders []*client
	for c := range s.conns {
		if changed && reserved[fold(c.nick)] && c.isAskedAboutLocked() {
			holders = append(holders, c)
		}
	}
	s.mu.Unlock()
	for _, c := range holders {
		if err := may(c.conn); err != nil {
			c.out.close(reservedText(err))
		}
	}
}

// isAskedAboutLocked reports whether it is not known who the client is.
func (c *client) isAskedAboutLocked() bool { return c.account == "" && !c.loginRequired }

// askReserved returns why a client may not have a nick, nil if it may. A client
// without a login is asked about with its first nick, too: a person is known
// from then on.
func (s *Server) askReserved(c *client, nick string) error {
	s.mu.Lock()
	may, reserved, first := s.mayReserved, s.reserved[fold(nick)], !c.asked && c.password == ""
	ask := may != nil && (reserved || first) && c.isAskedAboutLocked()
	s.mu.Unlock()
	if !ask {
		return nil
	}
	err := may(c.conn)
	s.mu.Lock()
	c.asked, c.person = true, err == nil
	s.mu.Unlock()
	if !reserved {
		return nil
	}
	return err
}

// reservedText is what a client is told.
func reservedText(refused error) string {
	return cut("Nickname is reserved: "+refused.Error(), awayLen)
}
