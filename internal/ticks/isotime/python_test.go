package isotime_test

import (
	"encoding/json"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
	"time"

	"den/internal/testkit/need"
	"den/internal/ticks/isotime"
)

// compare reads lines and prints for each what Python takes it for, in seconds,
// and how it would write it.
const compare = `
import sys, json, datetime
for line in sys.stdin:
    d = datetime.datetime.fromisoformat(json.loads(line))
    utc = d if d.tzinfo else d.replace(tzinfo=datetime.timezone.utc)
    us = (utc - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)) // datetime.timedelta(microseconds=1)
    print(json.dumps([us, d.isoformat()]))
`

// Python reads what is written here as it was meant, and the other way round.
func TestAgainstPython(t *testing.T) {
	python := need.Program(t, "python3")
	rng := rand.New(rand.NewPCG(1, 2))
	var times []time.Time
	var lines strings.Builder
	for i := range 500 {
		at := time.UnixMicro(rng.Int64N(4_000_000_000_000_000)).UTC()
		if i%3 == 0 {
			at = at.Truncate(time.Second)
		}
		text := isotime.Naive(at, time.UTC)
		if i%2 == 0 {
			text = at.In(time.FixedZone("", (rng.IntN(27)-13)*1800)).Format("2006-01-02T15:04:05.000000-07:00")
		}
		line, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		times = append(times, at)
		lines.Write(append(line, '\n'))
	}
	cmd := exec.Command(python, "-c", compare)
	cmd.Stdin = strings.NewReader(lines.String())
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, err.(*exec.ExitError).Stderr)
	}
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for _, at := range times {
		var micros int64
		var text string
		if err := dec.Decode(&[]any{&micros, &text}); err != nil {
			t.Fatal(err)
		}
		if micros != at.UnixMicro() {
			t.Errorf("Python reads %v as %d", at, micros)
		}
		if got, err := isotime.Parse(text, time.UTC); err != nil || !got.Equal(at) {
			t.Errorf("Python writes %v as %q, which is read as %v, %v", at, text, got, err)
		}
	}
}
