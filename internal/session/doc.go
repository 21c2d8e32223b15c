// Package session is the Go API over sessions, active or over, local or remote:
// the command line, the providers and all else that opens terminals call it.
//
// A Session holds no connection and needs no Close. Every method dials the
// host, and retries if the host replaces its binary meanwhile. For a session
// that is over, its record, its cells and its event log answer.
//
// The folder is the wing of durable terminals: the host that holds one (host),
// the messages to it (wire), its record on disk (home), commands with exact ends
// (cell), terminals of a model (terminals), tests made of recordings (script) and
// what waits for a person (attention). Its packages may import chat and what is below. Begin with
// host.Host.readTerminal, the path of a byte.
package session
