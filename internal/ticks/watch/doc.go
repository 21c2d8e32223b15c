// Package watch decides when an instance ticks, and keeps ticks of one instance
// apart.
//
// Decide is a pure rule over what was looked at and what is remembered. Loop
// looks, decides and has ticks run. Locks keep a second watcher, and a tick by
// hand beside a watcher's, from running at the same time; the kernel releases
// them when their holder ends, however it ends.
package watch
