// Package claude reads what a Claude Code in a terminal does from the session
// file that it keeps about itself.
//
// The file is sessions/PID.json in its configuration directory. It is not
// documented. It tells work from waiting for a decision, also after a denial
// and after Esc, where hooks are silent. A killed process leaves its file
// behind, so a file counts only while a process with its number and start time
// lives.
//
// The file names the transcript of the session. The transcript has what was
// said, and the error that ended a turn, which the file calls idle.
package claude
