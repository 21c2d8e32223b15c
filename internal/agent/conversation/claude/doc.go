// Package claude reads what a Claude Code in a terminal does from the session
// file that it keeps about itself.
//
// The file is sessions/PID.json in its configuration directory. It is not
// documented. It tells work from waiting for a decision, also after a denial
// and after Esc, where hooks are silent. It stays behind when the process is
// killed, so it counts only while a process with that number and start time
// lives.
//
// What was said is in the transcript of the session that the file names, and
// there is the error that a turn ended in: the file calls that idle.
package claude
