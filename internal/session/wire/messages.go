// Package wire holds the messages of a session host's socket; it has no
// behaviour of its own. How they travel is internal/base/rpc's.
package wire

// Version is the protocol spoken by this build. It changes when an old peer
// would misunderstand a new one; added fields and methods do not change it.
const Version = 1
