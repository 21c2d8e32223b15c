package subprocess

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"den/internal/base/fault"
	"den/internal/place/provider/subprocess/shim"
)

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
