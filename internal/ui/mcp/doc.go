// Package mcp offers a client's terminals as tools of the Model Context
// Protocol.
//
// Every client has its own [terminals.Client]. What goes wrong is an answer of
// a tool, in words for a model: what happened, and which tool helps. An agent
// of a harness gets tools for its channels beside them.
package mcp
