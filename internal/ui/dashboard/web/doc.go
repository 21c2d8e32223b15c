// Package web serves a page on which people watch a fleet of sessions: live,
// and back in time.
//
// It reads files through [dashboard.Model] and asks a workspace's keeper for
// its agents. It sends no session anything, unless [Options.AllowActions] is
// set: then pages can decide, answer, send messages, take terminals over and stop
// things. Each of these is checked, written down, and done by the keeper or by
// the session's host.
//
// # Ownership
//
// [Server.Serve] owns the listener, one goroutine that looks at the Homes, one
// that asks the keeper, one that looks at the agents that sleep and wake, and
// the connections. A connection to a page owns its
// reader and one goroutine for each screen that the page shows; one that has
// taken a terminal over owns a reader, too. All have ended
// when Serve returns.
//
// # Bounds
//
// A page says which screens it can see, and when it has drawn what it was
// sent. Three messages may be on their way. Until it answers, newer screens
// replace older ones: a slow browser skips to the newest, and costs no more
// than two frames for each screen. Thumbnails are taken four times a second,
// the large screen thirty times.
package web
