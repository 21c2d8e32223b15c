// Package mcpserver serves a list of tools to clients of the Model Context
// Protocol, over stdio or over HTTP on this machine. What the tools do, and
// what belongs to a client, is its caller's.
//
// # Ownership
//
// A [Server] waits, in goroutines of its own, for the end of each client that
// called something, and closes what belongs to it. [Server.Stdio] and
// [Server.HTTP] return when all of them, and all calls, have ended.
//
// Two goroutines are not waited for. One reads stdin: to close a process's stdin
// does not end a read of it that is under way, and a client that keeps its end open
// and says nothing would keep the server from ending. What it reads then is dropped.
// The other writes to stdout the last answer, which a client that has left may never
// read: to close stdout ends no write. Both end with the client, or with the process.
package mcpserver
