package film

import (
	"encoding/binary"
	"io"
	"math/bits"
	"time"
)

// matroska writes uncompressed pictures with their times, for an encoder that
// reads a pipe: so it gets only those that differ, each with its time.
type matroska struct {
	out   io.Writer
	frame []byte
}

// The elements of Matroska that are needed.
const (
	idEBML        = 0x1a45dfa3
	idDocType     = 0x4282
	idDocVersion  = 0x4287
	idDocReadable = 0x4285
	idSegment     = 0x18538067
	idInfo        = 0x1549a966
	idScale       = 0x2ad7b1
	idMuxer       = 0x4d80
	idWriter      = 0x5741
	idTracks      = 0x1654ae6b
	idTrack       = 0xae
	idTrackNumber = 0xd7
	idTrackUID    = 0x73c5
	idTrackType   = 0x83
	idLacing      = 0x9c
	idCodec       = 0x86
	idVideo       = 0xe0
	idWidth       = 0xb0
	idHeight      = 0xba
	idColours     = 0x2eb524
	idCluster     = 0x1f43b675
	idTimestamp   = 0xe7
	idBlock       = 0xa3
)

// begin writes what comes before the first picture.
func (m *matroska) begin(w, h int) error {
	video := element(idVideo, number(idWidth, uint64(w)), number(idHeight, uint64(h)), element(idColours, []byte("BGRA")))
	track := element(idTrack, number(idTrackNumber, 1), number(idTrackUID, 1), number(idTrackType, 1), number(idLacing, 0),
		element(idCodec, []byte("V_UNCOMPRESSED")), video)
	head := element(idEBML, element(idDocType, []byte("matroska")), number(idDocVersion, 4), number(idDocReadable, 2))
	head = append(appendID(head, idSegment), 0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff) // as long as it gets
	head = append(head, element(idInfo, number(idScale, 1e6), element(idMuxer, []byte("den")), element(idWriter, []byte("den")))...)
	head = append(head, element(idTracks, track)...)
	_, err := m.out.Write(head)
	return err
}

// picture writes one picture; draw appends its pixels.
func (m *matroska) picture(at time.Duration, size int, draw func([]byte) []byte) error {
	stamp := number(idTimestamp, uint64(at.Milliseconds()))
	blockSize := uint64(4 + size)
	block := appendSize(appendID(nil, idBlock), blockSize)
	b := appendSize(appendID(m.frame[:0], idCluster), uint64(len(stamp)+len(block))+blockSize)
	b = append(append(b, stamp...), block...)
	b = append(b, 0x81, 0, 0, 0x80) // track 1, no offset, a key frame
	m.frame = draw(b)
	_, err := m.out.Write(m.frame)
	return err
}

func element(id uint32, parts ...[]byte) []byte {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	b := appendSize(appendID(nil, id), uint64(n))
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

func number(id uint32, v uint64) []byte {
	return element(id, binary.BigEndian.AppendUint64(nil, v))
}

// appendID appends an id, whose length is in its own first bits.
func appendID(b []byte, id uint32) []byte {
	for n := (bits.Len32(id) + 7) / 8; n > 0; n-- {
		b = append(b, byte(id>>(8*(n-1))))
	}
	return b
}

// appendSize appends a length in eight bytes: short ones need not be shorter.
func appendSize(b []byte, n uint64) []byte {
	return binary.BigEndian.AppendUint64(b, n|1<<56)
}
