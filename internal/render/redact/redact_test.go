package redact_test

import (
	"strings"
	"testing"

	"den/internal/fault"
	"den/internal/render/redact"
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

// cut feeds text in pieces of n bytes and returns what comes out, checking
// that every piece comes out in its place.
func cut(t *testing.T, r *redact.Redactor, text string, n int) string {
	t.Helper()
	var out strings.Builder
	next := 0
	s := redact.NewStream(r, func(tag int, data []byte) error {
		if tag != next {
			t.Fatalf("piece %d came as the %dth", tag, next)
		}
		next++
		out.Write(data)
		return nil
	})
	count := 0
	for len(text) > 0 {
		k := min(n, len(text))
		if err := s.Output(count, []byte(text[:k])); err != nil {
			t.Fatal(err)
		}
		count++
		if count%3 == 0 {
			s.Other(count)
			count++
		}
		text = text[k:]
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if next != count {
		t.Fatalf("%d pieces went in, %d came out", count, next)
	}
	return out.String()
}

func TestStreamHidesWhateverThePieces(t *testing.T) {
	token := tokens["github"]
	mask := strings.Repeat("*", len(token))
	half := len(token) / 2
	cases := []struct{ name, in, want string }{
		{"plain", "a " + token + " b\r\n", "a " + mask + " b\r\n"},
		{"coloured inside", "a " + token[:half] + "\x1b[1;31m" + token[half:] + "\x1b[m b", "a " + mask[:half] + "\x1b[1;31m" + mask[half:] + "\x1b[m b"},
		{"wrapped by a line editor", token[:half] + " \r" + token[half:], mask[:half] + " \r" + mask[half:]},
		{"wrapped by a full-screen program", "\x1b[3;70H" + token[:half] + "\x1b[4;1H" + token[half:], "\x1b[3;70H" + mask[:half] + "\x1b[4;1H" + mask[half:]},
		{"two places", token + "\x1b[9;20Hword", mask + "\x1b[9;20Hword"},
		{"title", "\x1b]2;run " + token + "\x07text", "\x1b]2;run " + mask + "\x07text"},
		{"link", "\x1b]8;;https://x/?k=" + token + "\x1b\\here\x1b]8;;\x1b\\", "\x1b]8;;https://x/?k=" + mask + "\x1b\\here\x1b]8;;\x1b\\"},
		{"nothing", "\x1b[2J\x1b[Hhello 漢字 \xff\xfe\x1b[m", "\x1b[2J\x1b[Hhello 漢字 \xff\xfe\x1b[m"},
	}
	r := redactor(t, true)
	for _, c := range cases {
		for _, n := range []int{1, 2, 3, 7, 1000} {
			if got := cut(t, r, c.in, n); got != c.want {
				t.Errorf("%s, in pieces of %d: %q, want %q", c.name, n, got, c.want)
			}
		}
	}
}

func TestStreamOfManyMegabytes(t *testing.T) {
	token := tokens["slack"]
	line := strings.Repeat("text and more ", 5) + "\r\n"
	var in strings.Builder
	for range 400 {
		in.WriteString(strings.Repeat(line, 40))
		in.WriteString(token + "\r\n")
	}
	got := cut(t, redactor(t, true), in.String(), 4093)
	if want := strings.ReplaceAll(in.String(), token, strings.Repeat("*", len(token))); got != want {
		t.Error("a token was missed, or more than tokens was changed")
	}
}

func FuzzStream(f *testing.F) {
	f.Add("a ghp_abcdefghijklmnop \x1b[31mx\x1b]0;t\x07", 3)
	r, err := redact.New([]string{`s[a-z]+t`}, true)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, in string, n int) {
		n = max(1, n%64)
		if one, many := cut(t, r, in, max(1, len(in))), cut(t, r, in, n); one != many && !strings.ContainsRune(strings.ToValidUTF8(in, "\uFFFD"), '\uFFFD') && isASCII(in) {
			t.Errorf("in one piece %q, in pieces of %d %q", one, n, many)
		}
	})
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(c rune) bool { return c >= 0x80 }) < 0
}
