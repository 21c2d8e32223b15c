package redact_test

import (
	"strings"
	"testing"

	"den/internal/base/fault"
	"den/internal/screen/render/redact"
)

// tokens are made up, and put together here so that no scanner of sources
// takes them for real ones.
var tokens = map[string]string{
	"github":     "ghp_" + strings.Repeat("aB3d", 9),
	"github pat": "github_pat_" + strings.Repeat("11AB_", 8),
	"anthropic":  "sk-ant-" + "api03-" + strings.Repeat("x9Y-", 10),
	"openai":     "sk-" + "proj-" + strings.Repeat("Zz1_", 10),
	"openai old": "sk-" + strings.Repeat("Zz12", 12),
	"aws":        "AKIA" + strings.Repeat("Q7", 8),
	"slack":      "xoxb-" + "12345678901-" + strings.Repeat("aZ", 12),
	"jwt":        "eyJ" + "hbGciOiJIUzI1NiJ9" + "." + "eyJ" + "zdWIiOiIxMjM0In0" + "." + "SflKxwRJSMeKKF2QT4fw",
}

func redactor(t *testing.T, tokens bool, expressions ...string) *redact.Redactor {
	t.Helper()
	r, err := redact.New(expressions, tokens)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTokensAreHidden(t *testing.T) {
	r := redactor(t, true)
	for name, token := range tokens {
		got := r.Text("before " + token + " after")
		if want := "before " + strings.Repeat("*", len(token)) + " after"; got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	key := "-----BEGIN OPENSSH PRIVATE KEY-----\n" + strings.Repeat("b3BlbnNzaC1rZXktdjEA\n", 4) + "-----END OPENSSH PRIVATE KEY-----"
	if got := r.Text("x\n" + key + "\ny"); strings.ContainsAny(got, "bB-") || !strings.HasPrefix(got, "x\n*") || !strings.HasSuffix(got, "*\ny") {
		t.Errorf("private key: %q", got)
	}
	for _, plain := range []string{"ask-me task-force sk-learn", "https://example.com/a:b@c", "AKIA is a brand", "a commit 0123456789abcdef0123456789abcdef01234567"} {
		if got := r.Text(plain); got != plain {
			t.Errorf("%q became %q", plain, got)
		}
	}
}

func TestOwnExpressions(t *testing.T) {
	r := redactor(t, false, `password=(\S+)`, `4\d{3}`, `秘密`)
	if got := r.Text("password=hunter2 4111 秘密!"); got != "password=******* **** ****!" {
		t.Errorf("%q", got)
	}
	for _, bad := range []string{"(", "x*"} {
		if _, err := redact.New([]string{bad}, false); fault.KindOf(err) != fault.Usage {
			t.Errorf("%q: %v, want a usage error", bad, err)
		}
	}
	if r, err := redact.New(nil, false); r != nil || err != nil {
		t.Errorf("nothing to hide: %v, %v", r, err)
	}
}

// Of a token that is broken into lines all parts are hidden, also where a box
// is drawn around them. Words below a token that is complete are not.
func TestBrokenTokensAreHidden(t *testing.T) {
	r := redactor(t, true)
	gh, ant, hex := tokens["github"], tokens["anthropic"], "0123456789abcdef0123456789abcdef"
	for _, c := range []struct{ name, in, want string }{
		{"two lines", "x " + gh[:20] + "\n" + gh[20:] + "\nls\n", "x " + stars(20) + "\n" + stars(20) + "\nls\n"},
		{"short end", gh[:37] + "\r\n" + gh[37:] + "\r\n", stars(37) + "\r\n" + stars(3) + "\r\n"},
		{"three lines", ant[:20] + "\n" + ant[20:40] + "\n" + ant[40:] + "\n$ make\n", stars(20) + "\n" + stars(20) + "\n" + stars(len(ant)-40) + "\n$ make\n"},
		{"box", "│ > " + ant[:20] + " │\n│   " + ant[20:] + "  │\n", "│ > " + stars(20) + " │\n│   " + stars(len(ant)-20) + "  │\n"},
		{"indented", "  1 " + ant[:20] + "\n    " + ant[20:] + "\n", "  1 " + stars(20) + "\n    " + stars(len(ant)-20) + "\n"},
		{"complete", gh + "\nMakefile1\n", stars(40) + "\nMakefile1\n"},
		{"prompt", ant + "\nbuild-server-1:~$ make\n", stars(len(ant)) + "\nbuild-server-1:~$ make\n"},
		{"word", ant + "\nmake\n", stars(len(ant)) + "\nmake\n"},
		{"bearer", "Bearer " + hex + " ok", "Bearer " + stars(32) + " ok"},
		{"bearer of digits in JSON", `{"bearer": "1234567890"}`, `{"bearer": "` + stars(10) + `"}`},
		{"bearer of letters", "bearer deadbeefcafe", "bearer " + stars(12)},
		{"bearer in a text", "a bearer token, the bearer of it, bearer authentication", "a bearer token, the bearer of it, bearer authentication"},
		{"bearer in lines", "Authorization: Bearer " + hex[:16] + "\n" + hex[16:] + "\n", "Authorization: Bearer " + stars(16) + "\n" + stars(16) + "\n"},
	} {
		if got := r.Text(c.in); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func stars(n int) string { return strings.Repeat("*", n) }

// A secret that was seen whole is hidden in pieces, wherever they stand.
func TestPiecesOfKnownSecretsAreHidden(t *testing.T) {
	r, s := redactor(t, true, `key=(\S+)`), redact.NewSecrets()
	token := "sk-ant-" + "api03-" + "q7Xv2LmZ9pKc4RtW8nBd5HsJ1f"
	r.Collect([]byte("export T="+token+"\nkey=building key=a1b2c3d4e5\n----------------"), s)
	r = r.Knowing(s)
	for _, c := range []struct{ name, in, want string }{
		{"tail", token[13:] + " end", stars(26) + " end"},
		{"middle", "│" + token[15:27] + "│", "│" + stars(12) + "│"},
		{"end at an edge", "d5HsJ1f x", "******* x"},
		{"beginning, half typed", "$ sk-an", "$ *****"},
		{"with what was never seen", "q7Xv2LmZ9pKc and more-of-q7Xv2LmZ_new x", stars(12) + " and " + stars(20) + " x"},
		{"too short to know", "s1f sk- 5H", "s1f sk- 5H"},
		{"a word of the caller's expression", "the building", "the building"},
		{"a secret of the caller's expression", "a1b2c3d4e", "*********"},
		{"ruler", "----------------", "----------------"},
	} {
		if got := r.Text(c.in); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Lines come out as they went in, but for the secrets, however many there are
// and wherever the text is cut.
func TestLines(t *testing.T) {
	token := tokens["slack"]
	line := strings.Repeat("text and more ", 5) + "\n"
	var in strings.Builder
	for i := range 400 {
		in.WriteString(strings.Repeat(line, 40))
		in.WriteString(token[:11+i%20] + "\n" + token[11+i%20:] + "\n")
	}
	var out strings.Builder
	l := redact.NewLines(redactor(t, true), func(text []byte) error { out.Write(text); return nil })
	for _, line := range strings.SplitAfter(in.String(), "\n") {
		if err := l.Add([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	want := in.String()
	for i := range 20 {
		want = strings.ReplaceAll(want, token[:11+i]+"\n"+token[11+i:], stars(11+i)+"\n"+stars(len(token)-11-i))
	}
	if out.String() != want {
		t.Error("a token was missed, or more than tokens was changed")
	}
}

// Whatever is searched, spans are in order and inside the text.
func FuzzSpans(f *testing.F) {
	f.Add("a ghp_abcdefghijklmnop \n abcd1234 | Bearer 00112233")
	r, err := redact.New([]string{`s[a-z]+t`}, true)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, in string) {
		s := redact.NewSecrets()
		r.Collect([]byte(in), s)
		at := -1
		for _, sp := range r.Knowing(s).Spans([]byte(in)) {
			if sp.From <= at || sp.To <= sp.From || sp.To > len(in) {
				t.Fatalf("span %+v behind %d in %q", sp, at, in)
			}
			at = sp.To
		}
	})
}
