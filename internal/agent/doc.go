// Package agent gives sessions of any provider the identity and the manners
// of agents.
//
// An agent is a name, a command with its environment, and hints on how it
// comes up. Start brings it up in a fixed order and records every step; a
// start that fails says at which step, with what output, and what the screen
// showed. Nudges are kept on disk until the screen shows that they went in.
//
// Keys are pressed on the word of the screen alone: a dialog is answered when
// its menu is known row by row, the cursor is seen on the row that says yes,
// and then with Enter. Escape is never pressed.
//
// One Managed is used by one owner at a time for Start and Stop; all else may
// be called concurrently. It starts no goroutine that outlives a call.
package agent
