// Package watch decides when an instance ticks, and keeps ticks of one instance
// apart.
//
// Decide is a pure rule over what was observed and what is remembered. Loop
// observes, decides and runs ticks. Locks allow one watcher, and one tick by a
// watcher or by hand, at a time; the operating system releases them when their
// holder ends, however it ends.
package watch
