package vt

// Bounds of the style and link tables. Both are swept when full; where live
// rows really use this many, new styles lose what makes them unique.
const (
	firstStyleSweep = 1024
	maxStyles       = 1 << 16
	maxLinks        = 1 << 12
	maxLinkBytes    = 2083 + 256 // longest URI and id together that are kept
	styleCacheSize  = 64
)

type link struct{ uri, id string }

// styleTable interns styles. Number 0 is the plain style.
type styleTable struct {
	list    []style
	index   map[style]uint32
	free    []uint32 // swept numbers, to be used again
	sweepAt int      // table size that asks for the next sweep
	spared  int      // interns refused since the last sweep of a full table
	cache   [styleCacheSize]styleEntry
	steps   sgrSteps

	links       []link // number 0 is no link
	linkIndex   map[link]uint32
	freeLinks   []uint32
	linksSpared int
}

type styleEntry struct {
	style style
	id    uint32
}

func newStyleTable() styleTable {
	return styleTable{
		list:    []style{{}},
		sweepAt: firstStyleSweep,
	}
}

// slot is the place of a style in the cache.
func (s *style) slot() uint64 {
	h := (uint64(s.fg) | uint64(s.bg)<<32) * 0x9E3779B97F4A7C15
	h ^= (uint64(s.ul) | uint64(s.attrs)<<32 | uint64(s.underline)<<44 | uint64(s.link)<<48) * 0xC2B2AE3D27D4EB4F
	return (h ^ h>>29) * 0x9E3779B97F4A7C15 >> 58 % styleCacheSize
}

// styleID interns s.
func (t *Terminal) styleID(s style) uint32 {
	if s == (style{}) {
		return 0
	}
	e := &t.styles.cache[s.slot()]
	if e.id != 0 && e.style == s {
		return e.id
	}
	id, ok := t.styles.index[s]
	if !ok {
		id = t.addStyle(s)
	}
	*e = styleEntry{s, id}
	return id
}

func (t *Terminal) addStyle(s style) uint32 {
	tab := &t.styles
	if len(tab.list)-len(tab.free) >= tab.sweepAt && !t.makeStyleRoom() {
		return t.poorerStyle(s)
	}
	if tab.index == nil {
		tab.index = map[style]uint32{}
	}
	var id uint32
	if n := len(tab.free); n > 0 {
		id, tab.free = tab.free[n-1], tab.free[:n-1]
		tab.list[id] = s
	} else {
		id = uint32(len(tab.list))
		tab.list = append(tab.list, s)
	}
	tab.index[s] = id
	return id
}

// makeStyleRoom sweeps the table and reports whether there is room in it. A
// table full of live styles is not swept again at once: a sweep reads every row.
func (t *Terminal) makeStyleRoom() bool {
	tab := &t.styles
	if tab.spared > 0 {
		tab.spared--
		return false
	}
	t.sweep()
	live := len(tab.list) - len(tab.free)
	tab.sweepAt = min(max(firstStyleSweep, 2*live), maxStyles)
	if live >= maxStyles*3/4 {
		tab.spared = maxStyles / 4
	}
	return live < maxStyles
}

// poorerStyle finds a known style near s for a table that is full.
func (t *Terminal) poorerStyle(s style) uint32 {
	for _, try := range []style{
		{fg: s.fg, bg: s.bg, attrs: s.attrs},
		{fg: s.fg, bg: s.bg},
		{bg: s.bg},
		{fg: s.fg},
	} {
		if id, ok := t.styles.index[try]; ok {
			return id
		}
	}
	return 0
}

func (tab *styleTable) link(n uint32) link {
	if n == 0 || int(n) >= len(tab.links) {
		return link{}
	}
	return tab.links[n]
}

// linkID interns a hyperlink; 0 when it is too long or the table is full of
// links in use.
func (t *Terminal) linkID(l link) uint32 {
	if l.uri == "" || len(l.uri)+len(l.id) > maxLinkBytes {
		return 0
	}
	tab := &t.styles
	if n, ok := tab.linkIndex[l]; ok {
		return n
	}
	if tab.linkIndex == nil {
		tab.linkIndex = map[link]uint32{}
		tab.links = []link{{}}
	}
	if len(tab.freeLinks) == 0 && len(tab.links) > maxLinks {
		if tab.linksSpared > 0 {
			tab.linksSpared--
			return 0
		}
		if t.sweep(); len(tab.freeLinks) < maxLinks/4 {
			tab.linksSpared = maxLinks / 4
		}
	}
	var n uint32
	if free := len(tab.freeLinks); free > 0 {
		n, tab.freeLinks = tab.freeLinks[free-1], tab.freeLinks[:free-1]
		tab.links[n] = l
	} else if len(tab.links) <= maxLinks {
		n = uint32(len(tab.links))
		tab.links = append(tab.links, l)
	} else {
		return 0
	}
	tab.linkIndex[l] = n
	return n
}
