package workspace

import (
	"net"
	"strconv"
)

// IsElsewhere reports whether the file names a server on another machine, which
// no keeper here can be.
func (s Server) IsElsewhere() bool {
	ip := net.ParseIP(s.Host)
	return s.Host != "" && s.Host != "localhost" && (ip == nil || !ip.IsLoopback())
}

// checkServer checks how the keeper's own server is offered to other machines.
func checkServer(s Server, table *node, r *report) {
	if s.Listen == "" {
		for _, key := range []string{"tls_cert", "tls_key"} {
			if n := table.get(key); n != nil {
				r.add(n.origin, "'server.%s' is for clients of other machines: 'server.listen' says where they connect", key)
			}
		}
		return
	}
	at := table.get("listen").origin
	_, port, err := net.SplitHostPort(s.Listen)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		r.add(at, "'server.listen' is '%s'; it must be an address and a port, such as \"0.0.0.0:6697\"", s.Listen)
	}
	if s.TLSCert == "" || s.TLSKey == "" {
		r.add(at, "'server.listen' needs 'tls_cert' and 'tls_key': people of other machines log in with passwords")
	}
	if s.IsElsewhere() {
		r.add(at, "'server.listen' is for the keeper's own server, and 'server.host' names another one, '%s': keep one", s.Host)
	}
}
