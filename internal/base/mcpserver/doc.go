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
// One goroutine is not waited for, the one that reads stdin: to close a process's
// stdin does not end a read of it that is under way, and a client that keeps its
// end open and says nothing would keep the server from ending. It ends with the
// client, or with the process; what it reads until then is dropped.
package mcpserver
