// Package render draws a screen: a PNG or an SVG, the same bytes for the same
// screen.
//
// A [Grid] is a screen with all its colours resolved. A [Renderer] draws grids
// in one theme and size; it keeps the glyphs that it has drawn and is not safe
// for concurrent use. Letters come from embedded fonts, each read when it is
// first needed; lines, blocks, braille and powerline symbols are geometry, so
// that they join without gaps at every scale. The one thing taken from the
// machine is a colour emoji font, where there is one.
package render
