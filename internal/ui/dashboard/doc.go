// Package dashboard is the read model behind den's dashboards: Homes, their
// sessions, and what a session shows or showed, all from files.
//
// It never asks a host, so it works for dead sessions alike; it never sends
// input and never resizes a session. It writes nothing; the frontends note when
// somebody looks at a session ([home.Dir.Look]).
//
// # Ownership
//
// A [Model] is shared by all that look. It owns one goroutine for each session
// that somebody follows, however many do; [Model.Close] ends and awaits them.
// A follower emulates events, and nothing else: screens are taken when a
// [View] asks for one, at most [Options.FPS] a second, so a slow reader skips
// frames and slows nobody. Frames, listings and timelines are never changed
// once they are handed out.
//
// # Bounds
//
// All followers together read and emulate 24 MiB of log a second, after a
// burst of 16: who looks on leaves the machine to the sessions. One that comes
// too late for a flood leaps to the newest repaint in the log. It wakes no
// more often than the views of its session take screens.
//
// A followed session costs its emulator and one frame. Positions kept for
// scrubbing take at most 32 MiB, the last 64 screens of the past are kept, and
// timelines of the last 16 sessions, each with its newest 2,000 cells, marks
// and resizes. A search reads one stretch of a log, 16 MiB at most or one
// segment, within the same budget; one runs at a time.
package dashboard
