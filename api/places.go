package api

import (
	"time"

	"gbroker/api/workflow"
	"gbroker/grid"
)

// PlacesOf are those of a broker's own view.
func PlacesOf(views []SiteView) []workflow.Place {
	sites := make([]Site, len(views))
	for i, v := range views {
		sites[i] = newSite(v)
	}
	return Places(sites)
}

// Places are the sites over which a workflow of this home can be planned, the home first: those that live, take jobs and
// may be sent them.
func Places(sites []Site) (list []workflow.Place) {
	for i := range sites {
		s := &sites[i]
		place := workflow.Place{Name: string(s.Name), Cores: s.Processes, Speed: s.Speed, Rate: grid.DefaultBandwidth, Overhead: overheadOf(s.Batch)}
		if s.RTTS != nil {
			place.Delay = time.Duration(*s.RTTS * float64(time.Second))
		}
		if n := len(s.Bandwidth); n > 0 && s.Bandwidth[n-1].BytesPerS != nil {
			place.Rate = *s.Bandwidth[n-1].BytesPerS
		}
		switch {
		case s.Self:
			list = append([]workflow.Place{place}, list...)
		case s.Send && s.State == grid.Alive.String() && !s.Draining && s.Processes > 0 && s.Speed > 0:
			list = append(list, place)
		}
	}
	return list
}

// overheadOf is what a batch system of a kind takes beside the run of a task, from when that is handed in until its end is known at home: the next pass
// of the scheduler, the start, and the look at which the end is seen. docs/experiments.md says how it was measured; Maui passes every half minute or so.
func overheadOf(kind string) time.Duration {
	switch kind {
	case "slurm", "openpbs":
		return 1500 * time.Millisecond
	case "torque":
		return 10 * time.Second
	}
	return 500 * time.Millisecond
}
