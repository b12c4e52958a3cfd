package wan

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// How long files take is told before they go: by what probes say first, and by what files took from then on.
func TestDeliveryPredicted(t *testing.T) {
	if !whole {
		t.Skip("make wan runs it")
	}
	for _, l := range []Link{
		{Delay: 10 * time.Millisecond, Rate: 100e6 / 8},
		{Delay: 25 * time.Millisecond, Rate: 100e6 / 8, Loss: 0.001},
	} {
		t.Run(fmt.Sprintf("%v, %v loss", 2*l.Delay, l.Loss), func(t *testing.T) {
			w := network(t, 2)
			w.Both(0, 1, l)
			a, b := startNode(t, w.Hosts[0]), startNode(t, w.Hosts[1])
			meet(a, b)
			sleep(20 * time.Second)
			var first, later []float64
			for round := range 4 {
				for _, size := range []int64{1e6, 4e6, 16e6, 64e6} {
					m := a.does(order{Do: "hold", Size: size}).Manifest
					told, _ := a.does(order{Do: "link", Peer: b.peer}).Link.Bandwidth(size)
					took := b.does(order{Do: "fetch", Peer: a.peer, Manifest: m}).Seconds
					b.does(order{Do: "discard"})
					a.does(order{Do: "discard"})
					e := math.Abs(float64(size)/told-took) / took
					if round == 0 {
						first = append(first, e)
					} else {
						later = append(later, e)
					}
				}
			}
			t.Logf("| 100 Mbit/s, %v, %.1f %% | %.0f %% | %.0f %% | (median error of the delivery time of 1 to 64 MB: the first four, and %d after them)",
				2*l.Delay, 100*l.Loss, 100*median(first), 100*median(later), len(later))
			if e := median(later); e > 0.25 {
				t.Errorf("the median error is %.0f %%", 100*e)
			}
		})
	}
}
