package plan

import (
	"fmt"

	"gbroker/grid"

	"pgregory.net/rapid"
)

// drawTwin makes small markets where every rule decides now and then. In a simple one each
// node has one core, and the demand is for one kind of pieces.
func drawTwin(t *rapid.T, simple bool) twin {
	var w twin
	number := func(from, to int, name string) int { return rapid.IntRange(from, to).Draw(t, name) }
	for j := range number(1, 4, "sites") {
		speed := rapid.SampledFrom([]float64{1, 1, 2, 0.5, 3}).Draw(t, "speed")
		s := SlotSite{Site: grid.Site{Name: grid.SiteName(fmt.Sprintf("s%d", j)), Speed: speed, Architecture: "x86_64"}}
		w.w.Delivery = append(w.w.Delivery, grid.Tick(number(0, 12, "delivery")))
		for n := range number(0, 5, "nodes") {
			node := Node{Name: grid.NodeName(fmt.Sprintf("n%d", n)), Cores: 1}
			if !simple {
				node = drawNode(t, node)
			}
			s.Nodes = append(s.Nodes, node)
			w.slots = append(w.slots, drawSlots(t, s.Name, node)...)
		}
		w.sites = append(w.sites, s)
	}
	w.slots = rapid.Permutation(w.slots).Draw(t, "order")
	w.w.Fee = float64(number(2, 5, "fee"))
	w.w.Now = grid.Tick(number(0, 5, "now"))
	w.w.Margin = grid.Tick(number(0, 3, "margin"))
	w.w.Walltime = grid.Tick(number(1, 14, "walltime"))
	w.w.FirstStart = rapid.Bool().Draw(t, "first start")
	w.w.Demand = grid.Demand{Chunks: []grid.Chunk{{Count: number(1, 8, "pieces"), Processes: 1, Cores: 1}}}
	if !simple {
		w.w.Demand = drawWanted(t)
	}
	if len(w.w.Demand.Chunks) == 1 {
		w.w.MaxSites = number(0, 3, "most sites")
		w.w.MinPerSite = number(0, min(3, w.w.Demand.Chunks[0].Count), "least per site")
	}
	return w
}

func drawNode(t *rapid.T, n Node) Node {
	n.Cores = rapid.IntRange(1, 4).Draw(t, "cores")
	n.Memory = int64(rapid.SampledFrom([]int{0, 4, 4, 8}).Draw(t, "memory"))
	if rapid.Bool().Draw(t, "has gpus") {
		n.Resources = []grid.Resource{{Name: "gpu", Amount: rapid.Int64Range(1, 2).Draw(t, "gpus")}}
	}
	if rapid.IntRange(0, 3).Draw(t, "is big") > 0 {
		n.Properties = []string{"big"}
	}
	n.Architecture = rapid.SampledFrom([]string{"", "", "", "powerpc"}).Draw(t, "architecture")
	return n
}

// drawSlots makes slots of a node, now and then a cheaper and a dearer one for the same time.
func drawSlots(t *rapid.T, site grid.SiteName, n Node) (out []grid.Slot) {
	number := func(from, to int, name string) int { return rapid.IntRange(from, to).Draw(t, name) }
	at := grid.Tick(number(0, 10, "first"))
	for range number(0, 4, "slots") {
		s := grid.Slot{Site: site, Node: n.Name, Start: at, End: at + grid.Tick(number(1, 15, "length")), Cores: n.Cores, Memory: n.Memory, Resources: n.Resources}
		s.Price = float64(number(0, 4, "price"))
		if n.Cores > 1 && rapid.Bool().Draw(t, "in part") {
			less := s
			less.Cores = number(0, n.Cores, "cores left")
			less.Memory = int64(number(0, int(n.Memory), "memory left"))
			less.Resources = nil
			if len(n.Resources) > 0 && rapid.Bool().Draw(t, "gpu left") {
				less.Resources = []grid.Resource{{Name: "gpu", Amount: 1}}
			}
			if rapid.Bool().Draw(t, "dearer too") {
				s.Price = less.Price + float64(number(1, 3, "more"))
				out = append(out, s)
			}
			s = less
		}
		out = append(out, s)
		at = s.End + grid.Tick(max(0, number(-3, 4, "gap")))
	}
	return out
}

func drawWanted(t *rapid.T) grid.Demand {
	number := func(from, to int, name string) int { return rapid.IntRange(from, to).Draw(t, name) }
	d := grid.Demand{Exclusive: number(0, 4, "whole nodes") == 0}
	for range max(1, number(-3, 3, "chunks")) {
		c := grid.Chunk{Count: number(1, 6, "pieces"), Processes: number(1, 2, "processes"), Cores: number(1, 3, "cores of each"), Memory: int64(number(-2, 3, "memory of each"))}
		c.Memory = max(c.Memory, 0)
		if number(0, 4, "a gpu each") == 0 {
			c.Resources = []grid.Resource{{Name: "gpu", Amount: 1}}
		}
		d.Chunks = append(d.Chunks, c)
	}
	if number(0, 4, "big ones") == 0 {
		d.Properties = []string{"big"}
	}
	if number(0, 4, "of one architecture") == 0 {
		d.Architecture = "x86_64"
	}
	return d
}
