package main

import (
	"math"
	"slices"
)

// series is what one contestant did in one case, sample by sample.
type series struct {
	Case   string    `json:"case"`
	Who    string    `json:"who"`
	Unit   string    `json:"unit"`
	Higher bool      `json:"higher_is_better,omitempty"`
	Values []float64 `json:"values"`
	Ratio  float64   `json:"den_is_better_by,omitempty"` // den against this one
	Note   string    `json:"note,omitempty"`
}

func (s *series) add(v float64) { s.Values = append(s.Values, v) }

func (s *series) median() float64 { return s.quantile(0.5) }

// quantile interpolates between the two nearest samples.
func (s *series) quantile(q float64) float64 {
	if len(s.Values) == 0 {
		return math.NaN()
	}
	v := slices.Sorted(slices.Values(s.Values))
	at := q * float64(len(v)-1)
	i := int(at)
	if i+1 >= len(v) {
		return v[len(v)-1]
	}
	return v[i] + (at-float64(i))*(v[i+1]-v[i])
}

// against returns by what factor s is better than peer, from the medians.
func (s *series) against(peer *series) float64 {
	if s.Higher {
		return s.median() / peer.median()
	}
	return peer.median() / s.median()
}
