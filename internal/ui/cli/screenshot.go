package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/screen/render"
	"den/internal/session"
	"den/internal/session/home"

	"github.com/spf13/cobra"
)

type screenshotOptions struct {
	snapshotOptions
	out    string
	cursor string
	frame  bool
	lookOptions
}

// lookOptions say how pictures look, in screenshots and in films.
type lookOptions struct {
	theme string
	scale float64
	fonts string
}

func (o *lookOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.theme, "theme", "", "the `NAME` of a theme (default dark; see 'den screenshot --help')")
	f.Float64Var(&o.scale, "scale", 1, "size of pictures: 2 is twice as large")
	f.StringVar(&o.fonts, "fonts", "all", "all, or embedded: leave the machine's fonts alone")
}

// options checks them. To the renderer a scale of 0 is one that was not given.
func (o *lookOptions) options() (render.Options, error) {
	ro := render.Options{Scale: o.scale, EmbeddedOnly: o.fonts == "embedded"}
	if o.scale == 0 {
		return ro, fault.Errorf(fault.Usage, "--scale 0 would leave nothing to see: from %v to %v", render.MinScale, render.MaxScale)
	}
	if o.fonts != "all" && o.fonts != "embedded" {
		return ro, fault.Errorf(fault.Usage, "--fonts is all or embedded, not '%s'", o.fonts)
	}
	var err error
	ro.Theme, err = render.FindTheme(o.theme)
	return ro, err
}

func (a *app) screenshotCmd() *cobra.Command {
	var o screenshotOptions
	cmd := &cobra.Command{
		Use:   "screenshot [SESSION]",
		Short: "Draw the screen as a picture, current or past",
		Long: `Draw the screen of a session, running or over, as a PNG or an SVG. The same screen
always gives the same bytes. Without -o the picture is kept as an artifact in the
session's directory; -o - writes it to stdout.

The theme sets the palette colours. It is one of
` + strings.Join(render.Themes(), ", ") + `.

den has fonts for what programs print: letters, signs, icons of Nerd Fonts, emoji. The
machine's own fonts are asked for the rest, and for coloured emoji (NotoColorEmoji); with
--fonts embedded they are not, and the picture is the same on every machine. A character
that no font has is drawn as a box with its number, and listed as missing.`,
		Example: "  den screenshot work\n  den screenshot work -o now.png --theme light --scale 2 --frame\n  den screenshot work --at -30s --format svg -o - > before.svg",
	}
	f := cmd.Flags()
	f.StringVarP(&o.out, "output", "o", "", "write to `FILE`, or to stdout for -")
	f.StringVar(&o.format, "format", "", "png or svg (default: by the name of FILE, else png)")
	o.lookOptions.addFlags(cmd)
	f.StringVar(&o.cursor, "cursor", "", "draw the cursor, as it is or as block, bar, underline or hollow")
	f.Lookup("cursor").NoOptDefVal = string(render.CursorAsSet)
	f.BoolVar(&o.frame, "frame", false, "draw a window around it, with the title, or the session's name")
	o.snapshotOptions.addFlags(cmd)
	return a.onSession(cmd, 0, func(_ context.Context, s *session.Session, _ []string) error {
		return a.runScreenshot(cmd, s, o)
	})
}

// screenshotAnswer is what the caller gets.
type screenshotAnswer struct {
	Session    string   `json:"session"`
	Path       string   `json:"path,omitempty"` // empty: it went to stdout
	Format     string   `json:"format"`
	Seq        uint64   `json:"seq"`
	SHA256     string   `json:"sha256"`
	Bytes      int      `json:"bytes"`
	Width      int      `json:"width"`
	Height     int      `json:"height"`
	ScreenHash string   `json:"screen_hash"`
	Missing    []string `json:"missing,omitempty"` // what no font had, as U+1F680
}

func (a *app) runScreenshot(cmd *cobra.Command, s *session.Session, o screenshotOptions) error {
	debug.SetGCPercent(400) // this process draws one picture, and is gone before memory matters
	if err := o.resolveFormat(); err != nil {
		return err
	}
	r, err := o.renderer()
	if err != nil {
		return err
	}
	hide, m, p, err := o.look(cmd, s)
	if err != nil {
		return err
	}
	shot, err := s.Snapshot(cmd.Context(), p, 0)
	if err != nil {
		return err
	}
	g := render.FromSnapshot(&shot.Screen, r.Theme())
	if hide != nil {
		term, hide, err := pastWithSecrets(cmd.Context(), s, shot.Seq, hide)
		if err != nil {
			return err
		}
		g = render.FromTerminal(term, r.Theme())
		g.Redact(term, hide)
	}
	g.Title = cmp.Or(g.Title, m.Name) // many programs set none
	draw := r.PNG
	if o.format == "svg" {
		draw = r.SVG
	}
	pic, err := draw(g)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(pic.Data)
	ans := screenshotAnswer{
		Session: m.Name, Format: o.format, Seq: shot.Seq, SHA256: hex.EncodeToString(sum[:]), Bytes: len(pic.Data),
		Width: pic.Width, Height: pic.Height, ScreenHash: shot.Screen.Hash, Missing: pic.Missing,
	}
	return a.putScreenshot(s.Dir, o, ans, pic.Data)
}

// putScreenshot writes the picture to its destination and prints the result.
func (a *app) putScreenshot(d home.Dir, o screenshotOptions, ans screenshotAnswer, data []byte) (err error) {
	switch o.out {
	case "-":
		if a.json {
			return fault.Hintf(fault.Errorf(fault.Usage, "-o - and --json both want stdout"), "leave one of them out")
		}
		_, err = a.stdout.Write(data)
		return err
	case "":
		// Different pictures of one moment are different files.
		if ans.Path, err = d.ArtifactPath(fmt.Sprintf("screenshot-%d-%s.%s", ans.Seq, ans.SHA256[:8], o.format)); err == nil {
			err = d.SaveArtifact(ans.Path, home.Artifact{Kind: "screenshot", Seq: ans.Seq, ScreenHash: ans.ScreenHash}, data)
		}
	default:
		ans.Path = o.out
		err = atomicfile.Replace(o.out, data)
	}
	if err != nil {
		return fault.Hintf(notMade(err), "-o FILE writes it elsewhere")
	}
	return a.answer(ans, func(w io.Writer) {
		fmt.Fprintln(w, ans.Path)
		if len(ans.Missing) > 0 {
			fmt.Fprintf(a.stderr, "den: no font here has %s: boxes with these numbers stand for them\n", strings.Join(ans.Missing, " "))
		}
	})
}

// notMade adds a kind to an error of writing a picture or a recording, unless
// it has one.
func notMade(err error) error {
	if fault.KindOf(err) != fault.Internal {
		return err
	}
	return fault.Errorf(fault.Export, "%w", err)
}

// resolveFormat sets the format from the file's name if none was given.
func (o *screenshotOptions) resolveFormat() error {
	if o.format == "" {
		o.format = "png"
		if strings.HasSuffix(strings.ToLower(o.out), ".svg") {
			o.format = "svg"
		}
	}
	if o.format != "png" && o.format != "svg" {
		return fault.Errorf(fault.Usage, "--format is png or svg, not '%s'", o.format)
	}
	return nil
}

func (o *screenshotOptions) renderer() (*render.Renderer, error) {
	ro, err := o.lookOptions.options()
	if err != nil {
		return nil, err
	}
	ro.Cursor, ro.Frame = render.CursorStyle(o.cursor), o.frame
	return render.New(ro)
}
