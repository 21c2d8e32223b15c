package dashboard

import "time"

// buckets is the maximum number of buckets of an Activity.
const buckets = 512

// Activity is a histogram of a session's output: Bytes[i] were printed from
// i*Step on.
type Activity struct {
	Step  time.Duration `json:"step_ns"`
	Bytes []int64       `json:"bytes"`
}

// add counts n bytes at t. If t is beyond the last bucket, neighbouring
// buckets are merged.
func (a *Activity) add(t time.Duration, n int) {
	if a.Step == 0 {
		a.Step = 100 * time.Millisecond
	}
	for t/a.Step >= buckets {
		a.halve()
	}
	i := int(t / a.Step)
	for len(a.Bytes) <= i {
		a.Bytes = append(a.Bytes, 0)
	}
	a.Bytes[i] += int64(n)
}

func (a *Activity) halve() {
	half := a.Bytes[:0]
	for i := 0; i < len(a.Bytes); i += 2 {
		sum := a.Bytes[i]
		if i+1 < len(a.Bytes) {
			sum += a.Bytes[i+1]
		}
		half = append(half, sum)
	}
	a.Bytes, a.Step = half, a.Step*2
}

// Columns spreads the activity until end over n columns, for a scrubber.
func (a *Activity) Columns(end time.Duration, n int) []int64 {
	cols := make([]int64, n)
	if n == 0 || end <= 0 {
		return cols
	}
	for i, b := range a.Bytes {
		at := int(float64(time.Duration(i)*a.Step) / float64(end) * float64(n))
		cols[min(max(at, 0), n-1)] += b
	}
	return cols
}
