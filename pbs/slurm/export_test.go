package slurm

import "gbroker/pbs/external"

// ParseQueue is parseQueue for tests that run Slurm.
func ParseQueue(text []byte) ([]external.Job, error) {
	jobs, _, err := parseQueue(text)
	return jobs, err
}
