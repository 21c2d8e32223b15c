// Package workspace reads a workspace's file into agents whose every value
// knows where it came from.
//
// The file is den.toml or den.yaml; both have one schema. A file becomes a
// tree of nodes that carry their place, layers of such trees are laid over one
// another (den's defaults, den's preset, the file's [defaults], its
// [providers.X], the agent itself), and only the result is decoded. So a
// preset is nothing but a layer, and `agent explain` needs no second path.
//
// Loading touches nothing but the files named. It reports every problem at
// once, each with its file and line.
package workspace
