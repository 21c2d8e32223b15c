// Package runner drives coding agents by their own protocols, without a
// screen.
//
// A Driver knows one vendor's protocol: it spawns the agent, opens or resumes
// a session and runs one turn at a time. The Runner does
// everything that is the same for all vendors: the queue on disk, the ids of
// turns, time limits by silence, cancelling before killing, and restarts. A
// harness has a Runner, and the keeper talks with that by conversation/protocol.
package runner
