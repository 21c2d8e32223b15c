package budget

import (
	"fmt"
	"strconv"
	"time"
)

// Usage is what was used.
type Usage struct {
	Tokens  int64   `json:"tokens,omitempty"`
	CostUSD float64 `json:"cost_usd,omitempty"`
	Turns   int64   `json:"turns,omitempty"`
}

func (u Usage) plus(v Usage) Usage {
	return Usage{Tokens: u.Tokens + v.Tokens, CostUSD: u.CostUSD + v.CostUSD, Turns: u.Turns + v.Turns}
}

// Limits are the most that may be used within an hour and within a day. A
// field that is 0 is no limit.
type Limits struct {
	Hour Usage `json:"hour,omitzero"`
	Day  Usage `json:"day,omitzero"`
}

// Which names a limit. The values are stored and sent: add, never rename.
type Which string

// The limits, the ones that are told first before the others.
const (
	TokensPerHour Which = "tokens_per_hour"
	CostPerHour   Which = "cost_per_hour"
	TurnsPerHour  Which = "turns_per_hour"
	TokensPerDay  Which = "tokens_per_day"
	CostPerDay    Which = "cost_per_day"
	TurnsPerDay   Which = "turns_per_day"
)

// measure is one limit, and how to read what it limits.
type measure struct {
	which  Which
	window time.Duration
	unit   string
	of     func(Usage) float64
	limit  func(Limits) float64
}

const (
	hour = time.Hour
	day  = 24 * time.Hour
)

func tokens(u Usage) float64 { return float64(u.Tokens) }
func cost(u Usage) float64   { return u.CostUSD }
func turns(u Usage) float64  { return float64(u.Turns) }

var measures = []measure{
	{TokensPerHour, hour, "tokens", tokens, func(l Limits) float64 { return tokens(l.Hour) }},
	{CostPerHour, hour, "USD", cost, func(l Limits) float64 { return cost(l.Hour) }},
	{TurnsPerHour, hour, "turns", turns, func(l Limits) float64 { return turns(l.Hour) }},
	{TokensPerDay, day, "tokens", tokens, func(l Limits) float64 { return tokens(l.Day) }},
	{CostPerDay, day, "USD", cost, func(l Limits) float64 { return cost(l.Day) }},
	{TurnsPerDay, day, "turns", turns, func(l Limits) float64 { return turns(l.Day) }},
}

// Level is how much of a limit is used. The values are stored and sent: add,
// never rename.
type Level string

// The levels.
const (
	OK       Level = "ok"
	Warned   Level = "warned"   // four fifths are used
	Exceeded Level = "exceeded" // no turn may begin
)

const warnAt = 0.8

// Line is the state of one limit.
type Line struct {
	Which Which   `json:"which"`
	Level Level   `json:"level"`
	Used  float64 `json:"used"`
	Limit float64 `json:"limit"`
	// Until is when turns may begin again, of an exceeded limit.
	Until time.Time `json:"until,omitzero"`
}

// String is the line for people: "1.2M of 2M tokens in the last hour".
func (l Line) String() string {
	for _, m := range measures {
		if m.which == l.Which {
			window := "hour"
			if m.window == day {
				window = "day"
			}
			return fmt.Sprintf("%s of %s %s in the last %s", short(l.Used), short(l.Limit), m.unit, window)
		}
	}
	return string(l.Which)
}

// short writes a number with three digits or so.
func short(x float64) string {
	for _, s := range []struct {
		of   float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if x >= s.of {
			return strconv.FormatFloat(x/s.of, 'g', 3, 64) + s.name
		}
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

// Status is what a ledger says about all limits.
type Status struct {
	Level Level `json:"level"` // the worst of the lines
	// Which is the limit that decides, and Until when turns may begin again:
	// of the exceeded limits the one that holds longest.
	Which Which     `json:"which,omitempty"`
	Until time.Time `json:"until,omitzero"`
	Lines []Line    `json:"lines,omitempty"` // one for each limit that is set
}

// String is the status for people, "" where nothing is limited.
func (s Status) String() string {
	for _, l := range s.Lines {
		if l.Which != s.Which {
			continue
		}
		if s.Level == Exceeded {
			return fmt.Sprintf("%s: paused until %s", l, s.Until.Format(time.RFC3339))
		}
		return l.String()
	}
	return ""
}
