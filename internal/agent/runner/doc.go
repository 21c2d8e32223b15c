// Package runner drives coding agents by their own protocols, without a
// screen.
//
// A Driver knows one vendor's protocol: it spawns the agent, opens or resumes
// a session and runs one turn at a time. Everything that does not differ
// between vendors is the Runner's: the queue on disk, the ids of turns, time
// limits by silence, the way from cancelling to killing, and restarts. A
// Runner is a conversation.Conversation, so whoever talks with agents needs
// not know which kind it is.
package runner
