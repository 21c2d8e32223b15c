package httpguard

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// KnowsHost reports whether a Host header is one that others cannot point at
// this machine: an address, localhost, or own, the name that the server was
// told to listen on (or "").
func KnowsHost(hostport, own string) bool {
	host := hostOf(hostport)
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return strings.EqualFold(host, "localhost") || own != "" && strings.EqualFold(host, own)
}

// IsLoopbackName is KnowsHost for servers that answer to this machine alone.
func IsLoopbackName(hostport string) bool {
	host := hostOf(hostport)
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

// hostOf returns the name or address in a Host header.
func hostOf(hostport string) string {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// SameOrigin refuses what a page of another server asks for. Programs that are
// no browsers say nothing, and pass.
func SameOrigin(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" {
		return isOwn(origin, r)
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return true
	}
	return false
}

// FromOwnPage reports whether a browser says that the request was made by a
// page of this server. Browsers always say so for a POST.
func FromOwnPage(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site") // older browsers do not say it
	return isOwn(r.Header.Get("Origin"), r) && (site == "" || site == "same-origin")
}

func isOwn(origin string, r *http.Request) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Scheme == "http" && strings.EqualFold(u.Host, r.Host)
}
