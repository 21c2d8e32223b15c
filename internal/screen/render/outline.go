package render

import (
	ot "github.com/go-text/typesetting/font/opentype"
	"golang.org/x/image/vector"
)

// segments calls do for each step of a glyph's outline, in pixels of its box.
// A heavier glyph has its outline twice.
func (p *placed) segments(do func(op ot.SegmentOp, pts [3][2]float64)) {
	outline, ok := p.f.GlyphDataOutline(p.glyph)
	if !ok {
		return
	}
	at := p.pen
	for {
		for _, s := range outline.Segments {
			var pts [3][2]float64
			for i, a := range s.Args {
				x, y := float64(a.X)*at.scale, float64(a.Y)*at.scale*at.squeeze
				pts[i] = [2]float64{at.x + x + y*at.slant, at.y - y}
			}
			do(s.Op, pts)
		}
		if at.heavier == 0 {
			return
		}
		at.x, at.heavier = at.x+at.heavier, 0
	}
}

// traceTo adds a glyph's outline to the rasteriser.
func (p *placed) traceTo(z *vector.Rasterizer) {
	open := false
	p.segments(func(op ot.SegmentOp, pts [3][2]float64) {
		f := func(i int) (float32, float32) { return float32(pts[i][0]), float32(pts[i][1]) }
		ax, ay := f(0)
		bx, by := f(1)
		cx, cy := f(2)
		switch op {
		case ot.SegmentOpMoveTo:
			if open {
				z.ClosePath()
			}
			open = true
			z.MoveTo(ax, ay)
		case ot.SegmentOpLineTo:
			z.LineTo(ax, ay)
		case ot.SegmentOpQuadTo:
			z.QuadTo(ax, ay, bx, by)
		case ot.SegmentOpCubeTo:
			z.CubeTo(ax, ay, bx, by, cx, cy)
		}
	})
	if open {
		z.ClosePath()
	}
}

// path returns a glyph's outline in the form of shapes.
func (p *placed) path() []segment {
	var out []segment
	p.segments(func(op ot.SegmentOp, pts [3][2]float64) {
		if op == ot.SegmentOpMoveTo && len(out) > 0 {
			out = append(out, segment{op: 'Z'})
		}
		out = append(out, segment{op: "MLQC"[op], p: pts})
	})
	if len(out) > 0 {
		out = append(out, segment{op: 'Z'})
	}
	return out
}
