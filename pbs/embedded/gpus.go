package embedded

import (
	"slices"
	"strings"

	"gbroker/grid"
	"gbroker/plan"
)

// isGPU tells of a resource whose pieces have numbers: gpu, or one kind of it as gpu:a100.
func isGPU(name string) bool { return name == "gpu" || strings.HasPrefix(name, "gpu:") }

// gpusFor are the numbers of the GPUs of a job that gets these shares: the least that no other job has, which are those of taken and of what runs.
// The GPUs of the machine are counted from 0 on, over the nodes and their resources as they are declared. s.mu is held.
func (s *System) gpusFor(shares []plan.Share, others ...[]*entry) (list []int) {
	taken := map[int]bool{}
	for _, running := range others {
		for _, e := range running {
			for _, g := range e.spec.GPUs {
				taken[g] = true
			}
		}
	}
	for _, h := range shares {
		for _, r := range h.Resources {
			if !isGPU(r.Name) {
				continue
			}
			first, many := s.numbered(h.Node, r.Name)
			for g, left := first, r.Amount; g < first+many && left > 0; g++ {
				if !taken[g] {
					list, left, taken[g] = append(list, g), left-1, true
				}
			}
		}
	}
	slices.Sort(list)
	return list
}

// numbered are the GPUs of one name of a node: the number of the first, and how many they are.
func (s *System) numbered(node int, name string) (first, many int) {
	for i, n := range s.config.Nodes {
		for _, r := range n.Resources {
			switch {
			case !isGPU(r.Name):
			case i == node && r.Name == name:
				return first, int(r.Amount)
			default:
				first += int(min(r.Amount, grid.MaxProcesses))
			}
		}
	}
	return first, 0
}
