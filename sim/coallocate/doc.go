// Package coallocate simulates a grid of sites in virtual time, with and without jobs that run at
// several sites at once. The sites plan by package plan as real ones do: [plan.Pass] starts their jobs,
// [plan.Build] estimates and offers, [plan.Lookahead] chooses.
//
//	jobs ──narrow──► the queue of a site ──Pass──► run
//	     └──wide───► with co-allocation: waits at home ──Lookahead, each cycle──► reservations at some sites ──► runs at its start
//	                                                        └── one site ends it as soon ──► queue of that site
//	                 without: the queue of the site that would end it first
//
// A node is one processor. A narrow job belongs to a site and fits its half; a wide one fits the
// largest site ([Grid.Widest] at most), or with [World.Giants] no site at all. Both forms of a comparison see the same jobs. A
// scheduler believes limits, which are longer than jobs run; a reservation ends with its job.
package coallocate
