// Package dend is the keeper's process: it reads a workspace, opens the places
// where its agents live, lets a controller keep them, and answers on a socket.
package dend
