// Package flows makes workflows of the shapes that are known from practice, plans them by the rules of package flow, and
// says how far from the lower bounds the plans end.
package flows

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gbroker/flow"
)

// Shape is a kind of workflow.
type Shape string

// Shapes makes a workflow of about n tasks of each kind. Run times and amounts of data are drawn by the kind of task;
// the structure is that of the published workflows.
var Shapes = map[Shape]func(m *maker, n int){
	"montage": montage, "cybershake": cybershake, "epigenomics": epigenomics, "inspiral": inspiral,
	"sipht": sipht, "1000genome": genomes, "bwa": bwa, "layers": layers,
}

// maker adds tasks to a graph. Run times are in seconds at speed 1.
type maker struct {
	*rand.Rand
	graph flow.Graph
	work  []float64
}

// task adds one that needs data of some others. The names of kinds carry the mean of their run times.
func (m *maker) task(kind string, mean float64, of ...int) int {
	v := len(m.graph.Vertices)
	m.graph.Vertices = append(m.graph.Vertices, flow.Vertex{Name: fmt.Sprintf("%s-%d", kind, v), Rerunnable: true})
	m.work = append(m.work, mean*m.spread(0.5))
	for _, u := range of {
		m.graph.Edges = append(m.graph.Edges, flow.Edge{From: u, To: v, Size: int64(1e6 * m.spread(1))})
	}
	return v
}

// spread is a factor of mean 1, lognormal.
func (m *maker) spread(sigma float64) float64 {
	return math.Exp(sigma*m.NormFloat64() - sigma*sigma/2)
}

// some makes k tasks of a kind, the i-th of what from says.
func (m *maker) some(kind string, k int, mean float64, from func(i int) []int) (list []int) {
	for i := range k {
		list = append(list, m.task(kind, mean, from(i)...))
	}
	return list
}

func all(list []int) func(int) []int  { return func(int) []int { return list } }
func each(list []int) func(int) []int { return func(i int) []int { return list[i : i+1] } }
func one(v int) func(int) []int       { return func(int) []int { return []int{v} } }
func none(int) []int                  { return nil }
func joined(lists ...[]int) (out []int) {
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

// montage: images are projected, overlaps fitted, all of it modelled, then images corrected and added.
func montage(m *maker, n int) {
	w := max((n-6)/4, 2)
	project := m.some("project", w, 13, none)
	diff := m.some("diff", 2*w, 11, func(i int) []int { return []int{project[i%w], project[(i+1+i/w)%w]} })
	model := m.task("model", 40, m.task("concat", 30, diff...))
	background := m.some("background", w, 11, func(i int) []int { return []int{project[i], model} })
	table := m.task("table", 20, background...)
	m.task("jpeg", 10, m.task("shrink", 30, m.task("add", 60, append(background, table)...)))
}

// cybershake: strains are extracted, seismograms made of each pair, peaks found; both are zipped.
func cybershake(m *maker, n int) {
	k := max((n-4)/4, 1)
	var synths, peaks []int
	for range 2 {
		synth := m.some("synthesis", k, 48, one(m.task("extract", 110)))
		synths, peaks = append(synths, synth...), append(peaks, m.some("peak", k, 1, each(synth))...)
	}
	m.task("zip-seismograms", 265, synths...)
	m.task("zip-peaks", 195, peaks...)
}

// epigenomics: lanes of a genome are split, each part goes through four steps, and all is merged.
func epigenomics(m *maker, n int) {
	const lanes = 2
	k := max((n-3-2*lanes)/(4*lanes), 1)
	var merged []int
	for range lanes {
		part := m.some("filter", k, 2.5, one(m.task("split", 35)))
		for _, step := range []struct {
			kind string
			mean float64
		}{{"sanger", 0.5}, {"bfq", 1.5}, {"map", 200}} {
			part = m.some(step.kind, k, step.mean, each(part))
		}
		merged = append(merged, m.task("merge", 11, part...))
	}
	m.task("pileup", 56, m.task("index", 44, m.task("merge-all", 11, merged...)))
}

// inspiral: templates, matched filters and coincidence in groups, twice.
func inspiral(m *maker, n int) {
	groups := max(n/44, 1)
	k := max((n-2*groups)/(4*groups), 1)
	for range groups {
		bank := m.some("template-bank", k, 18, none)
		first := m.task("coincidence", 5, m.some("inspiral", k, 460, each(bank))...)
		trigger := m.some("trigger-bank", k, 5, one(first))
		m.task("coincidence", 5, m.some("inspiral-2", k, 460, each(trigger))...)
	}
}

// sipht: motifs are searched, candidates joined with blasts of several kinds, and annotated.
func sipht(m *maker, n int) {
	patser := m.task("patser-concat", 0.5, m.some("patser", max(n-14, 1), 1, none)...)
	srna := m.task("srna", 90, m.some("find", 4, 900, none)...)
	parse := m.task("ffn-parse", 1, srna)
	blast := joined(m.some("blast", 4, 500, one(srna)), m.some("blast-small", 2, 10, one(parse)))
	m.task("annotate", 1, append(blast, srna, patser)...)
}

// genomes: individuals of each chromosome in parts, merged, sifted, and populations compared.
func genomes(m *maker, n int) {
	const populations = 7
	chromosomes := max(n/26, 1)
	k := max(n/chromosomes-2-2*populations, 1)
	for range chromosomes {
		merge := m.task("merge", 60, m.some("individuals", k, 130, none)...)
		sift := m.task("sifting", 8)
		m.some("overlap", populations, 30, all([]int{merge, sift}))
		m.some("frequency", populations, 90, all([]int{merge, sift}))
	}
}

// bwa: reads are cut and an index made, each piece aligned, and all put together.
func bwa(m *maker, n int) {
	reduce, index := m.task("reduce", 25), m.task("index", 40)
	m.task("cat", 10, m.task("cat-bwa", 25, m.some("align", max(n-4, 1), 20, all([]int{reduce, index}))...))
}

// layers: each task needs some of the layer before.
func layers(m *maker, n int) {
	width := max(int(math.Sqrt(float64(n))), 2)
	var before []int
	for len(m.work) < n {
		var layer []int
		for range min(1+m.IntN(2*width), n-len(m.work)) {
			var of []int
			for range min(1+m.IntN(4), len(before)) {
				if u := before[m.IntN(len(before))]; !slices.Contains(of, u) {
					of = append(of, u)
				}
			}
			layer = append(layer, m.task("task", 50, of...))
		}
		before = layer
	}
}

// Speeds are those of the executors of a comparison.
var Speeds = []float64{1, 0.8, 0.6, 0.4}

// Make makes a workflow and executors of the given speeds and one core each, such that transfers take in the mean so
// many times as long as jobs.
func Make(shape Shape, tasks int, speeds []float64, transfer float64, seed uint64) (*flow.Graph, *flow.Platform, error) {
	does := Shapes[shape]
	if does == nil || tasks < 1 {
		return nil, nil, fmt.Errorf("%w: %d tasks of shape %q", flow.ErrInvalid, tasks, shape)
	}
	m := &maker{Rand: rand.New(rand.NewPCG(seed, uint64(tasks)))}
	does(m, tasks)
	p := platform(speeds)
	meanRun := 0.0
	for v, w := range m.work {
		run := make([]flow.Time, len(speeds))
		for e, s := range speeds {
			run[e] = flow.Time(w / s * float64(flow.Second))
			meanRun += w / s / float64(len(speeds)*len(m.work))
		}
		m.graph.Vertices[v].Configurations = []flow.Configuration{{Needs: []int64{1}, Run: run}}
	}
	meanSize := 0.0
	for _, e := range m.graph.Edges {
		meanSize += float64(e.Size) / float64(len(m.graph.Edges))
	}
	for i := range m.graph.Edges { // at a megabyte a second
		m.graph.Edges[i].Size = int64(float64(m.graph.Edges[i].Size) / meanSize * meanRun * transfer * 1e6)
	}
	return &m.graph, p, nil
}

func platform(speeds []float64) *flow.Platform {
	p := &flow.Platform{Resources: []string{"cores"}}
	for i := range speeds {
		p.Executors = append(p.Executors, flow.Executor{Name: fmt.Sprintf("site%d", i+1), Capacity: []int64{1}})
		row := make([]int64, len(speeds))
		for j := range row {
			row[j] = 1e6
		}
		p.Bandwidth = append(p.Bandwidth, row)
	}
	return p
}
