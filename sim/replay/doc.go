// Package replay runs the log of a real machine through the policies of local
// schedulers ([counted.Scheduler]) and reckons what its users would have seen.
//
// # The log
//
// Standard Workload Format 2.2, plain or gzip: a line for each job, 18 numbers
// between blanks; lines that begin with a semicolon are comments, and of these
// "; MaxProcs: N" says how many processors the machine has. Used are
//
//	field   1  identifier            8  processors requested   13  group
//	        2  submit time, s        9  time requested, s      14  application
//	        4  run time, s          12  user                   16  partition
//	        5  processors
//
// -1 is unknown, in any field, and an error only where the number is needed. The
// processors of a job are field 5, or field 8 where that is not positive. Every
// other line is an error with its number: too few or too many fields, text, numbers
// beyond [longest], lines beyond [longestLine], and gzip that is cut short.
//
// # Normalised logs
//
// [Options.Normalise] makes a raw log one that any policy can run: jobs without
// processors, with more than the machine has, or without run time are dropped; the
// limit of a job is its requested time, or its run time where that is unknown; the
// run time is cut to the limit; jobs are sorted by submit time; the first comes at
// 0, and identifiers count from 1. Without it a job of that kind is an error.
//
// # The replay
//
// Integer seconds. At one instant first all ends release their processors, then all
// arrivals join the queue in the order of (submit, identifier), then comes one pass.
package replay
