//go:build race

package eventlog_test

// raced is true under the race detector, where starting a process is slow.
const raced = true
