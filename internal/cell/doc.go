// Package cell is code sent to a session, and the ways to know that it is done.
package cell
