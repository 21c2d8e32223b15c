// Package supervisor watches what an agent does, and steps in when it is stuck.
//
// Every few steps a Judge looks at the last ones and says OK, CORRECTION,
// THINK_DEEPER or ESCALATION. One rule, next, turns verdicts into actions. All
// of it runs in the goroutine that called Run: Observe only puts a step into a
// queue, so the supervisor never delays an agent.
package supervisor
