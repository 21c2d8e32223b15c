// Package history keeps an index of each tick of an agent: when it ran, how it
// ended, and where its transcript and the recordings of its terminals are.
//
// An index is one file beside the tick's transcript, system/logs/tick-NNN.json.
// It is written when the tick begins, when a terminal is opened or archived, and
// when the tick ends, so it is there after a kill, too. A tick is found by its
// number: nothing is searched, however many there are. The files grow by some
// hundred bytes for each tick and for each of its terminals, and den removes
// none of them.
//
// The agent can write these files. So what is read is bounded, and names lead
// nowhere but to the logs of the repository.
//
// # Ownership
//
// Only whoever holds the lock of an instance's ticks writes. Anybody reads.
package history
