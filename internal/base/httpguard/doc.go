// Package httpguard keeps strangers away from den's HTTP servers: other
// machines, other pages in a browser (also those that point a name of theirs at
// this machine), and programs without the token.
package httpguard
