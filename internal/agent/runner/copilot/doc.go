// Package copilot drives GitHub Copilot CLI by its server mode.
//
// The vendor's own SDK speaks this protocol: JSON-RPC with a header before
// each message. The CLI speaks ACP, too, but ACP hides what den must know:
// failures come as text of a turn that ended well, tools have no names, and a
// denied agent does not learn why (docs/adr).
//
// The agent reports by events; a turn is over when the agent is idle.
package copilot
