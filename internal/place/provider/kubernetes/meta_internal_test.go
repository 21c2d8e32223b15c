package kubernetes

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/place/workspace"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func contains(s, part string) bool { return strings.Contains(s, part) }

func TestMetadataIsKeptToTheByte(t *testing.T) {
	want := map[string]string{"k": "v", "empty": "", "odd": "a \"b\" $c\n\xff", "größe-no": "größe", strings.Repeat("k", 128): "long", ".": "dot"}
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: metaNotes(want)}}
	p.Annotations[nameNote] = "w-1"
	if got := metaOf(p); !maps.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for key := range p.Annotations {
		if prefix, name, _ := strings.Cut(key, "/"); prefix+"/" == metaNotePrefix && len(name) > maxLabel {
			t.Errorf("%s is no annotation", key)
		}
	}
}

func TestMergeJSON(t *testing.T) {
	base := `{"a":{"b":1,"c":2},"list":[1,2],"named":[{"name":"x","v":1},{"name":"y","v":2}]}`
	for over, want := range map[string]string{
		`{}`:                     `{"a":{"b":1,"c":2},"list":[1,2],"named":[{"name":"x","v":1},{"name":"y","v":2}]}`,
		`{"a":{"c":null,"d":3}}`: `{"a":{"b":1,"d":3},"list":[1,2],"named":[{"name":"x","v":1},{"name":"y","v":2}]}`,
		`{"list":[3]}`:           `{"a":{"b":1,"c":2},"list":[3],"named":[{"name":"x","v":1},{"name":"y","v":2}]}`,
		`{"named":[{"name":"y","w":3},{"name":"z"}]}`: `{"a":{"b":1,"c":2},"list":[1,2],"named":[{"name":"x","v":1},{"name":"y","v":2,"w":3},{"name":"z"}]}`,
		`{"a":"text"}`: `{"a":"text","list":[1,2],"named":[{"name":"x","v":1},{"name":"y","v":2}]}`,
	} {
		got, err := mergeJSON([]byte(base), []byte(over))
		if err != nil || string(got) != want {
			t.Errorf("%s over the base: %s, %v\nwant %s", over, got, err, want)
		}
	}
}

// table reads a table named template from a workspace file.
func table(t *testing.T, text string) workspace.Table {
	t.Helper()
	path := filepath.Join(t.TempDir(), "den.toml")
	file := "[[agents]]\nname = \"a\"\nstart_command = \"sh\"\n[agents.kubernetes]\n" + text + "\n"
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	ws, err := workspace.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Template workspace.Table `key:"template"`
	}
	if problems := ws.Agents[0].Tables.Kubernetes.Decode(&s); len(problems) > 0 {
		t.Fatal(problems)
	}
	return s.Template
}
