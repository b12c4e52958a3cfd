package wan

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// probed is the largest size that probes measure.
const probed = 16 << 20

// learned waits until probes have measured each size of the way from a to b, or for a minute, and for two more of each; it returns what
// is told.
func learned(t *testing.T, a, b *node) told {
	t.Helper()
	for range 60 {
		if known(a.does(order{Do: "link", Peer: b.peer})) {
			break
		}
		sleep(time.Second)
	}
	sleep(time.Minute)
	return a.does(order{Do: "link", Peer: b.peer})
}

func known(r told) bool {
	for _, s := range r.Link.Rates {
		if s.Size <= probed && !s.Measured {
			return false
		}
	}
	return true
}

// How long files take is told before they go: by what probes say first, and by what files took from then on. Of a size what it took is
// compared with what was told before it went; for probes alone, the median of its rounds with what was told before the first file.
func TestDeliveryPredicted(t *testing.T) {
	if !whole {
		t.Skip("make wan runs it")
	}
	sizes := []int64{1e6, 4e6, 16e6, 64e6, 256e6, 1 << 30}
	for _, c := range []struct {
		control string
		link    Link
	}{
		{"bbr", Link{Delay: 10 * time.Millisecond, Rate: 100e6 / 8}},
		{"bbr", Link{Delay: 25 * time.Millisecond, Rate: 200e6 / 8, Loss: 0.001}},
		{"cubic", Link{Delay: 10 * time.Millisecond, Rate: 200e6 / 8}},
		{"cubic", Link{Delay: 25 * time.Millisecond, Rate: 100e6 / 8, Loss: 0.001}},
	} {
		t.Run(fmt.Sprintf("%s, %v, %v loss", c.control, 2*c.link.Delay, c.link.Loss), func(t *testing.T) {
			w := network(t, 2)
			w.Both(0, 1, c.link)
			for _, h := range w.Hosts {
				control(t, h, c.control)
			}
			a, b := startNode(t, w.Hosts[0]), startNode(t, w.Hosts[1])
			meet(a, b)
			alone := learned(t, a, b).Link
			took, off := map[int64][]float64{}, map[int64][]float64{}
			var all, first []float64
			for round := range 3 {
				for _, size := range sizes {
					if size > 64e6 && round != 1 {
						continue // it takes minutes
					}
					m := a.does(order{Do: "hold", Size: size}).Manifest
					told, _ := a.does(order{Do: "link", Peer: b.peer}).Link.Bandwidth(size)
					d := b.does(order{Do: "fetch", Peer: a.peer, Manifest: m}).Seconds
					b.does(order{Do: "discard"})
					a.does(order{Do: "discard"})
					e := float64(size)/told/d - 1
					t.Logf("%d bytes: told %.3f s, took %.3f s", size, float64(size)/told, d)
					took[size], off[size] = append(took[size], d), append(off[size], 100*e)
					if round > 0 {
						all = append(all, math.Abs(e))
					}
				}
			}
			var by strings.Builder
			for _, size := range sizes {
				rate, _ := alone.Bandwidth(size)
				e := float64(size)/rate/median(took[size]) - 1
				first = append(first, math.Abs(e))
				fmt.Fprintf(&by, " %+.0f (%+.0f) |", 100*e, median(off[size]))
			}
			t.Logf("| %s, %.0f Mbit/s, %v, %.1f %% |%s %.0f | %.0f | (errors in %%, 1 MB to 1 GiB: by probes alone (by files too); medians of their amounts, by probes alone, and after a first round of files)",
				c.control, c.link.Rate*8/1e6, 2*c.link.Delay, 100*c.link.Loss, by.String(), 100*median(first), 100*median(all))
			if e, chance := median(all), apart(took); e > max(0.25, 1.5*chance) {
				t.Errorf("the median error is %.0f %%, and files of one size took %.0f %% more or less", 100*e, 100*chance)
			}
		})
	}
}

// apart is how much more or less than in the middle files of one size took, in the mean of the sizes: no forecast is nearer. It is next
// to nothing, but for a control that goes by losses on a way that has some.
func apart(took map[int64][]float64) float64 {
	sum, n := 0.0, 0.0
	for _, list := range took {
		if len(list) > 1 {
			sum, n = sum+(slices.Max(list)-slices.Min(list))/2/median(list), n+1
		}
	}
	return sum / n
}
