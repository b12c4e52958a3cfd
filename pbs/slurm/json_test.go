package slurm

import "testing"

// Slurm leaves fields of its errors empty: what is told then has no holes.
func TestErrorsThatSlurmReports(t *testing.T) {
	t.Parallel()
	for want, said := range map[string]trouble{
		"Failed while looking for jobs: Unspecified error (slurm_load_jobs)": {
			Description: "Failed while looking for jobs", Error: "Unspecified error", Source: "slurm_load_jobs",
		},
		"Unspecified error":       {Error: "Unspecified error"},
		"an error without a word": {},
	} {
		if got := said.text(); got != want {
			t.Errorf("%+v is told as %q, and not %q", said, got, want)
		}
	}
}
