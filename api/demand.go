package api

import "gbroker/grid"

// Demand is what a job asks for at once.
type Demand struct {
	Chunks       []Chunk  `json:"chunks"`
	Architecture string   `json:"architecture"`     // "" is any
	System       string   `json:"operating_system"` // "" is any
	Properties   []string `json:"properties"`       // that every node must carry
	Exclusive    bool     `json:"exclusive"`        // whole nodes
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
	}
	for i, c := range d.Chunks {
		v.Chunks[i] = Chunk{c.Count, c.Processes, c.Cores, c.Memory, make(map[string]int64, len(c.Resources))}
		for _, r := range c.Resources {
			v.Chunks[i].Resources[r.Name] = r.Amount
		}
	}
	return v
}
