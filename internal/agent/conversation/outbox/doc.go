// Package outbox keeps the messages for one agent on disk until they have come
// to their end.
//
// A message is on disk before its caller hears of it, and each change of its
// status is on disk before it is acted on: whoever opens the directory after a
// crash knows what was certainly not sent, and what may have been.
package outbox
