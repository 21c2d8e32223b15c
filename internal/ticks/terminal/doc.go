// Package terminal gives an agent numbered terminals: the tools login, open,
// type, wait and close.
//
// A terminal is a den session. Each is followed by its event log on an
// emulator of this process (view), which tells what the agent has not seen. A
// number of the log is the high-water mark: what was printed up to it was
// shown. The host compares it, and the program in the foreground, in the step
// that sends keystrokes, so that nothing reaches a program that the agent does
// not know about.
//
// # Ownership
//
// A Set belongs to one tick. It has one goroutine for each open terminal, which
// sleeps until the terminal prints something, one that writes files, and during a
// wait one for each terminal that works. Calls
// of tools may come at the same time. Detach ends the goroutines and leaves the
// sessions running.
//
// # Locks
//
// Set.mu guards which terminals there are, tty.mu what is known of one of them,
// files.mu the files. tty.typing is held from the checks of Type to its answer.
// Order: tty.typing, then registry.mu, then Set.mu, then tty.mu; files.mu is a leaf. Under tty.mu
// output is emulated, and what does not fit in memory is written to a file.
package terminal
