package history

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"den/internal/base/journal"
)

// maxRead bounds how much of a log one Read goes through: whole segments, the
// newest first, one at least.
const maxRead = 8 << 20

// A Page is a part of a log, as one who does not own it reads it.
type Page struct {
	Records []Record // oldest first
	// More says that there may be older ones, which Read finds before Next.
	More bool
	Next uint64
}

// Read returns the newest messages before an ID (0: the newest of all) that are
// wanted, limit of them at most. It needs no Log: the files are only read, while a
// server writes them, and a record that is not complete yet is left out. Its cost
// is that of reading 8 MiB, whatever the log's length: where that has too few, the
// next Read goes on.
func Read(dir string, before uint64, limit int, wanted func(Record) bool) (Page, error) {
	if before == 0 {
		before = maxID
	}
	page := Page{Next: before}
	numbers, err := segmentNumbers(dir)
	if err != nil {
		return page, err
	}
	size := int64(0)
	for _, number := range slices.Backward(numbers) {
		if len(page.Records) >= limit || size >= maxRead {
			page.More = true
			break
		}
		found, first, n, err := readSegment(filepath.Join(dir, fmt.Sprintf(segmentName, number)), before, wanted)
		if errors.Is(err, fs.ErrNotExist) {
			break // dropped meanwhile, and so are those before it
		}
		if err != nil {
			return page, err
		}
		size += n
		page.Records = append(found, page.Records...)
		if first > 0 {
			page.Next = min(page.Next, first)
		}
	}
	if extra := len(page.Records) - limit; extra > 0 {
		page.Records = page.Records[extra:]
		page.More, page.Next = true, page.Records[0].ID
	}
	return page, nil
}

// readSegment returns the wanted records before an ID, the first ID of the
// segment, and its size.
func readSegment(path string, before uint64, wanted func(Record) bool) (found []Record, first uint64, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, 0, storage("open segment", err)
	}
	defer f.Close() // Best effort: it was only read.
	// A last line without an end is being written.
	size, err = journal.Lines(f, maxLine, func(line []byte, _ int64) error {
		record, err := decode(line)
		if err != nil {
			return nil // the header, or damage
		}
		if first == 0 {
			first = record.ID
		}
		if record.ID < before && wanted(record) {
			found = append(found, record)
		}
		return nil
	})
	if err != nil {
		err = storage("read history", err)
	}
	return found, first, size, err
}

// State returns a text that changes when a message is written.
func State(dir string) (string, error) {
	numbers, err := segmentNumbers(dir)
	if err != nil || len(numbers) == 0 {
		return "", err
	}
	newest := fmt.Sprintf(segmentName, numbers[len(numbers)-1])
	info, err := os.Stat(filepath.Join(dir, newest))
	if err != nil {
		return "", storage("look at history", err)
	}
	return fmt.Sprintf("%s:%d", newest, info.Size()), nil
}
