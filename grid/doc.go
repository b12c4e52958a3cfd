// Package grid holds the nouns of gbroker: sites, jobs, epochs, estimates and the
// identifiers that name them. It imports nothing of ours and does nothing but
// describe: every other package speaks in these words.
//
// # Units
//
// Time is an integer number of milliseconds ([Tick]). As an instant it counts
// from the Unix epoch; as a span it is a plain number of milliseconds. Sizes are
// bytes, bandwidth is bytes per second, speed is relative to the reference
// machine (1.0).
//
// # Life of a job
//
//	              submit
//	                │
//	                ▼   files to come
//	           SUBMITTED ───────────► STAGEIN
//	                │ no files          │ all files here
//	                └────────┬──────────┘
//	                         ▼
//	      ┌─────────────── READY ◄──────────────┐
//	      │ chosen: here     │ chosen: elsewhere │ refused, or
//	      ▼                  ▼                   │ aborted
//	   ASSIGNED           MOVING ────────────────┘
//	      │                  │ the new owner has it
//	      │                  └────► (continues there: ASSIGNED)
//	      ▼
//	   RUNNING ────► FINISHED ────► STAGEOUT ────► COMPLETED
//	      │              │ output is at home already     ▲
//	      │              └───────────────────────────────┘
//	      └─► (as FINISHED, but ended by a limit or by a person:
//	           CANCELLED_WALLTIME, CANCELLED_DEADLINE, KILLED)
//
//	any state before RUNNING: FAILED (cannot be run), KILLED (cancelled); by way of
//	STAGEOUT where the owner is not the home, which has to be told
//	any state after a site is given up for lost: LOST
//
// Terminal states are COMPLETED, FAILED, KILLED, CANCELLED_WALLTIME,
// CANCELLED_DEADLINE and LOST. Nothing leaves a terminal state, except that LOST
// may gain a result. All moves are in one table (move.go); this is its gist.
package grid
