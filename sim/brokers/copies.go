package brokers

import "gbroker/sim/workload"

// A user who hands in copies of a job at several sites lets the first to start run, and cancels the others when he sees that, World.CancelAfter later. One that
// starts before the cancel has reached it is killed, or ends too.

// copiesOf are the jobs of each set of copies of which none has started, by their numbers in World.Jobs.
func copiesOf(jobs []workload.Job) map[int32][]int32 {
	sets := map[int32][]int32{}
	for n := range jobs {
		if set := jobs[n].Copies; set > 0 {
			sets[set] = append(sets[set], int32(n))
		}
	}
	return sets
}

// spareOthers has the other copies of a job cancelled when the first has started.
func (r *run) spareOthers(n int32) {
	set := r.w.Jobs[n].Copies
	for _, k := range r.copies[set] {
		if k != n {
			r.at(r.now+r.w.CancelAfter, func() {
				if r.result.Jobs[k].End == 0 {
					r.rule.cancel(k)
				}
			})
		}
	}
	delete(r.copies, set)
}

// cancelled is told of each copy that was given up before its end; what ran of it was in vain.
func (r *run) cancelled(n int32) {
	e := &r.result.Jobs[n]
	e.Cancelled, e.End = true, max(1, r.now-epoch)
	r.alive = r.now
	r.result.Done++
}
