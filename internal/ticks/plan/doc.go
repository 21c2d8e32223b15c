// Package plan decides the steps of one tick: a pure function from the recorded
// state and what happened to the next state and what is to be done.
//
// A tick is one life of an agent: its container is prepared, hooks run, a
// session is opened, prompts are sent until nothing keeps the tick from ending,
// and then everything is closed, written down and handed to hooks again. The
// package does none of this. Whoever does it calls Next with each event,
// records the new state and then performs the actions, in this order, so that
// after a kill Recover finds in the record what is left to be done.
//
// The package reads no clock: events carry the time since the tick began, from
// a clock that nobody can set.
package plan
