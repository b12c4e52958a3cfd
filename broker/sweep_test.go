package broker

import (
	"slices"
	"testing"
	"time"
)

// What is only removed when it was seen twice does not wait for ten minutes after a start.
func TestTheSecondSweepComesSoon(t *testing.T) {
	t.Parallel()
	var at []time.Duration
	for pause := range sweeps {
		if at = append(at, pause); len(at) == 4 {
			break
		}
	}
	if want := []time.Duration{20 * time.Second, 100 * time.Second, 10 * time.Minute, 10 * time.Minute}; !slices.Equal(at, want) {
		t.Errorf("pauses %v, want %v", at, want)
	}
}
