// Package daemon is the keeper's process: it loads a workspace, opens the
// providers of its agents, runs a controller over them, and serves a socket.
package daemon
