package weak

import "testing"

func TestHeld(t *testing.T) {
	if Held(1, 1) || !Held(1, 2) {
		t.Error("1 < 1, or not 1 < 2")
	}
	Loose(1, 2)
}
