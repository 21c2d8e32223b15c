package datarepo

import (
	"time"

	"den/internal/ticks/jsonobject"
)

// Limits bound one tick. 0 means no limit.
type Limits struct {
	WallTime       time.Duration
	Turns          int     // replies of the model
	Cost           float64 // in US dollars, where the backend tells it, and when it does
	Rounds         int     // how often the agent is told that it cannot end yet
	ContextTokens  int     // the model's window; 0 means what the backend tells
	ContextPercent int     // of the window: the agent is told to wrap up
}

// limitKeys are the keys of "limits". An unknown one is an error: it may be a
// limit that somebody relies on.
var limitKeys = map[string]func(*Limits, jsonobject.Value) error{
	"wall_time":       func(l *Limits, v jsonobject.Value) (err error) { l.WallTime, err = duration(v); return },
	"turns":           func(l *Limits, v jsonobject.Value) (err error) { l.Turns, err = count(v); return },
	"cost_usd":        func(l *Limits, v jsonobject.Value) (err error) { l.Cost, err = cost(v); return },
	"rounds":          func(l *Limits, v jsonobject.Value) (err error) { l.Rounds, err = count(v); return },
	"context_tokens":  func(l *Limits, v jsonobject.Value) (err error) { l.ContextTokens, err = count(v); return },
	"context_percent": func(l *Limits, v jsonobject.Value) (err error) { l.ContextPercent, err = percent(v); return },
}

func readLimits(c *Config, v jsonobject.Value) error {
	object, err := v.Object()
	if err != nil {
		return err
	}
	for _, key := range object.Keys() {
		value, ok := object.Get(key)
		if !ok {
			continue // a null
		}
		read, known := limitKeys[key]
		if !known {
			return value.Errorf("no limit is named %q; there are context_percent, context_tokens, cost_usd, rounds, turns and wall_time", key)
		}
		if err := read(&c.Limits, value); err != nil {
			return jsonobject.Key(key, err)
		}
	}
	return nil
}

func cost(v jsonobject.Value) (float64, error) {
	f, err := v.Float()
	if err == nil && f < 0 {
		err = v.Errorf("%g is negative", f)
	}
	return f, err
}

func percent(v jsonobject.Value) (int, error) {
	n, err := count(v)
	if err == nil && n > 100 {
		err = v.Errorf("%d is more than 100", n)
	}
	return n, err
}

// duration is a string such as "45m", or a number of seconds.
func duration(v jsonobject.Value) (time.Duration, error) {
	if !v.IsString() {
		seconds, err := count(v)
		if err == nil && seconds > int(maxDuration/time.Second) {
			err = v.Errorf("%d seconds is more than a year", seconds)
		}
		return time.Duration(seconds) * time.Second, err
	}
	s, err := v.Text()
	if err != nil {
		return 0, err
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || d > maxDuration {
		return 0, v.Errorf(`%.40q is no time such as "90s", "45m" or "2h30m", of at most a year`, s)
	}
	return d, nil
}

const maxDuration = 366 * 24 * time.Hour

// writtenLimits are limits as they are written.
func writtenLimits(l Limits) any {
	return struct {
		WallTime       string  `json:"wall_time"`
		Turns          int     `json:"turns"`
		Cost           float64 `json:"cost_usd"`
		Rounds         int     `json:"rounds"`
		ContextTokens  int     `json:"context_tokens"`
		ContextPercent int     `json:"context_percent"`
	}{l.WallTime.String(), l.Turns, l.Cost, l.Rounds, l.ContextTokens, l.ContextPercent}
}
