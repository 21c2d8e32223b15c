package keeper

// The types of events. They stand in files: add, never rename.
const (
	EventKeeperStarted  = "keeper.started"
	EventKeeperStopped  = "keeper.stopped"
	EventReloaded       = "config.reloaded"
	EventRefused        = "config.refused" // a file with problems
	EventHeld           = "config.held"    // a file that would end many agents at once
	EventStarting       = "agent.starting"
	EventStarted        = "agent.started"
	EventAdopted        = "agent.adopted" // it ran when a keeper came
	EventStartFailed    = "agent.start_failed"
	EventPrepareFailed  = "agent.prepare_failed"  // its place could not be made ready; no failure of the agent
	EventStartCancelled = "agent.start_cancelled" // it is not wanted any more
	EventExited         = "agent.exited"          // nobody asked for its end
	EventStopping       = "agent.stopping"
	EventStopped        = "agent.stopped"
	EventStopFailed     = "agent.stop_failed"
	EventDraining       = "agent.draining"
	EventUndrained      = "agent.undrained"
	EventQuarantined    = "agent.quarantined"
	EventStalled        = "agent.stalled"
	EventDeferred       = "agent.drift_deferred" // not while somebody is there
	EventOrdered        = "agent.ordered"
	EventOrphan         = "agent.orphan" // a session that no agent claims
	EventUnknown        = "agent.unknown"
	EventScaled         = "pool.scaled"
	EventScaleFailed    = "pool.check_failed"
	EventNudged         = "agent.nudged"   // a nudge came to its end, or one that was sent was taken later
	EventAsking         = "agent.asking"   // a coding agent waits for a decision
	EventAnswered       = "agent.answered" // a person answered what it asks
	EventDenied         = "agent.denied"   // its sandbox refused it something
	EventState          = "agent.state"    // a coding agent is ready, busy or has failed
	EventPruned         = "agent.pruned"   // its git worktree was removed; its work is elsewhere
	EventActed          = "agent.acted"    // somebody did something with its session on a dashboard
)
