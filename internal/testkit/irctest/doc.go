// Package irctest has tests that check a client of package irc against chat
// servers, ours and others, and ours against other clients.
package irctest
