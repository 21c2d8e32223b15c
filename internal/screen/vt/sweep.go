package vt

// sweep frees the styles, links, images and clusters that no row uses. Content in
// hand is kept as well.
func (t *Terminal) sweep(inHand ...cell) {
	t.wrapDeep()
	m := marker{
		styles:   make([]bool, len(t.styles.list)),
		clusters: make([]bool, len(t.clusters.list)),
		table:    &t.clusters,
	}
	m.styles[0], m.clusters[0] = true, true
	for _, c := range inHand {
		m.content(c)
	}
	m.content(t.last.content)
	scratch := line{grid: make([]cell, t.cols)}
	for i := range t.hist.len() {
		m.line(t.hist.at(i, &scratch))
	}
	for _, l := range t.main.rows {
		m.line(l)
	}
	for _, l := range t.below {
		m.line(l)
	}
	for _, l := range t.alt.rows {
		m.line(l)
	}
	if t.cur.pen.match != penStale {
		m.styles[t.cur.pen.bits.style()] = true
	}
	t.sweepStyles(m.styles)
	t.sweepClusters(m.clusters)
}

type marker struct {
	styles, clusters []bool
	table            *clusterTable
}

func (m *marker) line(l *line) {
	for _, c := range l.cells() {
		m.styles[c.style()] = true
		m.content(c)
	}
}

// content marks a cluster and the shorter ones it is made from, so that the
// index never names a swept number.
func (m *marker) content(c cell) {
	for c&cellCluster != 0 && !c.tile() {
		n := c.content() &^ cellCluster
		if m.clusters[n] {
			return
		}
		m.clusters[n] = true
		c = m.table.list[n].key.before()
	}
}

func (t *Terminal) sweepStyles(live []bool) {
	tab := &t.styles
	tab.cache, tab.steps = [styleCacheSize]styleEntry{}, sgrSteps{}
	tab.free = tab.free[:0]
	links := make([]bool, len(tab.links))
	var images []bool
	if t.images != nil {
		images = make([]bool, len(t.images.placed))
	}
	keep := func(n uint32) {
		if int(n) < len(links) {
			links[n] = true
		}
	}
	for id := 1; id < len(live); id++ {
		if live[id] {
			keep(tab.list[id].link)
			if n := tab.list[id].image(); n != 0 {
				images[n] = true
			}
			continue
		}
		if n, ok := tab.index[tab.list[id]]; ok && n == uint32(id) {
			delete(tab.index, tab.list[id])
		}
		tab.list[id] = style{}
		tab.free = append(tab.free, uint32(id))
	}
	keep(t.cur.pen.style.link)
	keep(t.main.saved.pen.style.link)
	keep(t.alt.saved.pen.style.link)
	tab.freeLinks = tab.freeLinks[:0]
	for n := 1; n < len(links); n++ {
		if !links[n] {
			delete(tab.linkIndex, tab.links[n])
			tab.links[n] = link{}
			tab.freeLinks = append(tab.freeLinks, uint32(n))
		}
	}
	t.sweepImages(images)
}

func (t *Terminal) sweepClusters(live []bool) {
	tab := &t.clusters
	tab.cache = [clusterCacheSize]clusterEntry{}
	tab.free = tab.free[:0]
	for id := 1; id < len(live); id++ {
		if live[id] {
			continue
		}
		if c := tab.list[id]; c.n != 0 {
			delete(tab.index, c.key)
		}
		tab.list[id] = cluster{}
		tab.free = append(tab.free, uint32(id))
	}
}
