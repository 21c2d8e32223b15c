package workspace_test

import (
	"path/filepath"
	"strings"
	"testing"

	"den/internal/place/workspace"
)

// How the keeper's own server is offered to other machines.
func TestServerForOtherMachines(t *testing.T) {
	path := write(t, map[string]string{"den.toml": "[server]\nlisten = \"0.0.0.0:6697\"\ntls_cert = \"tls/cert.pem\"\ntls_key = \"/etc/key.pem\"\n"})
	s := load(t, path).Server
	if s.Listen != "0.0.0.0:6697" || s.TLSCert != filepath.Join(filepath.Dir(path), "tls", "cert.pem") || s.TLSKey != "/etc/key.pem" || s.IsElsewhere() {
		t.Errorf("%+v", s)
	}
	for text, want := range map[string]string{
		"listen = \"0.0.0.0:6697\"\n":                                            "den.toml:2: 'server.listen' needs 'tls_cert' and 'tls_key'",
		"listen = \"0.0.0.0:6697\"\ntls_cert = \"c\"\n":                          "'server.listen' needs 'tls_cert' and 'tls_key'",
		"listen = \"0.0.0.0\"\ntls_cert = \"c\"\ntls_key = \"k\"\n":              "'server.listen' is '0.0.0.0'; it must be an address and a port",
		"listen = \":irc\"\ntls_cert = \"c\"\ntls_key = \"k\"\n":                 "it must be an address and a port",
		"listen = \":1\"\ntls_cert = \"c\"\ntls_key = \"k\"\nhost = \"other\"\n": "'server.host' names another one, 'other': keep one",
		"tls_cert = \"c\"\n": "'server.tls_cert' is for clients of other machines",
	} {
		_, err := workspace.Load(write(t, map[string]string{"den.toml": "[server]\n" + text}))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestServerIsElsewhere(t *testing.T) {
	for host, want := range map[string]bool{"": false, "localhost": false, "127.0.0.1": false, "::1": false, "10.0.0.5": true, "irc.example.com": true} {
		if got := (workspace.Server{Host: host}).IsElsewhere(); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
}
