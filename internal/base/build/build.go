// Package build tells which build of den this is.
package build

// Version is this build's version; the Makefile sets it.
var Version = "dev"
