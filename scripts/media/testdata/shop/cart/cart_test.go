package cart

import "testing"

func TestTotal(t *testing.T) {
	items := []Item{{"tea", 450, 2}, {"cup", 900, 1}}
	if got := Total(items); got != 1800 {
		t.Errorf("Total = %d, want 1800", got)
	}
}
