package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// kubeAsked is what a keeper asked of the API server.
type kubeAsked struct {
	sum  int
	kind map[string]int // "list pods"
}

// auditLine is a line of an API server's audit log. A request that lasts, as a
// watch, has two: one when it begins.
type auditLine struct {
	ID     string    `json:"auditID"`
	Verb   string    `json:"verb"`
	At     time.Time `json:"requestReceivedTimestamp"`
	Object struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
	} `json:"objectRef"`
}

// requests counts what the keeper asked between two moments.
func (k *kube) requests(from, to time.Time) (kubeAsked, error) {
	asked := kubeAsked{kind: map[string]int{}}
	file, err := os.Open(k.audit)
	if err != nil {
		return asked, err
	}
	defer file.Close()
	seen := map[string]bool{}
	for in := bufio.NewReader(file); ; {
		raw, err := in.ReadBytes('\n')
		if err == io.EOF {
			return asked, nil // what is behind the last line is being written
		}
		if err != nil {
			return asked, err
		}
		var line auditLine
		if err := json.Unmarshal(raw, &line); err != nil {
			return asked, fmt.Errorf("audit log: %w", err)
		}
		if seen[line.ID] || line.At.Before(from) || line.At.After(to) {
			continue
		}
		seen[line.ID] = true
		asked.sum++
		asked.kind[line.Verb+" "+strings.TrimSuffix(line.Object.Resource+"/"+line.Object.Subresource, "/")]++
	}
}

// String has the kinds, the most frequent first.
func (a kubeAsked) String() string {
	var kinds []string
	for kind := range a.kind {
		kinds = append(kinds, kind)
	}
	slices.SortFunc(kinds, func(x, y string) int { return cmp.Or(a.kind[y]-a.kind[x], strings.Compare(x, y)) })
	for i, kind := range kinds {
		kinds[i] = fmt.Sprintf("%d %s", a.kind[kind], kind)
	}
	return strings.Join(kinds, ", ")
}
