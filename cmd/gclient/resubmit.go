package main

import (
	"crypto/rand"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/cli"
)

func (p *program) resubmit() *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use:   "resubmit ID",
		Short: "Hand an ended job in again, as a new one",
		Long: `Hand an ended job in again, with the files that it brought, as long as its home keeps these. The new
job has an identifier of its own, which is printed, and waits for nothing: what the old one was not to start before, to
end by, or depended on, is over.`,
		Example:           "  gclient resubmit xeon80.01JD3V0QX2M6W8T9Z4C5A7B1EF",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.completeJobs,
		RunE: p.onJob(func(cmd *cobra.Command, c *api.Client, id grid.JobID, _ []string) error {
			if key == "" {
				key = "again-" + rand.Text()
			}
			s, err := c.Resubmit(cmd.Context(), id, key)
			if err != nil {
				return notAccepted(cmd, "job", key, err)
			}
			cmd.Println(s.ID)
			return nil
		}),
	}
	cli.KeyVar(cmd, &key, "key", "the same `KEY` is the same job; by default each makes its own")
	return cmd
}
