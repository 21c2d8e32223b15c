package stdio

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// lengthHeader is the one header that a frame must have.
const lengthHeader = "content-length"

// readFrame returns the content of the next frame. Lines before it that are no
// headers are returned by themselves, for the log.
func (c *Conn) readFrame() ([]byte, error) {
	length := -1
	for {
		line, err := readLine(c.lines, maxLine)
		if err != nil {
			return line, err
		}
		header := strings.TrimSpace(string(line))
		if header == "" && length >= 0 {
			return c.readContent(length)
		}
		name, value, found := strings.Cut(header, ":")
		if !found || strings.ContainsAny(name, " {\"") {
			if header != "" {
				return line, nil
			}
			continue
		}
		if strings.EqualFold(name, lengthHeader) {
			if n, err := strconv.Atoi(strings.TrimSpace(value)); err == nil && n >= 0 {
				length = n
			}
		}
	}
}

// readContent reads so many bytes. Those above the bound are not kept.
func (c *Conn) readContent(length int) ([]byte, error) {
	content := make([]byte, 0, min(length, 64<<10))
	for len(content) < min(length, maxLine) {
		part := make([]byte, min(length-len(content), 1<<20))
		n, err := io.ReadFull(c.lines, part)
		content = append(content, part[:n]...)
		if err != nil {
			return content, io.EOF
		}
	}
	if over := int64(length - len(content)); over > 0 {
		if _, err := io.CopyN(io.Discard, c.lines, over); err != nil {
			return nil, io.EOF
		}
	}
	return content, nil
}

// pack makes a message what is written.
func (c *Conn) pack(message []byte) []byte {
	if c.framed {
		return append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(message)), message...)
	}
	return append(message, '\n')
}
