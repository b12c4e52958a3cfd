package api

import "gbroker/grid"

// Demand is what a job asks for at once.
type Demand struct {
	Chunks       []Chunk  `json:"chunks"`
	Architecture string   `json:"architecture"`     // "" is any
	System       string   `json:"operating_system"` // "" is any
	Properties   []string `json:"properties"`       // that every node must carry
	Exclusive    bool     `json:"exclusive"`        // whole nodes

	DistinctNodes bool      `json:"distinct_nodes,omitempty"` // each piece on a node of its own
	Hosts         []string  `json:"hosts,omitempty"`          // none is any
	DiskBytes     int64     `json:"disk_bytes,omitempty"`     // that every node must have
	Measures      []Measure `json:"measures,omitempty"`
}

// Measure is what every node must have of a quantity.
type Measure struct {
	Of     grid.Quantity `json:"of"` // clock in hertz, or bandwidth in bits per second
	Within []Interval    `json:"within"`
}

// String is for people: its intervals, as in "from 2e+09 below 3e+09, or from 4e+09".
func (m Measure) String() string {
	of := grid.Measure{Of: m.Of}
	for _, i := range m.Within {
		of.Within = append(of.Within, grid.Interval(i))
	}
	return of.String()
}

// Interval is a range of values; high 0 is no bound.
type Interval struct {
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	LowOpen  bool    `json:"low_open,omitempty"` // the bound itself is left out
	HighOpen bool    `json:"high_open,omitempty"`
}

// Chunk is equal pieces, each on one node; all but Count is of one piece.
type Chunk struct {
	Count       int              `json:"count"`
	Processes   int              `json:"processes"`
	Cores       int              `json:"cores"`
	MemoryBytes int64            `json:"memory_bytes"` // 0: none asked for
	Resources   map[string]int64 `json:"resources"`
}

// NewDemand is d as it travels.
func NewDemand(d grid.Demand) Demand {
	v := Demand{
		Chunks: make([]Chunk, len(d.Chunks)), Architecture: d.Architecture, System: d.System,
		Properties: append([]string{}, d.Properties...), Exclusive: d.Exclusive,
		DistinctNodes: d.DistinctNodes, Hosts: d.Hosts, DiskBytes: d.Disk,
	}
	for _, m := range d.Measures {
		w := Measure{Of: m.Of}
		for _, i := range m.Within {
			w.Within = append(w.Within, Interval(i))
		}
		v.Measures = append(v.Measures, w)
	}
	for i, c := range d.Chunks {
		v.Chunks[i] = Chunk{c.Count, c.Processes, c.Cores, c.Memory, make(map[string]int64, len(c.Resources))}
		for _, r := range c.Resources {
			v.Chunks[i].Resources[r.Name] = r.Amount
		}
	}
	return v
}
