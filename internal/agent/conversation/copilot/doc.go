// Package copilot reads what a Copilot CLI in a terminal does from the files
// that it keeps about its sessions.
//
// open-sessions-state.json says whether a session works, also after a denial
// and after Esc; it says so while a decision is open, too. On a busy machine it
// is late, so that the calls of the model in the session's events.jsonl count
// as well. There is also what was asked and decided, and the error that a turn
// ended in. A session belongs to the process that its inuse.PID.lock names.
package copilot
