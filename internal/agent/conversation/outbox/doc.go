// Package outbox keeps the messages for one agent on disk until each has a final
// status.
//
// A message is on disk before its caller is told of it, and each change of its
// status is on disk before den acts on it. So after a crash the directory tells
// which messages were certainly not sent, and which may have been.
package outbox
