package wan

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
)

// cellStreams is over how many streams files of a size go.
func cellStreams(size int64) int { return int(min(max(size>>22, 1), 4)) }

// cell is how far off a forecast is, in shares of what a copy of its size took in the median of some.
type cell struct {
	file   float64 // a file, as jobs have them
	fresh  float64 // plain TCP over as many connections, which are new
	stands float64 // the same, but for the first: that stands, and has learned of the copies before
}

// mark is what a forecast is to be true of: of 1 MiB and more of files; what is smaller is most of all the receiver's disk, and plain TCP it is.
func (c cell) mark(size int64) float64 {
	if size >= 1<<20 {
		return c.file
	}
	return c.fresh
}

// cells compares what was forecast of each size for the way from a to b with what takes that way, each copy after a while of nothing;
// sizes that would take too long are left out. Nothing may be measured meanwhile.
func cells(t *testing.T, link grid.Link, a, b *node, sizes []int64, copies int) (off map[int64]cell, row string) {
	t.Helper()
	b.does(order{Do: "again", Address: a.host.IP.String(), Size: 128 << 10})
	off = map[int64]cell{}
	for _, size := range sizes {
		told, _ := link.Bandwidth(size)
		if float64(size)/told > 6 {
			row += " |"
			continue
		}
		m := a.does(order{Do: "hold", Size: size}).Manifest
		var file, fresh, stands []float64
		plain := order{Address: a.host.IP.String(), Size: size, Streams: cellStreams(size)}
		after := func(do string, o order) float64 {
			if o.Do = do; size >= 64<<10 {
				sleep(2 * time.Second)
			}
			return b.does(o).Seconds
		}
		for range copies {
			stands = append(stands, after("again", plain))
			fresh = append(fresh, after("copy", plain))
			file = append(file, after("fetch", order{Peer: a.peer, Manifest: m}))
			b.does(order{Do: "discard"})
		}
		a.does(order{Do: "discard"})
		error := func(took []float64) float64 { return float64(size)/told/median(took) - 1 }
		c := cell{error(file), error(fresh), error(stands)}
		off[size] = c
		row += fmt.Sprintf(" %+.0f %+.0f %+.0f |", 100*c.file, 100*c.fresh, 100*c.stands)
	}
	return off, row
}

// measured waits until probes have measured sizes up to one both ways, or for a minute, and then for a second measurement.
func measured(t *testing.T, a, b *node, upTo int64, more time.Duration) {
	t.Helper()
	for range 60 {
		if _, there := a.does(order{Do: "link", Peer: b.peer}).Link.Bandwidth(upTo); there {
			if _, back := b.does(order{Do: "link", Peer: a.peer}).Link.Bandwidth(upTo); back {
				break
			}
		}
		sleep(time.Second)
	}
	sleep(more)
}

// forecasts are those of the ways from a to b and back, after which nothing is measured any more.
func forecasts(a, b *node) []grid.Link {
	links := []grid.Link{a.does(order{Do: "link", Peer: b.peer}).Link, b.does(order{Do: "link", Peer: a.peer}).Link}
	a.does(order{Do: "stop"})
	b.does(order{Do: "stop"})
	sleep(3 * time.Second) // what was on its way has arrived
	return links
}

// What is forecast of each size is what files take, and plain TCP: a short form in make test, with wide bounds, as each size is measured once and the machine is busy.
func TestCells(t *testing.T) {
	if whole {
		t.Skip("TestCellsOfManyLinks is the whole of it")
	}
	w := network(t, 2)
	w.Set(0, 1, Link{Delay: 20 * time.Millisecond, Rate: 40e6 / 8})
	w.Set(1, 0, Link{Delay: 20 * time.Millisecond, Rate: 8e6 / 8})
	a, b := startNode(t, w.Hosts[0]), startNode(t, w.Hosts[1])
	meet(a, b)
	measured(t, a, b, 1<<20, 0)
	links := forecasts(a, b)
	for i, way := range [][2]*node{{a, b}, {b, a}} {
		off, row := cells(t, links[i], way[0], way[1], []int64{16 << 10, 128 << 10, 1 << 20}, 3)
		t.Logf("errors in %%: %s", row)
		for size, c := range off {
			if e := c.mark(size); e > 2 || e < -0.7 {
				t.Errorf("%d bytes from %v are told with an error of %.0f %%", size, way[0].host.IP, 100*c.mark(size))
			}
		}
	}
}

func TestCellsOfManyLinks(t *testing.T) {
	if !whole {
		t.Skip("make wan runs it")
	}
	sizes := []int64{1 << 10, 16 << 10, 128 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20}
	for _, c := range []struct {
		control     string
		there, back Link
	}{
		{"bbr", Link{Rate: 10e6 / 8}, Link{Rate: 10e6 / 8}},
		{"bbr", Link{Delay: 75 * time.Millisecond, Rate: 10e6 / 8}, Link{Delay: 75 * time.Millisecond, Rate: 10e6 / 8}},
		{"cubic", Link{Delay: 25 * time.Millisecond, Rate: 100e6 / 8}, Link{Delay: 25 * time.Millisecond, Rate: 100e6 / 8}},
		{"bbr", Link{Delay: 10 * time.Millisecond, Rate: 400e6 / 8}, Link{Delay: 10 * time.Millisecond, Rate: 400e6 / 8}},
		{"bbr", Link{Delay: 20 * time.Millisecond, Rate: 100e6 / 8}, Link{Delay: 20 * time.Millisecond, Rate: 20e6 / 8}},
		{"bbr", Link{Delay: 25 * time.Millisecond, Rate: 100e6 / 8, Loss: 0.01}, Link{Delay: 25 * time.Millisecond, Rate: 100e6 / 8, Loss: 0.01}},
		{"bbr", Link{Delay: 75 * time.Millisecond, Rate: 100e6 / 8, Loss: 0.01}, Link{Delay: 75 * time.Millisecond, Rate: 100e6 / 8, Loss: 0.01}},
		{"bbr", Link{Delay: 75 * time.Millisecond, Rate: 400e6 / 8}, Link{Delay: 75 * time.Millisecond, Rate: 400e6 / 8}},
	} {
		name := fmt.Sprintf("%s, %.0f and %.0f Mbit/s, %v, %.0f %% loss", c.control, c.there.Rate*8/1e6, c.back.Rate*8/1e6, c.there.Delay+c.back.Delay, 100*c.there.Loss)
		t.Run(name, func(t *testing.T) {
			w := network(t, 2)
			w.Set(0, 1, c.there)
			w.Set(1, 0, c.back)
			for _, h := range w.Hosts {
				control(t, h, c.control)
			}
			a, b := startNode(t, w.Hosts[0]), startNode(t, w.Hosts[1])
			meet(a, b)
			measured(t, a, b, 1<<20, 20*time.Second)
			var amounts []float64
			var rows []string
			links := forecasts(a, b)
			for i, way := range [][2]*node{{a, b}, {b, a}} {
				if i == 1 && c.there == c.back {
					continue
				}
				off, row := cells(t, links[i], way[0], way[1], sizes, 3)
				rows = append(rows, row)
				for size, c := range off {
					amounts = append(amounts, math.Abs(c.mark(size)))
				}
			}
			t.Logf("| %s |%s %.0f %% | (errors in %% of 1 KiB to 64 MiB there, and back, beside files, new plain connections, one that stands; the median amount)", name, strings.Join(rows, " /"), 100*median(amounts))
			if e := median(amounts); e > 1 {
				t.Errorf("the median error is %.0f %%: %s", 100*e, strings.Join(rows, " / "))
			}
		})
	}
}
