// Package acp drives any agent that speaks the Agent Client Protocol.
//
// The protocol is JSON-RPC, one message a line, in both directions: den asks
// for sessions and turns, the agent asks for permissions, files and terminals.
// What den sends is made of the types of the ACP Go SDK. What agents send is
// read leniently and by stdio.Conn, because one line or one element that the
// SDK does not know must not end a session (docs/adr says which do).
//
// Every message of the agent passes one goroutine, the reader, in its order.
// While a turn runs, the reader hands what belongs to it to the goroutine that
// called Turn, through a bounded queue; so events come in the order of the
// wire, and a slow caller slows the agent down. Requests of the agent that may
// take long (a person is asked, a command runs) have a goroutine each; they end
// with their turn or with the session, and Close waits for them.
package acp
