package tree

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// A page of the binary's that was written to, as the dynamic linker does, stays as
// it is.
func TestForgetBinaryKeepsWrittenPages(t *testing.T) {
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	page, err := unix.Mmap(int(self.Fd()), 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(page)
	page[100] = ^page[100]
	want := page[100]
	if err := unix.Mprotect(page, unix.PROT_READ); err != nil {
		t.Fatal(err)
	}
	forgetBinary()
	if page[100] != want {
		t.Error("what was written is lost")
	}
}
