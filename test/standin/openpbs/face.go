// Package openpbs is the face of OpenPBS 23.06.
package openpbs

import "gbroker/test/standin/batch"

// Commands are the names of all of them.
func Commands() []string { return nil }

// Queues are those of the recordings.
func Queues() []batch.Queue { return []batch.Queue{{Name: "workq"}} }

// ReadsStdin reports whether a qsub takes its script from standard input.
func ReadsStdin(args []string) bool { return false }

// Serve answers a call. The system is locked.
func Serve(s *batch.System, c *batch.Call) batch.Answer {
	return batch.Fail(2, "standin: %s is not served\n", c.Command)
}
