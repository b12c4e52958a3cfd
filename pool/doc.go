// Package pool decides which computer of a pool of shared desktops runs which job, and when it will
// have ended. It is pure: time, randomness and what is known of computers are inputs.
//
// # Units
//
// Work is in seconds of the reference processor. The effective performance H of a computer is the
// processor power that a job would have there under its owner's policy, relative to the reference:
// a [Forecast] tells H by interval, and a job of work W that begins at t ends at the smallest T
// with
//
//	∫ H dt = W, from t to T.
//
// Memory and disk are in bytes, instants are [grid.Tick].
//
// # From what the owner does to a forecast
//
//	facts of the agent ──[Policy] in force──► H of each interval ──by hour of the week──► [Forecast]
//	(reachable, owner active,                 suspended: 0         sliding window
//	battery, idle part)                       else speed × min(idle, share)
//
// Facts are kept and not H, so that a change of the owner's policy changes the past too. Suspension
// counts once: an interval in which a job would have been suspended has H 0, and its length stays in
// the mean; nothing else is taken off for it ([History.Forecast]).
//
// # Which job to which computer
//
// A computer runs one job at a time. A [Rule] takes the computers and the jobs that wait and says who
// starts now ([Rule.Assign]):
//
//	fcfs      the oldest job to any computer that can run it, whether it ends in time or not
//	ecp-fcfs  a computer, drawn by chance, takes the oldest job that it ends in time
//	edf       the job with the earliest deadline first, to the weakest computer that ends it in time
//	slack     the same, the least slack first
//	best      the same, the job first that needs the highest performance from now on; also of computers that are
//	          busy: the job then waits, if the weakest that is free is more than half as strong again. Where that
//	          leaves a job late that could be in time, edf
//
// A higher priority goes before all of these. In time means: with the work longer by the safety margin.
// A job without a deadline is in time everywhere. A dedicated computer belongs to nobody; the rules of
// best fit keep it for jobs that no other free computer ends in time.
//
// # Admission
//
// [Rule.Admit] plans the jobs that wait and then the new one, each as early as the computers come free,
// and refuses in words a job that would end late or that no computer can run.
package pool
