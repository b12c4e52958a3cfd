package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/cli"
)

// feeFlag adds the flag by which a job is given the most that is paid for it.
func feeFlag(cmd *cobra.Command, to *spoken) {
	cli.CountVar(cmd, &to.fee, "fee", 0, 1, int(grid.MaxFee), "pay at most `N` for a core and hour, in the unit of the prices of sites; counts before the Fee of a document")
}

// beyondFee tells that every site that may run a job costs more than is paid for it, and the least price; false where one does not, or none tells.
func beyondFee(fee int64, sites []api.Prospect) (why string, beyond bool) {
	var least *api.Prospect
	for i := range sites {
		s := &sites[i]
		switch {
		case fee == 0, s.Refusal == nil && s.Price <= float64(fee):
			return "", false
		case s.Refusal != nil && (s.Refusal.Kind == grid.Permanent.String() || s.Price == 0): // it never runs it, or does not tell
		case s.Price <= float64(fee):
			return "", false
		case least == nil || s.Price < least.Price:
			least = s
		}
	}
	if least == nil {
		return "", false
	}
	return fmt.Sprintf("its fee of %d is below the price of every site that could run it: the least is %g for a core and hour, at %s", fee, least.Price, printable(string(least.Site))), true
}

// warnOfFee says beforehand that a job would wait for a site to become cheaper. What cannot be asked now is not told: the job is taken all the same.
func warnOfFee(cmd *cobra.Command, c *api.Client, d *document, name string) {
	fee := d.parsed.Job.Terms.Fee
	if fee == 0 {
		return
	}
	found, err := c.Where(cmd.Context(), api.Submission{Document: string(d.first()), Name: name, Files: d.files})
	if err != nil {
		return
	}
	if why, beyond := beyondFee(fee, found.Sites); beyond {
		warnings(cmd, []string{why + "; it waits until one costs no more"})
	}
}
