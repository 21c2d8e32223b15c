// Package opencode reads what an opencode in a terminal does from the server
// that it runs beside its screen, and talks with it there.
//
// The server is there when opencode was started with --port; Launch adds that.
// /event streams what happens: work, permissions and questions with their
// text, and what became of them. Messages and answers go over the same server,
// and the screen shows them. /session/status says busy during a permission, so
// open permissions and questions count first.
package opencode
