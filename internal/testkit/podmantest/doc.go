// Package podmantest runs podman for tests, with a storage of its own: nothing
// of the machine's containers is seen or touched.
package podmantest
