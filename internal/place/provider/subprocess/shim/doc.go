// Package shim is the process behind a session that has no terminal.
//
// A shim is started detached, with its bootstrap on stdin and its session's
// lock on a descriptor that it keeps open: the session is alive while the lock
// is held. The shim starts the command on pipes, keeps the end of its output,
// passes text to its input, and serves a socket that only its user can reach.
//
// It shuts down in a fixed order: it records how the command ended, ends the
// rest of the process tree, reads the output to its end, writes the last text,
// and answers its callers. The lock is released with the process, so a reader
// that finds it free finds everything else on disk.
package shim
