package runnertest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const lengthHeader = "Content-Length: "

// frame puts its length before a message.
func frame(message string) string {
	return fmt.Sprintf("%s%d\r\n\r\n%s", lengthHeader, len(message), message)
}

// readMessage reads a line, or a frame without its header.
func readMessage(r *bufio.Reader, framed bool) ([]byte, error) {
	line, err := r.ReadBytes('\n')
	value, is := strings.CutPrefix(string(line), lengthHeader)
	if err != nil || !framed || !is {
		return line, err
	}
	length, err := strconv.Atoi(strings.TrimSpace(value))
	if err != nil {
		return line, err
	}
	if _, err := r.ReadBytes('\n'); err != nil { // the end of the header
		return nil, err
	}
	message := make([]byte, length)
	_, err = io.ReadFull(r, message)
	return message, err
}

// cutMessage takes the first whole line or frame off data. It reports whether
// there is one.
func cutMessage(data []byte, framed bool) (message, rest []byte, found bool) {
	line, rest, found := bytes.Cut(data, []byte("\n"))
	value, is := strings.CutPrefix(string(line), lengthHeader)
	if !found || !framed || !is {
		return line, rest, found
	}
	length, err := strconv.Atoi(strings.TrimSpace(value))
	_, content, found := bytes.Cut(rest, []byte("\n"))
	if err != nil || !found || len(content) < length {
		return nil, data, false
	}
	return content[:length], content[length:], true
}
