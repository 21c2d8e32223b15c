package pty

import "golang.org/x/sys/unix"

// InputQueued returns the number of input bytes that the program has not read.
// In canonical mode a line counts once it is complete.
func (p *PTY) InputQueued() (n int, err error) {
	err = p.control("ask for the terminal's input queue", func(fd int) error {
		slave, err := openSlave(fd, p.id.name)
		if err != nil {
			return err
		}
		defer unix.Close(slave)
		n, err = unix.IoctlGetInt(slave, unix.TIOCINQ)
		return err
	})
	return n, err
}
