// Package shim is the process behind a session that has no terminal.
//
// A shim is started detached, with its bootstrap on stdin and its session's
// lock on a descriptor that it never lets go of: the session lives while the
// lock is held, whoever else comes and goes. It starts the command on pipes,
// keeps the end of its output, passes text to its input, and answers on a
// socket that only its user can reach.
//
// At the end the order is fixed. How the command ended is written first; then
// the rest of its process tree is ended and the output read to its end; then
// the last text is written; then callers get their answers; and the lock goes
// with the process. So whoever sees the lock free finds the rest on disk.
package shim
