// Package ircd is a chat server that is embedded in another process: RFC 2812
// with the extensions of IRCv3, accounts, and a durable history.
//
// All state is guarded by Server.mu. Each client has a goroutine that reads
// its lines and handles them under the lock, and, while its send queue is not
// empty, one that writes it. What a client sends at once is a burst: those who
// get its lines are written to when all of them are handled. A message is
// appended to the history before anybody receives it. Nothing under the lock
// waits for a network: a client whose send queue is full is disconnected.
package ircd
