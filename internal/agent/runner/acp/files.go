package acp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	sdk "github.com/coder/acp-go-sdk"

	"den/internal/agent/permission"
	"den/internal/agent/runner/jsonrpc"
	"den/internal/base/fault"
)

// maxFile bounds a file that is read or written for an agent.
const maxFile = 16 << 20

// files is the agent's directory. Below it nothing leads out: os.Root follows
// no symbolic link to elsewhere.
type files struct {
	root *os.Root
	dirs []string // names of the directory: as given, and without symbolic links
}

// openFiles opens the agent's directory, or nothing where no files are offered.
func (d Driver) openFiles(dir string) (*files, error) {
	if !d.Files {
		return nil, nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fault.Errorf(fault.Usage, "open the agent's directory: %w", err)
	}
	f := &files{root: root, dirs: []string{filepath.Clean(dir)}}
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != f.dirs[0] {
		f.dirs = append(f.dirs, real)
	}
	return f, nil
}

func (f *files) close() {
	if f != nil {
		f.root.Close() // Best effort: a directory that was only read.
	}
}

// below returns a path's name within the agent's directory.
func (f *files) below(path string) (name string, is bool) {
	for _, dir := range f.dirs {
		if name, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(name) {
			return name, true
		}
	}
	return "", false
}

// readFile answers fs/read_text_file. What is outside the agent's directory is
// asked for.
func (s *session) readFile(ctx context.Context, params json.RawMessage) (any, error) {
	var p sdk.ReadTextFileRequest
	if err := s.decodeFor(params, &p, func() string { return string(p.SessionId) }); err != nil {
		return nil, err
	}
	if err := checkPath(p.Path); err != nil {
		return nil, err
	}
	open := os.OpenFile
	name, below := s.files.below(p.Path)
	if below {
		open = s.files.root.OpenFile
	} else {
		name = p.Path
		if err := s.askForFile(ctx, permission.Read, sdk.ClientMethodFsReadTextFile, p.Path); err != nil {
			return nil, err
		}
	}
	f, err := openRegular(open, name, os.O_RDONLY)
	if err != nil {
		return nil, fileError(err)
	}
	defer f.Close() // Best effort: it was only read.
	text, err := readLines(f, p.Line, p.Limit)
	if err != nil {
		return nil, fileError(err)
	}
	return sdk.ReadTextFileResponse{Content: text}, nil
}

// writeFile answers fs/write_text_file. It is asked for, unless the agent has
// asked for that file in this turn.
func (s *session) writeFile(ctx context.Context, params json.RawMessage) (any, error) {
	var p sdk.WriteTextFileRequest
	if err := s.decodeFor(params, &p, func() string { return string(p.SessionId) }); err != nil {
		return nil, err
	}
	if err := checkPath(p.Path); err != nil {
		return nil, err
	}
	if len(p.Content) > maxFile {
		return nil, invalid("the file is longer than %d bytes", maxFile)
	}
	if err := s.askForFile(ctx, permission.Edit, sdk.ClientMethodFsWriteTextFile, p.Path); err != nil {
		return nil, err
	}
	open, mkdir := os.OpenFile, os.MkdirAll
	name, below := s.files.below(p.Path)
	if below {
		open, mkdir = s.files.root.OpenFile, s.files.root.MkdirAll
	} else {
		name = p.Path
	}
	if err := mkdir(filepath.Dir(name), 0o777); err != nil {
		return nil, fileError(err)
	}
	f, err := openRegular(open, name, os.O_WRONLY|os.O_CREATE)
	if err != nil {
		return nil, fileError(err)
	}
	if err := replaceContent(f, p.Content); err != nil {
		return nil, fileError(err)
	}
	return sdk.WriteTextFileResponse{}, nil
}

// askForFile asks for the use of a file, unless one of the same kind was
// allowed for it in this turn.
func (s *session) askForFile(ctx context.Context, kind permission.Kind, tool, path string) error {
	r := permission.Request{Tool: tool, Kind: kind, Paths: []string{path}, Text: tool + " " + path}
	return s.ask(ctx, r, func(old permission.Request) bool {
		return old.Kind == kind && slices.ContainsFunc(old.Paths, func(p string) bool { return filepath.Clean(p) == path })
	})
}

// decodeFor decodes the parameters of a request for this session.
func (s *session) decodeFor(params json.RawMessage, v any, session func() string) error {
	if err := json.Unmarshal(params, v); err != nil {
		return invalid("%v", err)
	}
	if !s.isOurs(session()) {
		return invalid("no session '%s'", session())
	}
	return nil
}

func checkPath(path string) error {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path || strings.ContainsRune(path, 0) {
		return invalid("'%s' is not an absolute path in its shortest form", path)
	}
	return nil
}

// openRegular opens a file, but no pipe or device: those could block, or do
// things.
func openRegular(open func(string, int, fs.FileMode) (*os.File, error), name string, flag int) (*os.File, error) {
	f, err := open(name, flag|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0o666)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", name)
	}
	if err != nil {
		f.Close() // Best effort: nothing was done with it.
		return nil, err
	}
	return f, nil
}

func replaceContent(f *os.File, text string) error {
	err := f.Truncate(0)
	if err == nil {
		_, err = io.WriteString(f, text)
	}
	return errors.Join(err, f.Close())
}

// readLines reads a text file: all of it, or limit lines from a line on, which
// is counted from 1.
func readLines(f io.Reader, line, limit *int) (string, error) {
	r := bufio.NewReader(f)
	for skip := 1; line != nil && skip < *line; skip++ {
		if err := skipLine(r); err != nil {
			if errors.Is(err, io.EOF) {
				return "", nil
			}
			return "", err
		}
	}
	var text bytes.Buffer
	for n := 0; limit == nil || n < *limit; n++ {
		part, err := r.ReadSlice('\n')
		text.Write(part)
		if text.Len() > maxFile {
			return "", fmt.Errorf("more than %d bytes: ask for some of its lines", maxFile)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			n-- // the line goes on
			continue
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", err
		}
	}
	if !utf8.Valid(text.Bytes()) {
		return "", errors.New("not a text file in UTF-8")
	}
	return text.String(), nil
}

func skipLine(r *bufio.Reader) error {
	for {
		_, err := r.ReadSlice('\n')
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// fileError tells a file that is not there by the protocol's own code.
func fileError(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &jsonrpc.Error{Code: codeNotFound, Message: err.Error()}
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: err.Error()}
}

func invalid(format string, args ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}
