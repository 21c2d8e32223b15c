// Package wake knows when an agent is to be woken.
//
// The agent's tools write system/schedule.json, and may write it over at any
// time. So whether a wake has happened is not decided by that file alone but by
// a ledger of den's own, outside of the repository; the marks in the schedule
// are made from it, for the agent to see. Look returns what is due, and returns
// it again until it is acknowledged; after that, never. To acknowledge twice is
// to acknowledge once. Whoever records what is due before telling the agent,
// and that the agent was told before acknowledging, loses no wake and repeats
// none, whenever it is killed.
//
// Wakes that became due while nobody looked are one: the last of each entry.
// A clock that is set back does not make an occurrence due again that was
// acknowledged, and keeps none from becoming due that was not.
package wake
