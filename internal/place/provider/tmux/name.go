package tmux

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

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
