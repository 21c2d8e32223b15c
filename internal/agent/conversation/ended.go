package conversation

import "errors"

// ErrAgentEnded is the cause of a context that ends because the agent was ended
// on purpose: what is being typed at it is not typed to its end.
var ErrAgentEnded = errors.New("the agent was ended")
