package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// recorder is an agent that writes down every byte that it reads, and notices a
// second copy of itself.
//
// It takes a lock before it reads and gives it back when all is written down:
// whoever kills it with the lock in hand knows that what it has read is in its
// file. A hangup does not end it in between either; it sees the end of its
// input instead.
const recorder = `use strict;
use warnings;
use Fcntl ':flock';

my ($name, $traces) = @ARGV;
my $end = 0;
$SIG{HUP} = 'IGNORE';
$SIG{$_} = sub { $end = 1 } for qw(INT TERM);

sub appender {
	open(my $file, '>>', "$traces/$_[0]") or die "$_[0]: $!";
	return $file;
}

my $alone = appender("$name.lock");
if (!flock($alone, LOCK_EX | LOCK_NB)) {
	syswrite(appender("doubles"), "$name\n");
	exit 99;
}
syswrite(appender("stages"), "started $name\n");
my $busy = appender("$name.busy");
my $life = time;
my $got = appender("$name.$life-$$.got");
while (!$end) {
	syswrite(STDOUT, "ready> ");
	vec(my $in = '', 0, 1) = 1;
	next if select($in, undef, undef, undef) < 0;
	1 until flock($busy, LOCK_EX);
	my $n = sysread(STDIN, my $bytes, 65536);
	last if !$n;
	syswrite($got, $bytes);
	flock($busy, LOCK_UN);
}
`

// killRecorder kills an agent while it is not between reading and writing down.
func (s *storm) killRecorder(pid int, name string) {
	busy, err := os.OpenFile(filepath.Join(s.traces, name+".busy"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer busy.Close()
	if err := syscall.Flock(int(busy.Fd()), syscall.LOCK_EX); err != nil {
		s.t.Fatal(err)
	}
	s.kill([]int{pid})
	s.awaitEnd(pid)
}

// linesRead returns how often an agent read each line, over all of its lives.
// What a life read of a line that never ended is not in it.
func (s *storm) linesRead(agent string) map[string]int {
	lives, err := filepath.Glob(filepath.Join(s.traces, agent+".*.got"))
	if err != nil {
		s.t.Fatal(err)
	}
	read := map[string]int{}
	for _, life := range lives {
		raw, err := os.ReadFile(life)
		if err != nil {
			s.t.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			if text, whole := strings.CutSuffix(line, "\n"); whole {
				read[text]++
			}
		}
	}
	return read
}

// The stages of a start, as they stand in the traces with the agent's name.
// The set-up takes a moment at each, so that a keeper can be killed there.
var stages = []string{"preparing", "prepared", "started", "setting-up", "set-up", "script-runs", "script-ran"}

func slowly(traces, begun, done string) string {
	return fmt.Sprintf("echo %s $DEN_AGENT >>%s/stages; sleep 0.1; echo %s $DEN_AGENT >>%s/stages", begun, traces, done, traces)
}

// stagesOf returns the stages that an agent's starts have come to, in order.
func (s *storm) stagesOf(agent string) (of []string) {
	raw, err := os.ReadFile(filepath.Join(s.traces, "stages"))
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if stage, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); name == agent {
			of = append(of, stage)
		}
	}
	return of
}
