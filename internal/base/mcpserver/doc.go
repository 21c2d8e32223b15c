// Package mcpserver serves a list of tools to clients of the Model Context
// Protocol, over stdio or over HTTP on this machine. What the tools do, and
// what belongs to a client, is its caller's.
//
// # Ownership
//
// A [Server] waits, in goroutines of its own, for the end of each client that
// called something, and closes what belongs to it. [Server.Stdio] and
// [Server.HTTP] return when all of them, and all calls, have ended.
package mcpserver
