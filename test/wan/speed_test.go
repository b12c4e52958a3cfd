package wan

import (
	"slices"
	"testing"
	"time"
)

// A file comes over 50 ms, 400 Mbit/s and 0.05 % loss at no less than four fifths of what as many plain connections bring of the same
// length, in the medians of runs that take turns: under cubic, where losses are the bound. Under BBR one connection nearly fills the
// link, and on few processors TLS and the relay are the bound: that is only told.
func TestStageOverALongWay(t *testing.T) {
	if !whole {
		t.Skip("make wan runs it")
	}
	const size, streams, runs = 64 << 20, 4, 5
	for _, name := range []string{"cubic", "bbr"} {
		t.Run(name, func(t *testing.T) {
			w := network(t, 2)
			w.Both(0, 1, Link{Delay: 25 * time.Millisecond, Rate: 400e6 / 8, Loss: 0.0005})
			for _, h := range w.Hosts {
				control(t, h, name)
			}
			a, b := startNode(t, w.Hosts[0]), startNode(t, w.Hosts[1])
			meet(a, b)
			m := a.does(order{Do: "hold", Size: size}).Manifest
			var one, plain, ours []float64
			rate := func(list []float64, seconds float64) []float64 { return append(list, size*8/seconds/1e6) }
			for range runs {
				one = rate(one, b.does(order{Do: "copy", Address: a.host.IP.String(), Size: size, Streams: 1}).Seconds)
				plain = rate(plain, b.does(order{Do: "copy", Address: a.host.IP.String(), Size: size, Streams: streams}).Seconds)
				ours = rate(ours, b.does(order{Do: "fetch", Peer: a.peer, Manifest: m}).Seconds)
				b.does(order{Do: "discard"})
			}
			share := median(ours) / median(plain)
			t.Logf("| %s | %.0f | %.0f | %.0f | %.0f %% | (Mbit/s: one plain connection, %d, stage; share of the %d) %.0f %.0f", name, median(one), median(plain), median(ours), 100*share, streams, streams, plain, ours)
			if name == "cubic" && share < 0.8 {
				t.Errorf("the files came at %.0f %% of %d plain connections", 100*share, streams)
			}
		})
	}
}

// Files of a few megabytes over 150 ms and 400 Mbit/s come no slower than over new plain connections, though the streams of a connection
// have windows: what is over in a few round trips does not wait for these to open.
func TestShortFilesOverALongWay(t *testing.T) {
	if !whole {
		t.Skip("make wan runs it")
	}
	for _, name := range []string{"bbr", "cubic"} {
		t.Run(name, func(t *testing.T) {
			w := network(t, 2)
			w.Both(0, 1, Link{Delay: 75 * time.Millisecond, Rate: 400e6 / 8})
			for _, h := range w.Hosts {
				control(t, h, name)
			}
			a, b := startNode(t, w.Hosts[0]), startNode(t, w.Hosts[1])
			meet(a, b)
			forecasts(a, b)
			for _, size := range []int64{1 << 20, 4 << 20, 16 << 20} {
				var plain, ours []float64
				m := a.does(order{Do: "hold", Size: size}).Manifest
				for range 5 {
					plain = append(plain, b.does(order{Do: "copy", Address: a.host.IP.String(), Size: size, Streams: cellStreams(size)}).Seconds)
					sleep(2 * time.Second)
					ours = append(ours, b.does(order{Do: "fetch", Peer: a.peer, Manifest: m}).Seconds)
					b.does(order{Do: "discard"})
				}
				a.does(order{Do: "discard"})
				t.Logf("| %s | %d MiB | %.2f s | %.2f s | (files, new plain connections) %.2f %.2f", name, size>>20, median(ours), median(plain), ours, plain)
				if median(ours) > 2*median(plain) {
					t.Errorf("files of %d MiB took %.2f s, new plain connections %.2f s", size>>20, median(ours), median(plain))
				}
			}
		})
	}
}

func median(list []float64) float64 {
	s := slices.Sorted(slices.Values(list))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}
