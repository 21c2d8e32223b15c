package film

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"den/internal/base/fault"
	"den/internal/screen/render"
)

// Encoder is the program that makes videos.
const Encoder = "ffmpeg"

// video pipes the pictures that differ through ffmpeg.
func (m *maker) video() error {
	ffmpeg, err := exec.LookPath(Encoder)
	if err != nil {
		return fault.Hintf(fault.Errorf(fault.Unsupported, "a video needs %s, which is not on this machine", Encoder),
			"install it (Debian: apt install ffmpeg), or export a gif, which needs nothing")
	}
	s, err := m.survey()
	if err != nil {
		return err
	}
	r, err := render.New(m.o.Render)
	if err != nil {
		return err
	}
	reel, err := r.NewReel(s.cols, s.rows)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "den-video-") // mode 0700
	if err != nil {
		return fmt.Errorf("make video: %w", err)
	}
	defer os.RemoveAll(dir) // Best effort: it is in the directory for such things.
	meta := filepath.Join(dir, "meta.txt")
	if err := os.WriteFile(meta, metadata(m.hide.Text(m.o.Title), s.chapters, s.end+tail), 0o600); err != nil {
		return fmt.Errorf("make video: %w", err)
	}
	target := filepath.Join(dir, "film."+m.o.Format.Extension())
	encoded := target
	if m.o.Format == MP4 {
		// Not every ffmpeg writes pictures at uneven times to MP4 as they come;
		// all do so to Matroska, and copy them from there.
		encoded = filepath.Join(dir, "film.mkv")
	}
	if err := m.encode(ffmpeg, m.encoderArgs(meta, encoded), func(to io.Writer) error { return m.feed(to, s, r, reel) }); err != nil {
		return err
	}
	m.result.Duration = s.end + tail
	if encoded != target {
		args := append(quietArgs(), "-i", encoded, "-c", "copy", "-movflags", "+faststart", "-fflags", "+bitexact", target)
		if err := m.encode(ffmpeg, args, func(io.Writer) error { return nil }); err != nil {
			return err
		}
	}
	return writeError("video", copyFile(m.out, target))
}

func quietArgs() []string { return []string{"-nostdin", "-hide_banner", "-loglevel", "error", "-y"} }

func (m *maker) encoderArgs(meta, target string) []string {
	args := append(quietArgs(),
		"-f", "matroska", "-i", "pipe:0", "-f", "ffmetadata", "-i", meta,
		"-map", "0:v", "-map_metadata", "1", "-map_chapters", "1",
	)
	// Say in which of the two ways colours are stored: players guess otherwise.
	args = append(args, "-vf", "scale=out_color_matrix=bt709:out_range=tv",
		"-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709", "-color_range", "tv")
	if m.o.Format == WebM {
		// Realtime mode is some ten times faster, and screens compress well.
		args = append(args, "-c:v", "libvpx-vp9", "-pix_fmt", "yuv420p", "-deadline", "realtime", "-cpu-used", "8",
			"-row-mt", "1", "-tune-content", "screen", "-crf", "28", "-b:v", "0")
	} else {
		args = append(args, "-c:v", "libx264", "-pix_fmt", "yuv420p", "-preset", "veryfast", "-tune", "animation", "-crf", "20")
	}
	// The same film gives the same bytes.
	return append(args, "-fflags", "+bitexact", "-flags:v", "+bitexact", target)
}

// feed writes all pictures.
func (m *maker) feed(to io.Writer, s *survey, r *render.Renderer, reel *render.Reel) error {
	mkv := &matroska{out: to}
	w, h := reel.Size()
	if err := mkv.begin(w, h); err != nil {
		return err
	}
	err := m.shots(s, r.Theme(), func(at time.Duration, g *render.Grid) error {
		if !reel.Next(g) {
			return nil
		}
		m.result.Frames++
		return mkv.picture(at, 4*w*h, reel.AppendBGRA)
	})
	if err != nil {
		return err
	}
	// The last one again, so that it has a length.
	return mkv.picture(s.end+tail, 4*w*h, reel.AppendBGRA)
}

// encode runs the encoder and feeds it. What it says is part of the error.
func (m *maker) encode(ffmpeg string, args []string, feed func(io.Writer) error) error {
	ctx, cancel := context.WithCancel(m.ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, ffmpeg, args...)
	cmd.WaitDelay = 5 * time.Second
	var said bytes.Buffer
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fault.Errorf(fault.Export, "start %s: %w", Encoder, err)
	}
	fed := feed(in)
	if fed != nil && !isBrokenPipe(fed) {
		cancel() // the film is broken off
	}
	closed := in.Close()
	err = cmd.Wait()
	switch {
	case m.ctx.Err() != nil:
		return m.ctx.Err()
	case fed != nil && !isBrokenPipe(fed):
		return fed
	case err != nil:
		return fault.Hintf(fault.Errorf(fault.Export, "%s: %w: %s", Encoder, err, lastLine(said.String())),
			"'%s -encoders' lists what it can: it needs libvpx-vp9 for webm, libx264 for mp4", Encoder)
	}
	return closed
}

// isBrokenPipe reports that the encoder has gone: its own words say why.
func isBrokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// metadata is the title and the chapters in ffmpeg's own words.
func metadata(title string, chapters []chapter, end time.Duration) []byte {
	escape := strings.NewReplacer("\\", `\\`, "=", `\=`, ";", `\;`, "#", `\#`, "\n", "\\\n").Replace
	var b bytes.Buffer
	fmt.Fprintln(&b, ";FFMETADATA1")
	if title != "" {
		fmt.Fprintf(&b, "title=%s\n", escape(title))
	}
	if len(chapters) > 0 && chapters[0].at > 0 { // MP4 knows no time without a chapter
		chapters = append([]chapter{{label: "start"}}, chapters...)
	}
	for i, c := range chapters {
		until := end
		if i+1 < len(chapters) {
			until = chapters[i+1].at
		}
		fmt.Fprintf(&b, "[CHAPTER]\nTIMEBASE=1/1000\nSTART=%d\nEND=%d\ntitle=%s\n", c.at.Milliseconds(), until.Milliseconds(), escape(c.label))
	}
	return b.Bytes()
}

func copyFile(to io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(to, f)
	return err
}
