// Package workspace reads a workspace's file into agents; every value knows its
// origin.
//
// The file is den.toml or den.yaml; both have the same schema. A file becomes a
// tree of nodes with positions. Layers of such trees are merged (den's defaults,
// den's preset, the file's [defaults], its [presets.X], the agent itself), and
// only the result is decoded. So a preset is just a layer, and `agent explain`
// needs no separate code.
//
// Loading reads only the files named. It reports all problems at once, each with
// its file and line.
package workspace
