// Package httpguard keeps strangers away from den's HTTP servers: other
// machines, other pages in a browser (also those whose host name points at this
// machine), and programs without the token.
package httpguard
