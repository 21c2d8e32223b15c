// Package webhook tells an HTTP receiver what happens to agents.
//
// An event is on disk before Send returns and stays there until the receiver
// has taken it, so it comes at least once; its id tells a receiver whether it
// came before. Requests are signed as https://www.standardwebhooks.com says.
package webhook
