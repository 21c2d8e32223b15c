// Package codex reads what a Codex in a terminal does from the app server that
// it is connected to, and talks with it there.
//
// Launch starts the server beside the screen, in the same session. The server
// tells the status of every thread to every client. To a client that has joined
// a thread it also tells its turns and messages, and asks it for approvals:
// whoever answers first, the screen or den, decides. A thread cannot be joined
// before its first turn. What the server does not know is the question whether
// to carry out a plan: the turn is over then, and only the screen asks.
package codex
