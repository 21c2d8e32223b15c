package container

import (
	"archive/tar"
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"den/internal/base/fault"
)

// buildContext is a directory that an image is built from.
type buildContext struct {
	dir    string
	file   string // the name of its Containerfile
	ignore ignoreRules
}

func openContext(dir string) (buildContext, error) {
	c := buildContext{dir: dir}
	if !filepath.IsAbs(dir) {
		return c, fault.Errorf(fault.Usage, "build context %q is not an absolute path", dir)
	}
	for _, name := range []string{"Containerfile", "Dockerfile"} {
		fi, err := os.Stat(filepath.Join(dir, name))
		if err == nil && fi.Mode().IsRegular() {
			c.file = name
			break
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return c, fault.Errorf(fault.KindOf(err), "read build context: %w", err)
		}
	}
	if c.file == "" {
		return c, fault.Errorf(fault.Usage, "build context %s has no Containerfile", dir)
	}
	var err error
	c.ignore, err = readIgnore(dir)
	return c, err
}

// hash is that of all that is sent to a build: every path, kind, mode, link
// and byte. Owners and times are no part of it, nor is the base image.
func (c buildContext) hash() (string, error) {
	sum := sha256.New()
	if err := c.write(sum); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// spool writes the context to a file without a name and returns it, at its
// beginning, with the hash of what is in it: files may change meanwhile.
func (c buildContext) spool() (*os.File, string, error) {
	f, err := os.CreateTemp("", "den-context-*.tar")
	if err != nil {
		return nil, "", fault.Errorf(fault.KindOf(err), "pack build context: %w", err)
	}
	os.Remove(f.Name()) // Best effort: it is ours alone either way.
	sum := sha256.New()
	err = c.write(io.MultiWriter(f, sum))
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close() // Best effort: it goes.
		return nil, "", err
	}
	return f, hex.EncodeToString(sum.Sum(nil)), nil
}

// write writes the context as a tar archive that depends on nothing but the
// content: WalkDir goes in the order of names.
func (c buildContext) write(w io.Writer) error {
	archive := tar.NewWriter(w)
	err := filepath.WalkDir(c.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(c.dir, path)
		if err != nil || name == "." {
			return err
		}
		name = filepath.ToSlash(name)
		// The engine needs the Containerfile whatever the rules say.
		if name != c.file && c.ignore.ignored(name) {
			return nil // not SkipDir: a later rule may keep what is below
		}
		return c.add(archive, path, name, entry)
	})
	if err == nil {
		err = archive.Close()
	}
	if err != nil {
		return fault.Errorf(fault.KindOf(err), "pack build context %s: %w", c.dir, err)
	}
	return nil
}

func (c buildContext) add(archive *tar.Writer, path, name string, entry fs.DirEntry) error {
	fi, err := entry.Info()
	if err != nil {
		return err
	}
	h := &tar.Header{Name: name, Mode: int64(fi.Mode().Perm()), ModTime: time.Unix(0, 0), Format: tar.FormatPAX}
	if fi.Mode()&fs.ModeSetuid != 0 {
		h.Mode |= 0o4000
	}
	if fi.Mode()&fs.ModeSetgid != 0 {
		h.Mode |= 0o2000
	}
	if fi.Mode()&fs.ModeSticky != 0 {
		h.Mode |= 0o1000
	}
	switch fi.Mode().Type() {
	case fs.ModeDir:
		h.Typeflag, h.Name = tar.TypeDir, name+"/"
		return archive.WriteHeader(h)
	case fs.ModeSymlink:
		h.Typeflag = tar.TypeSymlink
		if h.Linkname, err = os.Readlink(path); err != nil {
			return err
		}
		return archive.WriteHeader(h)
	case 0:
		h.Typeflag, h.Size = tar.TypeReg, fi.Size()
		return addFile(archive, h, path)
	}
	return fault.Hintf(fault.Errorf(fault.Usage, "%s is a %s, which no image can hold", name, fi.Mode().Type()), "list it in .containerignore")
}

func addFile(archive *tar.Writer, h *tar.Header, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := archive.WriteHeader(h); err != nil {
		return err
	}
	n, err := io.Copy(archive, io.LimitReader(f, h.Size))
	if err == nil && n < h.Size {
		err = fmt.Errorf("%s became shorter while it was read", h.Name)
	}
	return err
}

// ignoreRules are the lines of a .containerignore or .dockerignore file: the
// last one that matches a path, or a directory above it, decides.
type ignoreRules []ignoreRule

type ignoreRule struct {
	pattern *regexp.Regexp
	keep    bool // the line began with '!'
}

// readIgnore reads the rules of a build context. None is no rules.
func readIgnore(dir string) (ignoreRules, error) {
	for _, name := range []string{".containerignore", ".dockerignore"} {
		f, err := os.Open(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fault.Errorf(fault.KindOf(err), "read build context: %w", err)
		}
		defer f.Close()
		var rules ignoreRules
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			if r, ok := parseIgnore(lines.Text()); ok {
				rules = append(rules, r)
			}
		}
		if err := lines.Err(); err != nil {
			return nil, fault.Errorf(fault.KindOf(err), "read build context: %s: %w", name, err)
		}
		return rules, nil
	}
	return nil, nil
}

func parseIgnore(line string) (ignoreRule, bool) {
	if strings.HasPrefix(line, "#") {
		return ignoreRule{}, false
	}
	line, keep := strings.CutPrefix(strings.TrimSpace(line), "!")
	line = strings.Trim(path.Clean(filepath.ToSlash(strings.TrimSpace(line))), "/")
	if line == "" || line == "." {
		return ignoreRule{}, false
	}
	return ignoreRule{pattern: globPattern(line), keep: keep}, true
}

// globPattern turns '*', '?' and '**' into a regular expression. All else
// stands for itself.
func globPattern(glob string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString("^")
	for i := 0; i < len(glob); i++ {
		switch {
		case strings.HasPrefix(glob[i:], "**/"):
			b.WriteString("(.*/)?")
			i += 2
		case strings.HasPrefix(glob[i:], "**"):
			b.WriteString(".*")
			i++
		case glob[i] == '*':
			b.WriteString("[^/]*")
		case glob[i] == '?':
			b.WriteString("[^/]")
		default:
			b.WriteString(regexp.QuoteMeta(glob[i : i+1]))
		}
	}
	b.WriteString("$")
	return regexp.MustCompile(b.String())
}

// ignored reports whether a path of the context, with '/', is left out.
func (rules ignoreRules) ignored(name string) bool {
	out := false
	for _, r := range rules {
		if r.matches(name) {
			out = !r.keep
		}
	}
	return out
}

func (r ignoreRule) matches(name string) bool {
	for ; name != "."; name = path.Dir(name) {
		if r.pattern.MatchString(name) {
			return true
		}
	}
	return false
}
