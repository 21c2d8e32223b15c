// Package runnertest is the conformance suite of protocol drivers.
//
// Run plays recordings: the driver under test talks to a program that says what
// the real agent said, as long as the driver says what it said then. RunReal
// runs the same tests with the real agent and a model stub; with
// DEN_TEST_RECORD=1 it also makes the recordings. Some tests need no agent or a
// hostile one: they change a recording while it plays.
package runnertest
