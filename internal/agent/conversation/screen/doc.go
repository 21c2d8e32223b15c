// Package screen is a conversation with a program that draws on a terminal: a
// coding agent's TUI, or any line reader.
//
// Keys are pressed only for what the screen shows: a dialog is answered when
// its menu is known row by row, the cursor is seen on the row that says yes,
// and then with Enter. Escape is never pressed. Text is typed only where no
// dialog is open and nobody else types.
//
// A Conversation starts no goroutine that outlives a call. Run is its loop,
// and belongs to whoever calls it.
package screen
