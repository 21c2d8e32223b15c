package cli

import (
	"bytes"
	"strings"

	"den/internal/base/fault"
	"den/internal/screen/keys"
	"den/internal/screen/vt"
)

// detachKeys finds the detach chords in a person's input. A prefix of them is
// held back until it is clear whether the rest follows.
type detachKeys struct {
	chords [][][]byte // for each chord the ways in which a terminal may send it
	at     int        // chords seen so far
	held   []byte     // their bytes
}

func newDetachKeys(spec string) (*detachKeys, error) {
	d := &detachKeys{}
	for _, word := range strings.Fields(spec) {
		chord, err := keys.Parse(word)
		if err != nil {
			return nil, err
		}
		var ways [][]byte
		for _, m := range []vt.Modes{{}, {AppCursor: true}, {KittyFlags: 1}, {KittyFlags: 8}} {
			if raw, err := chord.Encode(m); err == nil && len(raw) > 0 {
				ways = append(ways, raw)
			}
		}
		if len(ways) == 0 {
			return nil, fault.Errorf(fault.Usage, "--detach-keys: no terminal sends '%s'", word)
		}
		d.chords = append(d.chords, ways)
	}
	if len(d.chords) == 0 {
		return nil, fault.Errorf(fault.Usage, "--detach-keys is empty")
	}
	return d, nil
}

// filter returns what to pass on, and whether to detach.
func (d *detachKeys) filter(in []byte) (send []byte, leave bool) {
	for len(in) > 0 {
		if way := d.match(in); way != nil {
			d.held = append(d.held, way...)
			in = in[len(way):]
			if d.at++; d.at == len(d.chords) {
				return send, true
			}
			continue
		}
		if d.at > 0 { // they were meant for the program after all
			send = append(send, d.held...)
			d.at, d.held = 0, nil
			continue
		}
		send = append(send, in[0])
		in = in[1:]
	}
	return send, false
}

func (d *detachKeys) match(in []byte) []byte {
	for _, way := range d.chords[d.at] {
		if bytes.HasPrefix(in, way) {
			return way
		}
	}
	return nil
}
