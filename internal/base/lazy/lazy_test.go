package lazy_test

import (
	"sync"
	"testing"

	"den/internal/base/lazy"
)

var (
	made  int
	value = lazy.Value[*int]{Make: func() *int { made++; return &made }}
	words = lazy.Regexp{Expr: `^[a-z]+$`}
)

func TestMadeOnce(t *testing.T) {
	if made != 0 {
		t.Fatal("it was made before it was needed")
	}
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			if value.Get() != &made || !words.Get().MatchString("word") || words.Get().MatchString("two words") {
				t.Error("it is another value")
			}
		})
	}
	work.Wait()
	if made != 1 {
		t.Errorf("it was made %d times", made)
	}
}
