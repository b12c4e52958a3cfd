package plan

import (
	"fmt"
	"strings"
	"testing"

	"gbroker/grid"
)

func say(d grid.Demand) string {
	var parts []string
	for _, c := range d.Chunks {
		parts = append(parts, fmt.Sprintf("%dx%d", c.Count, c.Cores))
	}
	return strings.Join(parts, "+")
}

// A demand takes the form that the batch system starts, or is refused with the setting that keeps it out.
func TestForm(t *testing.T) {
	t.Parallel()
	four := []Node{{Cores: 4}, {Cores: 4}, {Cores: 4, Properties: []string{"fast"}}, {Cores: 4}}
	pieces := func(list ...int) grid.Demand { // count, cores, count, cores ...
		var d grid.Demand
		for i := 0; i < len(list); i += 2 {
			d.Chunks = append(d.Chunks, grid.Chunk{Count: list[i], Processes: list[i+1], Cores: list[i+1], Memory: 1 << 20})
		}
		return d
	}
	fast := pieces(4, 1)
	fast.Properties = []string{"fast"}
	for name, c := range map[string]struct {
		shapes Shapes
		demand grid.Demand
		want   string // a form, or a part of the refusal
	}{
		"any":                          {Shapes{}, pieces(500, 1), "500x1"},
		"as many as nodes":             {Shapes{Pieces: 4}, pieces(4, 1), "4x1"},
		"twice as many":                {Shapes{Pieces: 4}, pieces(8, 1), "4x2"},
		"six":                          {Shapes{Pieces: 4}, pieces(6, 1), "3x2"},
		"a prime number":               {Shapes{Pieces: 4, Why: "nodect"}, pieces(5, 1), "more pieces than nodes: nodect"},
		"larger than a node":           {Shapes{Pieces: 4}, pieces(8, 3), "more pieces than nodes"},
		"raised":                       {Shapes{Pieces: 1000}, pieces(5, 1), "5x1"},
		"more than there is":           {Shapes{Pieces: 1000}, pieces(17, 1), "17x1"},
		"no node holds one":            {Shapes{Pieces: 4}, pieces(9, 5), "9x5"},
		"apart, on one node":           {Shapes{Pieces: 1000, Apart: true}, pieces(4, 1), "1x4"},
		"apart, five":                  {Shapes{Pieces: 1000, Apart: true}, pieces(5, 1), "more pieces than nodes"},
		"apart, six":                   {Shapes{Pieces: 1000, Apart: true}, pieces(6, 1), "2x3"},
		"apart, where one node may":    {Shapes{Apart: true}, fast, "1x4"},
		"equal pieces said twice":      {Shapes{Alike: true}, pieces(1, 2, 2, 2), "3x2"},
		"unequal pieces":               {Shapes{Alike: true, Why: "ENABLEMULTIREQJOBS"}, pieces(1, 4, 1, 3), "pieces of different sizes: ENABLEMULTIREQJOBS"},
		"unequal where they may":       {Shapes{Pieces: 4}, pieces(1, 4, 1, 3), "1x4+1x3"},
		"unequal, and too many":        {Shapes{Pieces: 4}, pieces(3, 2, 2, 1), "more pieces than nodes"},
		"unequal, apart, and too many": {Shapes{Apart: true}, pieces(3, 2, 2, 1), "more pieces than nodes"},
	} {
		d, r := Form(Snapshot{Nodes: four, Shapes: c.shapes}, c.demand)
		got := say(d)
		if r != nil {
			got = r.Reason
		}
		if got != c.want {
			t.Errorf("%s: %s, not %s", name, got, c.want)
		}
		if r == nil && (d.Processes() != c.demand.Processes() || d.Cores() != c.demand.Cores()) {
			t.Errorf("%s: other processes or cores: %+v", name, d)
		}
	}
	d, _ := Form(Snapshot{Nodes: four, Shapes: Shapes{Pieces: 4}}, grid.Demand{Chunks: []grid.Chunk{{Count: 8, Processes: 1, Cores: 1, Memory: 5, Resources: []grid.Resource{{Name: "gpu", Amount: 3}}}}})
	if c := d.Chunks[0]; c.Memory != 10 || c.Resources[0].Amount != 6 {
		t.Errorf("two pieces as one: %+v", c)
	}
	whole := pieces(9, 1, 1, 2)
	whole.Exclusive = true
	if d, r := Form(Snapshot{Nodes: four, Shapes: Shapes{Pieces: 4, Alike: true}}, whole); r != nil || say(d) != "9x1+1x2" {
		t.Errorf("whole nodes: %s, %+v", say(d), r)
	}
	if d, r := Form(Snapshot{Nodes: four, Shapes: Shapes{Alike: true, WholeAlike: true}}, whole); r == nil || r.Kind != grid.Permanent {
		t.Errorf("whole nodes that must be alike: %s", say(d))
	}
}

// Questions are answered for the form, and refused where there is none.
func TestFormOfQuestions(t *testing.T) {
	t.Parallel()
	s := Snapshot{Nodes: []Node{{Cores: 4}, {Cores: 4}}, Shapes: Shapes{Pieces: 2, Alike: true}}
	s.Running = []Running{{Shares: []Share{{Node: 0, Cores: 3}}, End: grid.Hour}}
	five := Question{Demand: grid.Demand{Chunks: []grid.Chunk{{Count: 5, Processes: 1, Cores: 1}}}, Limit: grid.Hour}
	if r := Refuse(s, five); r == nil || r.Kind != grid.Permanent {
		t.Errorf("five pieces on two nodes: %+v", r)
	}
	if _, r := Build(s).Ask(five); r == nil {
		t.Error("five pieces on two nodes start")
	}
	five.Demand.Chunks[0].Count = 4 // as two pieces of two: one core is not free yet
	if start, r := Build(s).Ask(five); r != nil || start != 0 {
		t.Errorf("four pieces start at %d, %+v", start, r)
	}
	five.Demand.Chunks[0].Count = 6
	if start, r := Build(s).Ask(five); r != nil || start != grid.Hour {
		t.Errorf("six pieces start at %d, %+v", start, r)
	}
}
