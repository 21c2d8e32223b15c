// Package copilot reads what a Copilot CLI in a terminal does from the files
// that it keeps about its sessions.
//
// open-sessions-state.json says whether a session works, also after a denial
// and after Esc, but also while a decision is open. On a busy machine it is
// late, so the package reads the calls of the model in the session's
// events.jsonl, too. That file also has the questions, the decisions and the
// error that ended a turn. The inuse.PID.lock of a session names its process.
package copilot
