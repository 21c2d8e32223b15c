// Package tui is the dashboard in a terminal: sessions at the left, the screen
// of the selected one at the right, its time below.
//
// The interface itself is one value that bubbletea's loop changes. What takes
// time runs in the goroutines of a pump, which [Run] owns and awaits: each
// does one thing, sees only the newest request, and sends its answer into the
// loop. A slow terminal therefore skips screens and holds nothing up.
package tui

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"den/internal/base/environment"
	"den/internal/base/fault"
	"den/internal/session/home"
	"den/internal/ui/dashboard"
	"den/internal/ui/dashboard/fleet"
	"den/internal/ui/dashboard/nights"

	tea "charm.land/bubbletea/v2"
)

// Options is what the interface needs of the world.
type Options struct {
	Model   *dashboard.Model
	In      *os.File // a terminal
	Out     io.Writer
	Environ []string         // decides the colours
	Now     func() time.Time // for ages
	All     bool             // begin with the sessions that are over, too
	Select  string           // the name or id of the session to begin with, or empty
	OneHome string           // the path of the one Home to begin with, or empty: all are shown
	Self    string           // the id of the session that this runs in, which is not shown, or empty
	// Decide carries out a way to decide what waits, by its id, and says what
	// came of it. Or nil: nothing is decided here.
	Decide func(ctx context.Context, id string, way int, words string) (string, error)
	// Agents asks for the workspace's agents: nil without an error where there
	// is no workspace. Or nil: none are shown.
	Agents func(context.Context) (*fleet.Workspace, error)
	// Nights asks for the agents that sleep and wake, or is nil: none are shown.
	Nights func(context.Context) ([]Night, error)
}

// Run shows the dashboard until its user quits or ctx ends. It leaves the
// terminal as it found it.
func Run(ctx context.Context, o Options) error {
	work, stop := context.WithCancel(ctx)
	p := newPump(o.Model)
	program := tea.NewProgram(newUI(o, p),
		tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(o.Out), tea.WithEnvironment(o.Environ),
		tea.WithoutSignalHandler(), // ctx ends by signal
	)
	p.start(work, program.Send)
	if o.Agents != nil {
		p.work.Go(func() { p.askAgents(work, o.Agents, program.Send) })
	}
	if o.Nights != nil {
		p.work.Go(func() { p.askNights(work, o.Nights, program.Send) })
	}
	_, err := program.Run()
	stop()
	p.wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && !errors.Is(err, tea.ErrInterrupted) {
		return fault.Hintf(fault.Errorf(fault.Internal, "show the dashboard: %w", err), "'den dashboard -j' prints the sessions without a terminal")
	}
	return nil
}

// Main is 'dend tui': what 'den dashboard' becomes. It returns the process status.
func Main(args, environ []string, stdout, stderr io.Writer) int {
	return fault.Printer{Program: "den", Stderr: stderr}.Print(show(args, environ, stdout, stderr))
}

func show(args, environ []string, stdout, stderr io.Writer) error {
	f := flag.NewFlagSet("dend tui", flag.ContinueOnError)
	f.SetOutput(stderr)
	root := f.String("home", "", "the own Home, a `DIR`")
	ref := f.String("select", "", "the `SESSION` to begin with")
	all := f.Bool("all", false, "also sessions that are over")
	one := f.Bool("one-home", false, "one Home at a time")
	if err := f.Parse(args); err != nil {
		return fault.Errorf(fault.Usage, "%w", err)
	}
	getenv := environment.Getter(environ)
	h, err := home.ResolveHome(*root, getenv)
	if err != nil {
		return err
	}
	out, ok := stdout.(*os.File)
	if !ok {
		return fault.Errorf(fault.Usage, "show the dashboard: this is not a terminal")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	var k *fleet.Keeper
	if config := getenv("DEN_WORKSPACE"); config != "" { // 'den dashboard' has named it
		if k, err = fleet.At(config); err != nil {
			return err
		}
	}
	model := dashboard.New(dashboard.Options{Home: h, Registry: home.NewRegistry(getenv)})
	defer model.Close()
	o := Options{
		Model: model, In: os.Stdin, Out: out, Environ: environ, Now: time.Now, All: *all, Select: *ref, Self: getenv("DEN_SESSION_ID"),
		Nights: nightsOf(getenv), Decide: decideFor(k, model),
	}
	if *one {
		o.OneHome = h.Path
	}
	if k != nil {
		o.Agents = k.Now
	}
	return Run(ctx, o)
}

// shownTicks is how many ticks of an agent the dashboard lists.
const shownTicks = 200

// nightsOf asks for the agents that sleep and wake. Their ticks are read again
// when an agent has begun or ended one.
func nightsOf(getenv func(string) string) func(context.Context) ([]Night, error) {
	model, err := nights.New(getenv)
	if err != nil {
		return func(context.Context) ([]Night, error) { return nil, err }
	}
	known := map[string]Night{}
	return func(ctx context.Context) ([]Night, error) {
		agents, problem := model.Agents(ctx, time.Now())
		if problem != "" && len(agents) == 0 {
			return nil, fault.Errorf(fault.Storage, "%s", problem)
		}
		var all []Night
		for _, a := range agents {
			n := known[a.Name]
			if a.State != nights.Missing && (n.Ticks == nil || n.State != a.State || n.Tick != a.Tick) {
				page, err := model.Ticks(a.Name, 0, shownTicks)
				if err != nil && a.Problem == "" {
					a.Problem = err.Error()
				}
				n.Ticks = page.Ticks
			}
			n.Agent = a
			known[a.Name] = n
			all = append(all, n)
		}
		return all, nil
	}
}

// The messages that the pump sends into the loop.
type (
	listMsg  struct{ list *dashboard.Listing }
	frameMsg struct {
		id    string // of the session
		frame *dashboard.Frame
		err   error // io.EOF: the frame before was the last
	}
	lineMsg struct {
		id   string
		line *dashboard.Timeline
		err  error
	}
	pastMsg struct {
		visit int
		frame *dashboard.Frame
		moved bool // the last move led somewhere
		err   error
	}
)

// pump does what takes time.
type pump struct {
	model *dashboard.Model
	live  slot[home.Dir] // whom to follow; one without a path: nobody
	line  slot[home.Dir] // whose timeline to read
	past  chan scrub
	// inView is whose last words to tell of: the sessions in the list, by their ids.
	inView slot[map[string]home.Dir]
	work   sync.WaitGroup
}

func newPump(m *dashboard.Model) *pump {
	return &pump{model: m, live: newSlot[home.Dir](), line: newSlot[home.Dir](), past: make(chan scrub, maxScrubs), inView: newSlot[map[string]home.Dir]()}
}

// start begins the work; wait returns when it has ended, after ctx has.
func (p *pump) start(ctx context.Context, send func(tea.Msg)) {
	p.work.Go(func() {
		for l := range p.model.Watch(ctx) {
			send(listMsg{l})
		}
	})
	p.work.Go(func() { p.follow(ctx, send) })
	p.work.Go(func() { p.readTimelines(ctx, send) })
	p.work.Go(func() { p.scrub(ctx, send) })
	p.work.Go(func() { p.glance(ctx, send) })
}

func (p *pump) wait() { p.work.Wait() }

// follow sends the screens of the requested session until another is requested.
func (p *pump) follow(ctx context.Context, send func(tea.Msg)) {
	d, ok := p.live.take(ctx)
	for ok {
		this, leave := context.WithCancel(ctx)
		var next home.Dir
		changed := make(chan bool, 1)
		p.work.Go(func() {
			var ok bool
			next, ok = p.live.take(ctx)
			changed <- ok
			leave()
		})
		if d.Path != "" {
			p.show(this, d, send)
		}
		ok = <-changed
		d = next
	}
}

// show sends the screens of one session until ctx ends or it is over.
func (p *pump) show(ctx context.Context, d home.Dir, send func(tea.Msg)) {
	v := p.model.Live(d)
	defer v.Close()
	for {
		f, err := v.Next(ctx)
		if ctx.Err() != nil {
			return
		}
		send(frameMsg{d.ID, f, err})
		if err != nil {
			return
		}
	}
}

// lineCost is how many times longer than the reading of a timeline the pause
// is before the same one is read again: reading takes at most a twentieth of a
// processor.
const lineCost = 19

func (p *pump) readTimelines(ctx context.Context, send func(tea.Msg)) {
	var last home.Dir
	var again time.Time // when last may be read again
	for {
		d, ok := p.line.take(ctx)
		if ok && d == last {
			d, ok = takeBefore(ctx, p.line, again, d)
		}
		if !ok {
			return
		}
		begun := time.Now()
		line, err := p.model.Timeline(ctx, dashboard.Of(d))
		if errors.Is(err, context.Canceled) {
			return
		}
		send(lineMsg{d.ID, line, err})
		last, again = d, time.Now().Add(lineCost*time.Since(begun))
	}
}

// over reports whether a view has shown its last screen.
func over(err error) bool { return err == io.EOF }

// slot holds the newest request; older ones that nobody took are dropped.
type slot[T any] struct{ c chan T }

func newSlot[T any]() slot[T] { return slot[T]{make(chan T, 1)} }

// put is for one goroutine: the loop's.
func (s slot[T]) put(v T) {
	select {
	case <-s.c:
	default:
	}
	s.c <- v // room: nobody else puts
}

// take waits for a request; false when ctx ended.
func (s slot[T]) take(ctx context.Context) (v T, ok bool) {
	select {
	case <-ctx.Done():
		return v, false
	case v = <-s.c:
		return v, true
	}
}

// takeBefore waits until a time for a request other than v, and then returns v.
func takeBefore[T comparable](ctx context.Context, s slot[T], until time.Time, v T) (T, bool) {
	t := time.NewTimer(time.Until(until))
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return v, false
		case other := <-s.c:
			if other != v {
				return other, true
			}
		case <-t.C:
			return v, true
		}
	}
}
