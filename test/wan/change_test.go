package wan

import (
	"testing"
	"time"

	"gbroker/grid"
)

// A change of rate is noticed within two probes: the second measurement of a size after the change makes what is told of it what a
// copy over the link takes that is now. A short form in make test.
func TestAChangeOfRateIsNoticed(t *testing.T) {
	const size = 128 << 10
	for _, c := range []struct {
		name          string
		delay         time.Duration
		before, after float64 // bytes per second
		whole         bool
	}{
		{"40 to 4 Mbit/s", 10 * time.Millisecond, 40e6 / 8, 4e6 / 8, false},
		{"4 to 40 Mbit/s", 10 * time.Millisecond, 4e6 / 8, 40e6 / 8, true},
		{"10 to 2 Mbit/s over 150 ms", 75 * time.Millisecond, 10e6 / 8, 2e6 / 8, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.whole && !whole {
				t.Skip("make wan runs it")
			}
			w := network(t, 2)
			w.Both(0, 1, Link{Delay: c.delay, Rate: c.before})
			t.Setenv(intervalVariable, "3s")
			a, b := startNode(t, w.Hosts[0]), startNode(t, w.Hosts[1])
			meet(a, b)
			k := probes(t, a, b, size, 1)
			old, _ := a.does(order{Do: "link", Peer: b.peer}).Link.Bandwidth(size)
			w.Both(0, 1, Link{Delay: c.delay, Rate: c.after})
			probes(t, a, b, size, 2)
			told := a.does(order{Do: "link", Peer: b.peer}).Link.Rates[k].BytesPerSecond
			forecasts(a, b)
			var plain []float64
			for range 3 {
				sleep(time.Second)
				plain = append(plain, size/b.does(order{Do: "copy", Address: a.host.IP.String(), Size: size, Streams: 1}).Seconds)
			}
			t.Logf("| %s | told %.0f kB/s before, and %.0f two probes after the change, where a plain copy gets %.0f |", c.name, old/1e3, told/1e3, median(plain)/1e3)
			if e := told/median(plain) - 1; e > 1 || e < -0.5 {
				t.Errorf("two probes after the change %.0f kB/s are told, where a plain copy gets %.0f and got %.0f before", told/1e3, median(plain)/1e3, old/1e3)
			}
		})
	}
}

// probes waits until a size has been measured so many times more from a to b than it was, and tells which of the sizes it is.
func probes(t *testing.T, a, b *node, size int64, more int) (k int) {
	t.Helper()
	last := grid.Tick(-1)
	for began := time.Now(); time.Since(began) < 4*time.Minute; sleep(50 * time.Millisecond) {
		r := a.does(order{Do: "link", Peer: b.peer})
		for i, rate := range r.Link.Rates {
			if rate.Size != size || !rate.Measured || i >= len(r.Age) {
				continue
			}
			if r.Age[i] < last {
				if more--; more == 0 {
					return i
				}
			}
			last = r.Age[i]
		}
	}
	t.Fatalf("%d bytes were not measured within minutes", size)
	return 0
}
