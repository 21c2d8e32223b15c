package mcp

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/base/httpguard"
)

const (
	// TokenVariable names the environment variable that may hold the token.
	TokenVariable = "DEN_MCP_TOKEN"
	minToken      = 16      // characters
	maxToken      = 4 << 10 // bytes of a file
)

// loadToken returns the token for HTTP: from the environment, else from a file,
// which is made if it is not there. It returns the file, or "".
func loadToken(getenv func(string) string, path string) (token, file string, err error) {
	if token := getenv(TokenVariable); token != "" {
		return token, "", checkToken(token, TokenVariable)
	}
	if token, err = readToken(path); !errors.Is(err, fs.ErrNotExist) {
		return token, path, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", "", fault.Errorf(fault.KindOf(err), "keep the token: %w", err)
	}
	token = httpguard.NewToken()
	if err := atomicfile.Write(path, []byte(token+"\n")); err != nil {
		return "", "", fault.Errorf(fault.KindOf(err), "keep the token: %w", err)
	}
	return token, path, nil
}

// readToken reads a token that others cannot read.
func readToken(path string) (string, error) {
	raw, err := atomicfile.Read(path, maxToken)
	if errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err != nil {
		return "", fault.Errorf(fault.KindOf(err), "read the token: %w", err)
	}
	fi, err := os.Stat(path)
	if err != nil {
		return "", fault.Errorf(fault.KindOf(err), "read the token: %w", err)
	}
	if fi.Mode().Perm()&0o077 != 0 {
		return "", fault.Hintf(fault.Errorf(fault.Denied, "other users can read the token in %s", path), "'chmod 600 %s', and a new token, keep them out", path)
	}
	token := strings.TrimSpace(string(raw))
	return token, checkToken(token, path)
}

// checkToken refuses what could be guessed or cannot stand in a header. The
// error does not show it.
func checkToken(token, from string) error {
	if len(token) < minToken {
		return fault.Errorf(fault.Usage, "the token in %s is shorter than %d characters", from, minToken)
	}
	for _, r := range token {
		if r <= ' ' || r > '~' {
			return fault.Errorf(fault.Usage, "the token in %s has characters that a header cannot carry", from)
		}
	}
	return nil
}
