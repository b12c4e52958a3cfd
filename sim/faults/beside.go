package faults

import "gbroker/grid"

// What lies beside jobs and groups: templates and results of groups, allocations, reservations, budgets. A broker may crash around a commit that has nothing
// else, too. All that must hold after any other crash must hold after that: what such a commit tells is durable by itself.

// besideStages are those of what lies beside, but for allocations.
var besideStages = map[grid.Kind]stage{
	grid.KindTemplate: besideTemplate, grid.KindResults: besideResults, grid.KindReservation: besideReservation, grid.KindBudget: besideBudget,
}

// stagesBeside are those of a commit that has nothing else.
func stagesBeside(changes []grid.Change) (list []stage) {
	for _, c := range changes {
		if _, is := isBeside(c); !is {
			return nil
		}
		s, other := besideStages[c.Kind]
		if !other {
			s = stageOfAllocation(c)
		}
		list = append(list, s)
	}
	return list
}

// stageOfAllocation is how far a job over several sites has come; one that is dropped is over.
func stageOfAllocation(c grid.Change) stage {
	if a, is := c.Record.(*grid.Allocation); is {
		return allocated(a.State)
	}
	return allocated(grid.Over)
}

func allocated(s grid.AllocationState) stage { return besideAllocation + stage(s-grid.Planned) }

func allocationOf(s stage) grid.AllocationState {
	return grid.Planned + grid.AllocationState(s-besideAllocation)
}

// besidePoints are those of what lies beside: each history aims at one of them beside the others, and meets it if it has any. Templates and results
// are saved with their group, or with the job that has ended; and an allocation is seldom saved alone once its round is given up, or over.
var besidePoints = func() (list []point) {
	for _, w := range []where{beforeSave, afterSave} {
		for s := besideReservation; s < allocated(grid.GivingUp); s++ {
			list = append(list, point{w, s})
		}
	}
	return list
}()
