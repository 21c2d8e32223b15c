package irc

// A CaseMapping is the rule by which a server compares names, as its ISUPPORT
// spells it.
type CaseMapping string

// The mappings in use. An unknown one is taken for ascii.
const (
	CaseASCII         CaseMapping = "ascii"
	CaseRFC1459       CaseMapping = "rfc1459"        // also {}|~ are the lower case of []\^
	CaseRFC1459Strict CaseMapping = "rfc1459-strict" // also {}| are the lower case of []\
)

// Fold returns the lower case of a name: names are equal if their folds are.
func (m CaseMapping) Fold(s string) string {
	for i := 0; i < len(s); i++ {
		if m.lower(s[i]) != s[i] {
			return m.fold(s)
		}
	}
	return s
}

func (m CaseMapping) fold(s string) string {
	b := []byte(s)
	for i, c := range b {
		b[i] = m.lower(c)
	}
	return string(b)
}

// Equal reports whether two names are the same to the server.
func (m CaseMapping) Equal(a, b string) bool {
	return len(a) == len(b) && m.Fold(a) == m.Fold(b)
}

func (m CaseMapping) lower(c byte) byte {
	upper := byte('Z')
	switch m {
	case CaseRFC1459:
		upper = '^'
	case CaseRFC1459Strict:
		upper = ']'
	}
	if 'A' <= c && c <= upper {
		return c + ('a' - 'A')
	}
	return c
}
