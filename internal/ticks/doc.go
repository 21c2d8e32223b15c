// Package ticks is the wing of agents that sleep and wake ('den kernel'): when the
// next tick is due (watch, wake), what it does (plan, tick), what it may use (terminal,
// box, hook), and what is kept of it (instance, datarepo, history, transcript).
// It has no code of its own.
//
// Its packages import agent and what is below. Begin with plan.Next, which is
// pure, and tick.Run.
package ticks
