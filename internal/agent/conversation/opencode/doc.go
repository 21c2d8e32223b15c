// Package opencode reads what an opencode in a terminal does from the server
// that it runs beside its screen, and talks with it there.
//
// opencode runs the server if it is started with --port; Launch adds that.
// /event streams what happens: work, permissions and questions with their
// text, and their outcomes. Messages and answers go over the same server,
// and the screen shows them. /session/status says busy while a permission is
// open, so open permissions and questions count first.
package opencode
