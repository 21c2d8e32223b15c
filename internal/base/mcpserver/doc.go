// Package mcpserver serves a list of tools to clients of the Model Context
// Protocol, over stdio or over HTTP on this machine. What the tools do, and
// what belongs to a client, is its caller's.
//
// # Ownership
//
// A [Server] has one goroutine for each client that called something: it waits
// for the client's end and closes what belongs to it. [Server.Stdio] and
// [Server.HTTP] return when all of them, and all calls, have ended.
package mcpserver
