package box_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"den/internal/ticks/box"
	"den/internal/ticks/datarepo"
)

func TestChoose(t *testing.T) {
	for _, tt := range []struct {
		what          string
		engine        string
		options       string
		containerfile bool
		want          box.Settings
		wanted        bool
		problem       string // a part of the error, or ""
	}{
		{what: "the example", engine: datarepo.Auto},
		{what: "a Containerfile", engine: datarepo.Auto, containerfile: true, wanted: true},
		{what: "none, whatever there is", engine: datarepo.None, containerfile: true},
		{what: "none, with settings", engine: datarepo.None, options: `{"engine": "none", "memory": "1g"}`, containerfile: true},
		{what: "an engine", engine: datarepo.Podman, containerfile: true, want: box.Settings{Engine: "podman"}, wanted: true},
		{what: "an engine and nothing to make a container from", engine: datarepo.Docker, problem: "there is no system/container/Containerfile"},
		{
			what: "an image", engine: datarepo.Auto, options: `{"image": "debian", "memory": "1g", "pids": 9, "cpus": 0.5, "network": "none", "mounts": ["/srv"], "init": ["sleep", "9"], "socket": "/s"}`,
			want:   box.Settings{Image: "debian", Memory: "1g", PIDs: 9, CPUs: 0.5, Network: "none", Mounts: []string{"/srv"}, Init: []string{"sleep", "9"}, Socket: "/s"},
			wanted: true,
		},
		{what: "an image and a Containerfile", engine: datarepo.Auto, options: `{"image": "debian"}`, containerfile: true, problem: "only one of them"},
		{what: "a misspelt limit", engine: datarepo.Auto, options: `{"memroy": "1g"}`, containerfile: true, problem: `unknown field "memroy"`},
		{what: "a limit of the wrong type", engine: datarepo.Auto, options: `{"memory": 5}`, containerfile: true, problem: "memory"},
	} {
		c := datarepo.Container{Engine: tt.engine}
		if tt.options != "" {
			c.Options = json.RawMessage(tt.options)
		}
		got, wanted, err := box.Choose(c, tt.containerfile)
		switch {
		case tt.problem != "":
			if err == nil || !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("%s: %v, want %q", tt.what, err, tt.problem)
			}
		case err != nil || wanted != tt.wanted || !reflect.DeepEqual(got, tt.want):
			t.Errorf("%s: %+v, %v, %v; want %+v, %v", tt.what, got, wanted, err, tt.want, tt.wanted)
		}
	}
}
