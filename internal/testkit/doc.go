// Package testkit is the wing of what only tests import: the suites that every
// provider and runner must pass, stand-ins for models, and what tests need of the
// machine. It has no code of its own.
//
// Its packages may import every wing; only tests and the project's own tools import them. Begin with
// providertest.Run and need.Program.
package testkit
