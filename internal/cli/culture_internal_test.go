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
