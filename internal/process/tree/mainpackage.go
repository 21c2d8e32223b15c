package tree

import (
	"bytes"
	"encoding/binary"
	"os"
	"slices"
	"strings"
)

// buildInfo begins what Go's linker says of a program.
const buildInfo = "\xff Go buildinf:"

const (
	sectionSize = 64      // of a section's entry in the table of an ELF file
	maxSection  = 1 << 20 // of what is read of one
)

// mainPackage returns the path of the main package of a Go program, "" where it
// is not told. It reads ELF files as they are on the systems that have /proc.
// debug/buildinfo, which reads all forms, brings the readers of tables for
// debuggers along: to set these up took every process of den a thirtieth of its
// start.
func mainPackage(program string) string {
	f, err := os.Open(program)
	if err != nil {
		return ""
	}
	defer f.Close() // Best effort: it was only read.
	var head [64]byte
	if _, err := f.ReadAt(head[:], 0); err != nil || string(head[:6]) != "\x7fELF\x02\x01" { // 64 bits, the low byte first
		return ""
	}
	word := binary.LittleEndian
	sections := make([]byte, sectionSize*int(word.Uint16(head[60:])))
	names := sectionSize * int(word.Uint16(head[62:])) // of the section that has them
	if _, err := f.ReadAt(sections, int64(word.Uint64(head[40:]))); err != nil || names+sectionSize > len(sections) {
		return ""
	}
	content := func(section []byte) []byte {
		data := make([]byte, min(word.Uint64(section[32:]), maxSection))
		n, _ := f.ReadAt(data, int64(word.Uint64(section[24:]))) // Best effort: a file that was cut tells less.
		return data[:n]
	}
	name := content(sections[names:])
	for section := range slices.Chunk(sections, sectionSize) {
		if at := int(word.Uint32(section)); at < len(name) && bytes.HasPrefix(name[at:], []byte(".go.buildinfo\x00")) {
			return pathIn(content(section))
		}
	}
	return ""
}

// pathIn finds the path of the main package in a program's data.
func pathIn(data []byte) string {
	if !bytes.HasPrefix(data, []byte(buildInfo)) || len(data) < 32 || data[15]&2 == 0 { // 2: the words follow
		return ""
	}
	data = data[32:]
	var words []byte
	for range 2 { // Go's version, then all else
		size, n := binary.Uvarint(data)
		if n <= 0 || size > uint64(len(data)-n) {
			return ""
		}
		words, data = data[n:n+int(size)], data[n+int(size):]
	}
	if len(words) < 32 {
		return ""
	}
	for line := range strings.Lines(string(words[16 : len(words)-16])) { // between two marks
		if path, ok := strings.CutPrefix(line, "path\t"); ok {
			return strings.TrimSuffix(path, "\n")
		}
	}
	return ""
}
