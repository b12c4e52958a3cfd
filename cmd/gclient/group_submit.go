package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/cli"
)

// runSubmitGroup hands in the jobs of several documents as one group: all, or none.
func (p *program) runSubmitGroup(cmd *cobra.Command, files []string, f submission) error {
	documents, err := openDocuments(cmd, files, f)
	defer func() {
		for _, d := range documents {
			d.close()
		}
	}()
	if err != nil {
		return err
	}
	for i, d := range documents {
		if d.sweep != nil {
			return cli.Exit(cli.No, fmt.Errorf("nothing was submitted: %s is a sweep, which is a group of its own: submit it alone", files[i]))
		}
	}
	c, err := p.client(cmd)
	if err != nil {
		return err
	}
	defer c.Close()
	return handInGroup(cmd, c, documents, files, f)
}

// handInGroup hands in the jobs of some documents, or those that one stands for.
func handInGroup(cmd *cobra.Command, c *api.Client, documents []*document, files []string, f submission) error {
	if f.reservation != "" || f.guaranteed {
		return cli.BadUsage("--reservation and --guaranteed are for one job: hand the jobs of a group or sweep in one by one")
	}
	if err := checkFolder(f.output, nil, f.force); err != nil {
		return err
	}
	for _, d := range documents {
		if err := d.include(f.include); err != nil {
			return err
		}
	}
	sub := api.GroupSubmission{Key: f.key, QueueAnyway: f.anyway}
	for i, d := range documents {
		secrets, err := readCredentials(f.credentials, d.usesURIs())
		if err != nil {
			return err
		}
		one := api.Submission{
			Document: string(d.text), Name: files[i], Rerunnable: f.rerunnable, Lenient: f.lenient && d.sweep != nil,
			Files: d.files, Include: d.included, Credentials: secrets,
		}
		if one.Files == nil {
			one.Files = []api.File{}
		}
		if d.sweep != nil {
			sub.Sweep = &one
		} else {
			sub.Jobs = append(sub.Jobs, one)
		}
	}
	a, err := c.SubmitGroup(cmd.Context(), sub)
	if err != nil {
		return notAccepted(cmd, "jobs", f.key, err)
	}
	if !f.json {
		cmd.Println(a.ID)
	}
	warnings(cmd, a.Warnings)
	if sub.Sweep != nil {
		cmd.PrintErrf("gclient: %s, as one group\n", jobsText(a.Jobs))
	}
	status := a.GroupStatus
	if a.Coming > 0 {
		if err := sendAll(cmd, c, documents, &a); err != nil {
			return lacking(cmd, fmt.Sprintf("the group %s is accepted, but lacks files, and none of its jobs begins before they are there", a.ID), f.key, err)
		}
		if status, err = c.Group(cmd.Context(), a.ID); err != nil {
			return err
		}
	}
	if f.wait || f.output != "" {
		return followGroup(cmd, c, a.ID, f)
	}
	if f.json {
		return cli.PrintJSON(cmd.OutOrStdout(), status)
	}
	return nil
}

// openDocuments opens all of them; where one is wrong nothing is handed in, and the mistakes of
// all are told.
func openDocuments(cmd *cobra.Command, files []string, f submission) (list []*document, err error) {
	var wrong []error
	for _, file := range files {
		d, err := openDocument(file, f.additions)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		list = append(list, d)
		warn(cmd, d)
	}
	if len(wrong) == 0 {
		return list, nil
	}
	for _, err := range wrong {
		cmd.PrintErrln(err)
	}
	return list, cli.Exit(cli.No, fmt.Errorf("nothing was submitted: %d of %d documents cannot be", len(wrong), len(files)))
}

// sendAll uploads what the broker wants for the jobs of a group that still wait for files.
func sendAll(cmd *cobra.Command, c *api.Client, documents []*document, a *api.GroupAccepted) error {
	waits := map[grid.JobID]bool{a.ID.Template(): true}
	for i := range a.Members {
		waits[a.Members[i].ID] = wantsFiles(&a.Members[i])
	}
	var total int64
	for _, w := range a.Wanted {
		for _, f := range w.Files {
			total += f.Size
		}
	}
	bar := newProgress(cmd.ErrOrStderr(), "sending", total)
	defer bar.end()
	for _, w := range a.Wanted {
		if !waits[w.Job] {
			continue
		}
		_, n := w.Job.Group()
		if w.Job == a.ID.Template() {
			n = 1
		}
		if n < 1 || n > len(documents) {
			return fmt.Errorf("the broker wants files for %s, which is none of the documents", w.Job)
		}
		for _, f := range w.Files {
			if err := sendFile(cmd.Context(), c, documents[n-1], w.Job, f, bar); err != nil {
				return fmt.Errorf("job %d: %w", n, err)
			}
		}
		if _, err := c.Uploaded(cmd.Context(), w.Job); err != nil {
			return fmt.Errorf("job %d: %w", n, err)
		}
	}
	return nil
}

// jobsText is a number of jobs.
func jobsText(n int) string {
	if n == 1 {
		return "1 job"
	}
	return strconv.Itoa(n) + " jobs"
}
