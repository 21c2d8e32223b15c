// Package idle reports whether the program on a terminal that another process
// holds waits for its user.
//
// It asks the operating system's kernel, as den's own hosts do. For that it needs
// the terminal's master, which the tmux server holds: it duplicates the server's
// descriptor for one probe. If this process may not inspect the server, the result
// is fault.Unsupported, and the caller must rely on the screen.
package idle

import (
	"time"

	"den/internal/base/fault"
	"den/internal/process/pty"
)

// between is the time between the two looks that must agree.
const between = 250 * time.Microsecond

// Waits reports whether the program on the terminal tty waits for its user
// now. holder is the process that has the terminal's master, root the first
// process of the program.
func Waits(holder int, tty string, root int) (bool, error) {
	master, err := borrow(holder, tty)
	if err != nil {
		return false, err
	}
	p, err := pty.FromFile(master)
	if err != nil {
		master.Close() // Best effort: it was only borrowed.
		return false, fault.Errorf(fault.Unsupported, "look at terminal %s: %w", tty, err)
	}
	defer p.Close() // Best effort, as above. Soon: while it is open the terminal does not hang up.
	p.SetRoot(root)
	first := p.Probe()
	if first.State != pty.Ready {
		return false, nil
	}
	time.Sleep(between)
	second := p.Probe()
	return second.State == pty.Ready && second.Fingerprint == first.Fingerprint, nil
}
