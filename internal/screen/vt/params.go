package vt

const (
	maxParams = 32
	maxParam  = 65535
)

// params is the numbers of a control sequence. A missing number is 0.
type params struct {
	v     [maxParams]int32
	n     int    // numbers seen, with the one being read
	colon uint32 // bit i: number i follows a colon
	extra bool   // there were more than fit; they are dropped
}

func (p *params) reset() { p.n, p.colon, p.extra = 0, 0, false }

func (p *params) digit(d byte) {
	if p.extra {
		return
	}
	if p.n == 0 {
		p.v[0], p.n = 0, 1
	}
	i := p.n - 1
	p.v[i] = min(p.v[i]*10+int32(d-'0'), maxParam)
}

func (p *params) separator(b byte) {
	if p.n == 0 {
		p.v[0], p.n = 0, 1
	}
	if p.n == maxParams {
		p.extra = true
		return
	}
	p.v[p.n] = 0
	if b == ':' {
		p.colon |= 1 << p.n
	}
	p.n++
}

// joined reports whether number i exists and is a subparameter.
func (p *params) joined(i int) bool { return i < p.n && p.colon>>i&1 != 0 }

// get returns number i, or def where it is missing or 0.
func (p *params) get(i, def int) int {
	if i >= p.n || p.v[i] == 0 {
		return def
	}
	return int(p.v[i])
}
