package vt

import "unicode/utf8"

// Bounds of the cluster table, and of one cluster. Marks beyond them are dropped.
const (
	firstClusterSweep = 1024
	maxClusters       = 1 << 15
	maxClusterRunes   = 16
	clusterCacheSize  = 64
)

// clusterTable interns grapheme clusters of more than one rune, each as what
// stood before its last rune and that rune.
type clusterTable struct {
	list    []cluster // number 0 is not used
	index   map[clusterKey]uint32
	free    []uint32
	sweepAt int
	spared  int
	cache   [clusterCacheSize]clusterEntry
}

// clusterKey is the content bits of the shorter cluster and the added rune.
type clusterKey uint64

type cluster struct {
	text string
	key  clusterKey
	n    uint8 // runes
}

type clusterEntry struct {
	key clusterKey
	id  uint32
}

func (k clusterKey) before() cell { return cell(k>>32) & contentMask }

func newClusterTable() clusterTable {
	return clusterTable{list: []cluster{{}}, sweepAt: firstClusterSweep}
}

// extend returns the content made of prev and one more rune, or prev itself
// where the cluster or the table is full.
func (t *Terminal) extend(prev cell, r rune) cell {
	k := clusterKey(prev)<<32 | clusterKey(r)
	e := &t.clusters.cache[(uint32(k)*0x9E3779B1^uint32(k>>32)*0x85EBCA6B)>>26%clusterCacheSize]
	if e.id != 0 && e.key == k {
		return cellCluster | cell(e.id)
	}
	id, ok := t.clusters.index[k]
	if !ok {
		if id = t.addCluster(prev, r, k); id == 0 {
			return prev
		}
	}
	*e = clusterEntry{k, id}
	return cellCluster | cell(id)
}

func (t *Terminal) addCluster(prev cell, r rune, k clusterKey) uint32 {
	tab := &t.clusters
	n := uint8(1)
	if prev&cellCluster != 0 {
		n = tab.list[prev&^cellCluster].n
	}
	if n >= maxClusterRunes {
		return 0
	}
	text := string(t.appendContent(nil, prev)) + string(r)
	if len(tab.list)-len(tab.free) >= tab.sweepAt && !t.makeClusterRoom(prev) {
		return 0
	}
	if tab.index == nil {
		tab.index = map[clusterKey]uint32{}
	}
	var id uint32
	c := cluster{text, k, n + 1}
	if m := len(tab.free); m > 0 {
		id, tab.free = tab.free[m-1], tab.free[:m-1]
		tab.list[id] = c
	} else {
		id = uint32(len(tab.list))
		tab.list = append(tab.list, c)
	}
	tab.index[k] = id
	return id
}

// makeClusterRoom sweeps the table, keeping the content in hand, and reports
// whether there is room in it.
func (t *Terminal) makeClusterRoom(inHand cell) bool {
	tab := &t.clusters
	if tab.spared > 0 {
		tab.spared--
		return false
	}
	t.sweep(inHand)
	live := len(tab.list) - len(tab.free)
	tab.sweepAt = min(max(firstClusterSweep, 2*live), maxClusters)
	if live >= maxClusters*3/4 {
		tab.spared = maxClusters / 4
	}
	return live < maxClusters
}

// appendContent appends a cell's text, without the blank's space.
func (t *Terminal) appendContent(dst []byte, c cell) []byte {
	c = c.content()
	switch {
	case c.tile():
		return append(dst, ' ')
	case c&cellCluster != 0:
		return append(dst, t.clusters.list[c&^cellCluster].text...)
	case c == 0:
		return dst
	case c < utf8.RuneSelf:
		return append(dst, byte(c))
	}
	return utf8.AppendRune(dst, rune(c))
}

// firstRune is the rune that a cell's content begins with.
func (t *Terminal) firstRune(c cell) rune {
	c = c.content()
	if c.tile() {
		return ' '
	}
	if c&cellCluster == 0 {
		return rune(c)
	}
	r, _ := utf8.DecodeRuneInString(t.clusters.list[c&^cellCluster].text)
	return r
}
