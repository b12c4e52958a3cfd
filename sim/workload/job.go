// Package workload makes the jobs of a simulated grid: which job comes when, at which site it is handed in, how wide
// it is, how long it runs and how long its user says it would.
//
// Times are of a machine of speed 1. Everything comes from a seed; nothing here looks at a clock or at files.
package workload

import "gbroker/grid"

// Job is one of a workload. A workload is in the order of arrival.
type Job struct {
	Arrival           grid.Tick
	Home              int // index of the site at which it is handed in
	Cores             int
	Run               grid.Tick // it really runs, at speed 1
	Limit             grid.Tick // the walltime that its user asks for; at least 1
	Local             bool      // it is handed to the batch system of its home and never enters the grid
	User, Application string    // what run times are learned by; "" is unknown
	Bytes             int64     // that travel with it
	Copies            int32     // the number, from 1, of the set of copies of one job that it is one of: of these one is to run; 0 is none
}
