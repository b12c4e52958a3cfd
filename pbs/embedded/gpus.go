package embedded

import (
	"slices"
	"strings"

	"gbroker/grid"
	"gbroker/pbs/embedded/supervise"
	"gbroker/plan"
)

// GPUs have numbers where a node has no more than mostOfKind of a kind, and all nodes no more than mostGPUs: what is more counts something else, as
// their memory, and the numbers of a job must fit into a variable.
const (
	mostOfKind = 1024
	mostGPUs   = 16 * mostOfKind
)

// gpuKind is a resource of a node whose pieces have numbers, and gpuRange the first of these, and how many they are.
type (
	gpuKind struct {
		node int
		name string
	}
	gpuRange struct{ first, many int }
)

// isGPU tells of a resource that is named as GPUs are: gpu, or one kind of it as gpu:a100.
func isGPU(name string) bool { return name == "gpu" || strings.HasPrefix(name, "gpu:") }

// baseOf is the environment below that of a job: where GPUs have numbers, one that asks for none sees none.
func (s *System) baseOf(d *grid.Demand) []string {
	if len(s.gpus) == 0 || slices.ContainsFunc(d.Resources(), func(r grid.Resource) bool { return isGPU(r.Name) }) {
		return s.base
	}
	return append(slices.Clone(s.base), supervise.Blind()...)
}

// numberGPUs counts the GPUs of the machine from 0 on, over the nodes and their resources as they are declared.
func numberGPUs(nodes []plan.Node) map[gpuKind]gpuRange {
	all, next := map[gpuKind]gpuRange{}, 0
	for i, n := range nodes {
		for _, r := range n.Resources {
			if isGPU(r.Name) && r.Amount <= mostOfKind && next+int(r.Amount) <= mostGPUs {
				all[gpuKind{i, r.Name}] = gpuRange{next, int(r.Amount)}
				next += int(r.Amount)
			}
		}
	}
	return all
}

// heldGPUs are the numbers that jobs have which run. Those that a version without numbers has started hold the least that are left of
// their nodes. s.mu is held.
func (s *System) heldGPUs() map[int]bool {
	held := map[int]bool{}
	for _, e := range s.busy {
		for _, g := range e.spec.GPUs {
			held[g] = true
		}
	}
	for _, e := range s.busy {
		if len(e.spec.GPUs) == 0 {
			s.takeGPUs(e.shares, held)
		}
	}
	return held
}

// takeGPUs takes the least numbers that nobody holds for these shares; it tells whether there are as many as they need.
func (s *System) takeGPUs(shares []plan.Share, held map[int]bool) (list []int, enough bool) {
	enough = true
	for _, h := range shares {
		for _, r := range h.Resources {
			of, numbered := s.gpus[gpuKind{h.Node, r.Name}]
			if !numbered {
				continue
			}
			left := r.Amount
			for g := of.first; g < of.first+of.many && left > 0; g++ {
				if !held[g] {
					list, left, held[g] = append(list, g), left-1, true
				}
			}
			enough = enough && left == 0
		}
	}
	slices.Sort(list)
	return list, enough
}

// gpusFor are the numbers for a job that is to start with these shares. It has to wait where too few are free, though the nodes have room: those that
// run may have others than they would get now, as nodes were declared in another order.
func (s *System) gpusFor(shares []plan.Share, held map[int]bool) (list []int, enough bool) {
	if list, enough = s.takeGPUs(shares, held); enough {
		return list, true
	}
	for _, g := range list {
		delete(held, g)
	}
	return nil, false
}
