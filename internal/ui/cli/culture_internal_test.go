package cli

import (
	"strings"
	"testing"
)

func TestCultureWords(t *testing.T) {
	for line, want := range map[string]string{
		"/usr/bin/culture channel send #general hi":    "den channel send #general hi",
		"culture channel message #general hi":          "den channel send #general hi",
		"culture channel list":                         "den channel channels",
		"culture channel ask #general --timeout 5 why": "den channel ask #general --timeout 5 why",
		"culture skills install claude":                "den skills install claude",
		"culture agents status":                        "den ps",
		"culture agents start spark-culture":           "den agent start spark-culture",
		"culture agents start --all":                   "den up",
		"culture agents start --config agents.yaml":    "den up --file agents.yaml",
		"culture agents stop --all --config=a.yaml":    "den down --file a.yaml",
		"culture agent stop spark-culture":             "den agent stop spark-culture",
		"culture agents sleep spark-culture":           "den harness pause spark-culture",
		"culture agents wake spark-culture":            "den harness resume spark-culture",
		"culture agents status spark-culture -j":       "den harness status spark-culture -j",
		"culture agents status --config c spark-a":     "den harness status spark-a",
		"culture agents message spark-culture hi you":  "den agent ask spark-culture hi you",
		"culture agents learn":                         "den agent learn",
		"culture agents":                               "den agents",
		"culture":                                      "den",
		"irc_client read #general 5":                   "den channel read #general 5",
	} {
		if got, ok := asCulture(strings.Fields(line)); !ok || strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", line, got, want)
		}
	}
	if _, ok := asCulture([]string{"den", "ls"}); ok {
		t.Error("den is taken for culture")
	}
}
