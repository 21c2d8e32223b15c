// Package copilot reads what a Copilot CLI in a terminal does from the files
// that it keeps about its sessions.
//
// open-sessions-state.json says whether a session works, also after a denial
// and after Esc; it says so while a decision is open, too. The session's
// events.jsonl has what was asked and decided. A session belongs to the process
// that its inuse.PID.lock names.
package copilot
