// Package container runs agents' sessions in containers of podman or docker.
//
// A container's main process is den's own session host: the static den binary
// is mounted read-only into whatever the image is, and the session's directory
// and the directory of its socket appear inside at the paths that they have
// outside. So a session in a container is a session like any other: it is
// watched, typed into, attached to and read through its host's socket and its
// event log, and the engine is asked only where containers begin and end. The
// program's end is the host's end, and that is the container's.
//
// Who lives is told by the session's lock, which the kernel holds for the
// host and drops with it, whoever ended the container and whether or not the
// engine answers.
//
// What one container sees of the Home is its own session and nothing else.
// That it can change: its host writes the record and the log from inside, and
// whoever reads them outside believes them. So containers keep agents apart
// from each other, and keep their accidents in. They are no wall against a
// program that means harm.
package container
