// Package inotify hears from the kernel what changes in directories.
package inotify

// Event is one change in a watched directory.
type Event struct {
	Watch int
	Name  string // of the file; or ""
	Lost  bool   // the kernel's queue was full: look at everything
}
