// Package container runs agents' sessions in containers of podman or docker.
//
// A container's main process is den's own session host: the static den binary
// is mounted read-only into the image, and the session's directory and the
// directory of its socket are mounted at the same paths as outside. So a session
// in a container is watched, typed into, attached to and read like any other,
// through its host's socket and its event log. The engine is used to prepare,
// start and stop containers, and for Exec and Stage. When the program ends, the host ends, and so does the
// container.
//
// Whether a session is alive is decided by its lock, which the kernel releases
// when the host ends, however the container ended and whether or not the engine
// responds.
//
// A container sees only its own session of the Home. It can change that one: its
// host writes the record and the log from inside, and readers outside trust
// them. So containers separate agents from each other and contain accidents.
// They are no protection against a malicious program.
package container
