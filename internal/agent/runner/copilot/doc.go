// Package copilot drives GitHub Copilot CLI by its server mode.
//
// That is the protocol of the vendor's own SDK: JSON-RPC with a header before
// each message. The CLI speaks ACP, too, but hides there what den must know:
// failures come as text of a turn that ended well, tools have no names, and who
// is denied does not learn why (docs/adr).
//
// The agent tells what happens by events; a turn is over when the agent is idle.
package copilot
