package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"
)

// The same seed tells the same, and the JSON has every workflow.
func TestSerialFlow(t *testing.T) {
	t.Parallel()
	run := func() []byte {
		cmd := newRoot()
		var out bytes.Buffer
		cmd.SetOut(&out)
		cmd.SetArgs([]string{"flow", "--seed", "5", "--steps", "20", "--json", "--plot", filepath.Join(t.TempDir(), "flow.svg")})
		if err := cmd.Execute(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	var a, b struct {
		Summary   []map[string]any
		Workflows []struct {
			Makespan map[string]int64 `json:"makespan_us"`
		}
	}
	if err := json.Unmarshal(run(), &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(run(), &b); err != nil {
		t.Fatal(err)
	}
	if len(a.Workflows) != 60 || len(a.Summary) != 24 || len(a.Workflows[0].Makespan) != 6 {
		t.Errorf("%d workflows, %d rows, %d rules", len(a.Workflows), len(a.Summary), len(a.Workflows[0].Makespan))
	}
	for i := range a.Workflows {
		for rule, end := range a.Workflows[i].Makespan {
			if b.Workflows[i].Makespan[rule] != end {
				t.Errorf("workflow %d by %s ends at %d, then at %d", i, rule, end, b.Workflows[i].Makespan[rule])
			}
		}
	}
}
