package web_test

import (
	"bytes"
	"encoding/json"
	"image/png"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/screen/render/film"
	"den/internal/testkit/need"
)

// listed waits until the server knows a session, and returns its address.
func (w *world) listed(c *http.Client, name string) string {
	w.T.Helper()
	address := w.root() + "api/sessions/" + w.Dir(name).ID
	w.eventually("session "+name+" is listed", func() bool {
		r, _ := get(w.T, c, address+"/timeline")
		return r.StatusCode == http.StatusOK
	})
	return address
}

func TestDownloads(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.Do("new", "sh", "--cols", "40", "--rows", "10", "bash")
	w.Do("run", "sh", "clear; echo only then")
	w.Do("run", "sh", "clear; echo only now")
	c := w.visitor()
	address := w.listed(c, "sh")
	var line struct {
		Cells []struct {
			Code string
			End  struct{ Seq uint64 }
		}
	}
	_, body := get(t, c, address+"/timeline")
	if err := json.Unmarshal([]byte(body), &line); err != nil || len(line.Cells) != 2 {
		t.Fatalf("timeline: %v\n%s", err, body)
	}
	for _, test := range []struct{ path, kind, name, begins, has string }{
		{"/screenshot", "image/png", `.png`, "\x89PNG", ""},
		{"/screenshot?format=svg", "image/svg+xml", `.svg`, "<svg", "only"},
		{"/recording", "application/x-asciicast", `sh.cast`, `{"version":3`, "only now"},
		{"/recording?format=gif", "image/gif", `sh.gif`, "GIF89a", ""},
		{"/recording?format=text", "text/plain", `sh.txt`, "", "only now"},
		{"/recording?format=webm", "video/webm", `sh.webm`, "\x1a\x45\xdf\xa3", "webm"},
		{"/recording?format=mp4", "video/mp4", `sh.mp4`, "", "ftyp"},
	} {
		if strings.HasPrefix(test.kind, "video/") && !hasFFmpeg() {
			t.Logf("%s is not tried: ffmpeg is missing (apt-get install ffmpeg)", test.path)
			continue
		}
		r, body := get(t, c, address+test.path)
		if r.StatusCode != http.StatusOK || !strings.HasPrefix(r.Header.Get("Content-Type"), test.kind) {
			t.Errorf("%s: %s, %s\n%.200s", test.path, r.Status, r.Header.Get("Content-Type"), body)
			continue
		}
		if d := r.Header.Get("Content-Disposition"); !strings.HasPrefix(d, "attachment") || !strings.Contains(d, test.name) {
			t.Errorf("%s: disposition %q", test.path, d)
		}
		if !strings.HasPrefix(body, test.begins) || !strings.Contains(body, test.has) {
			t.Errorf("%s: %.300q", test.path, body)
		}
	}
	_, picture := get(t, c, address+"/screenshot")
	if _, err := png.Decode(bytes.NewReader([]byte(picture))); err != nil {
		t.Errorf("the screenshot: %v", err)
	}
}

func TestWhatCannotBeAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.Do("new", "sh", "cat")
	c := w.visitor()
	address := w.listed(c, "sh")
	for _, test := range []struct {
		address string
		status  int
		kind    string
	}{
		{w.root() + "api/sessions/none/timeline", http.StatusNotFound, "not_found"},
		{address + "/at?t=soon", http.StatusBadRequest, "usage"},
		{address + "/at?seq=-1", http.StatusBadRequest, "usage"},
		{address + "/screenshot?format=bmp", http.StatusBadRequest, "usage"},
		{address + "/recording?format=avi", http.StatusBadRequest, "usage"},
	} {
		r, body := get(t, c, test.address)
		var said struct {
			Error struct{ Kind, Message string }
		}
		if err := json.Unmarshal([]byte(body), &said); err != nil || r.StatusCode != test.status || said.Error.Kind != test.kind || said.Error.Message == "" {
			t.Errorf("%s: %s %s", test.address, r.Status, body)
		}
	}
}

func hasFFmpeg() bool {
	_, err := exec.LookPath(film.Encoder)
	return err == nil
}

// The page itself saves a film, and says why where none can be made.
func TestPageSavesFilms(t *testing.T) {
	if !hasFFmpeg() {
		need.Missing(t, "ffmpeg is not installed")
	}
	w := newWorld(t, "")
	w.Do("new", "sh", "--cols", "40", "--rows", "10", "bash")
	w.Do("run", "sh", "echo on film")
	p := w.browse(1200, 800)
	dir := t.TempDir()
	p.must(p.page.SaveTo(within(t), dir))
	p.openSession(w.Dir("sh").ID)
	p.until(`document.querySelector("[data-film=webm]").href.includes("` + w.Dir("sh").ID + `")`)
	p.eval(`document.querySelector("[data-film=webm]").click()`, nil)
	path := filepath.Join(dir, "sh.webm")
	w.eventually("a film comes", func() bool { // it has this name when it is whole
		data, err := os.ReadFile(path)
		return err == nil && strings.HasPrefix(string(data), "\x1a\x45\xdf\xa3")
	})
	p.until(`document.getElementById("note").hidden`)
	p.expected = "status of 501"
	t.Setenv("PATH", t.TempDir()) // the server is in this process
	p.eval(`document.querySelector("[data-film=mp4]").click()`, nil)
	p.until(`/ffmpeg/.test(document.getElementById("note").innerText) && document.getElementById("note").dataset.tone === "bad"`)
	p.shoot("no-ffmpeg")
}
