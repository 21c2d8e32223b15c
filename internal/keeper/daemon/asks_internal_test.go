package daemon

import (
	"testing"

	"den/internal/base/fault"
)

// Agents may wait for each other in short chains, never in circles.
func TestAsks(t *testing.T) {
	a := newAsks()
	endAB, err := a.begin("a", "b")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.begin("b", "c"); err != nil {
		t.Fatal(err)
	}
	for _, circle := range [][2]string{{"b", "a"}, {"c", "a"}, {"c", "b"}, {"a", "a"}} {
		if _, err := a.begin(circle[0], circle[1]); fault.KindOf(err) != fault.Denied {
			t.Errorf("%v: %v", circle, err)
		}
	}
	if _, err := a.begin("c", "d"); err != nil {
		t.Error(err)
	}
	if _, err := a.begin("d", "e"); err != nil {
		t.Error(err)
	}
	if _, err := a.begin("e", "f"); err != nil {
		t.Error(err)
	}
	if _, err := a.begin("f", "g"); fault.KindOf(err) != fault.Denied {
		t.Errorf("a long chain: %v", err)
	}
	endAB()
	if _, err := a.begin("b", "a"); err != nil {
		t.Errorf("after its end: %v", err)
	}
	if _, err := a.begin("", "b"); err != nil {
		t.Errorf("a person: %v", err)
	}
}
