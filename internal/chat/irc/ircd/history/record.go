package history

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"den/internal/base/fault"
	"den/internal/base/statefile"
)

// version is of the records and of the header, which names it.
const version = 1

type header struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
}

// maxID is far in the future. A damaged record with a larger one must not use
// up the numbers.
const maxID = 1 << 60

const format = "den-irc-history"

var headerLine = fmt.Appendf(nil, `{"format":%q,"version":%d}`+"\n", format, version)

var headerSize = int64(len(headerLine))

func checkHeader(line []byte) error {
	var h header
	if err := json.Unmarshal(line, &h); err != nil || h.Format != format {
		return fault.Errorf(fault.Storage, "not a history of chat messages")
	}
	return statefile.Check("the history of chat messages", h.Version, version)
}

func encode(r Record) ([]byte, error) {
	if !utf8.ValidString(r.Text) {
		r.Raw, r.Text = []byte(r.Text), ""
	}
	b, err := json.Marshal(r)
	if err != nil {
		return nil, fault.Errorf(fault.Internal, "encode record: %w", err)
	}
	return append(b, '\n'), nil
}

func decode(line []byte) (Record, error) {
	var r Record
	if err := json.Unmarshal(line, &r); err != nil {
		return r, fault.Errorf(fault.Storage, "read record: %w", err)
	}
	if r.ID == 0 || r.ID > maxID || r.Conversation == "" || r.Command == "" {
		return r, fault.Errorf(fault.Storage, "read record: it has no valid id, conversation or command")
	}
	if len(r.Raw) > 0 {
		r.Text, r.Raw = string(r.Raw), nil
	}
	return r, nil
}
