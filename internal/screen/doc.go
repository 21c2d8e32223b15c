// Package screen is the semantic snapshot of an emulator: canonical text, hash,
// search, and output formats.
//
// The folder is the wing of what terminals show: the emulator (vt), keys, the log
// of all that was shown (eventlog), its replay, and pictures of it (render). Its
// packages may import process and base. Begin with vt.Terminal.Write.
package screen
