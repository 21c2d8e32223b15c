// Package box keeps the container in which an agent that sleeps and wakes
// lives: its terminals and its hooks run there.
//
// The container is a session of the container provider in which nothing runs
// but den's host: see package boxed. It is made when a tick needs it and stays
// between ticks, until what it is made from has changed. Terminals are sessions
// of their own, in a Home of the instance's own, whose directory the container
// has. Their hosts are started in it by the provider's Exec and serve sockets
// that are reached from outside, so a terminal is watched and typed into without
// the engine.
//
// # Ownership
//
// Only the process that runs a tick of the instance, or holds its lock, may use a
// Box. A Box has no goroutines. Hooks and tools may call it at the same time: one
// call at a time checks that the container runs, and starts it if not.
package box
