package film_test

import (
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/base/fault"
	"den/internal/screen/render"
	"den/internal/screen/render/film"
	"den/internal/testkit/need"
)

func TestVideoHasChaptersAndTheLastScreen(t *testing.T) {
	for _, program := range []string{"ffmpeg", "ffprobe"} {
		need.Program(t, program)
	}
	l := story(t)
	for _, f := range []film.Format{film.WebM, film.MP4} {
		o := film.Options{Format: f, Timing: film.Accelerated, Render: render.Options{Cursor: render.CursorAsSet}, Title: "a; story"}
		path, res := write(t, l, o)
		out, err := exec.Command("ffprobe", "-v", "error", "-show_chapters", "-show_entries", "format_tags=title", "-of", "flat", path).CombinedOutput()
		if err != nil {
			t.Fatalf("ffprobe: %v: %s", err, out)
		}
		for _, want := range []string{`title="build"`, `title="after lunch"`, `"a; story"`} {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s: no %s in\n%s", f, want, out)
			}
		}
		if res.Frames < 5 {
			t.Errorf("%s: %d frames", f, res.Frames)
		}
		still := filepath.Join(t.TempDir(), "last.png")
		if out, err := exec.Command("ffmpeg", "-v", "error", "-sseof", "-0.4", "-i", path, "-update", "1", "-y", still).CombinedOutput(); err != nil {
			t.Fatalf("ffmpeg: %v: %s", err, out)
		}
		file, err := os.Open(still)
		if err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(file)
		file.Close()
		if err != nil {
			t.Fatal(err)
		}
		// Encoders blur coloured edges: half the colour's resolution is lost.
		near(t, img, drawn(t, lastScreen(t, l), o.Render), 90)
	}
}

func TestVideoWithoutEncoderSaysWhatToDo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, err = film.Write(t.Context(), f, story(t), film.Options{Format: film.WebM})
	if fault.KindOf(err) != fault.Unsupported || !strings.Contains(fault.HintOf(err), "gif") {
		t.Errorf("%v, hint %q", err, fault.HintOf(err))
	}
}
