package kinds

import (
	"testing"
	"time"
)

func TestKinds(t *testing.T) {
	if Wait(1) != 3*time.Millisecond+1 || Name("a", "b") != "ab" || Table() != 4 || Among(true, false) != 0 || Among(true, true) != 1 {
		t.Error("changed")
	}
	Never()
}
