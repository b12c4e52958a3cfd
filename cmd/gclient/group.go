package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/cli"
)

// onEither makes the RunE of a command whose first argument is a job or a group.
func (p *program) onEither(job func(*cobra.Command, *api.Client, grid.JobID, []string) error,
	group func(*cobra.Command, *api.Client, grid.GroupID, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		r, err := referenceArg(args[0])
		if err != nil {
			return err
		}
		c, err := p.client(cmd)
		if err != nil {
			return err
		}
		defer c.Close()
		return either(&r, func(id grid.JobID) error { return job(cmd, c, id, args[1:]) },
			func(id grid.GroupID) error { return group(cmd, c, id, args[1:]) })
	}
}

// onSome makes the RunE of a command whose first argument may name jobs of a group by their numbers.
func (p *program) onSome(one func(*cobra.Command, []string) error,
	some func(*cobra.Command, *api.Client, []grid.JobID, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		ids, is, err := members(args[0])
		if err != nil {
			return err
		}
		if !is {
			return one(cmd, args)
		}
		c, err := p.client(cmd)
		if err != nil {
			return err
		}
		defer c.Close()
		return some(cmd, c, ids, args[1:])
	}
}

// followGroup waits for the end of the group that was handed in.
func followGroup(cmd *cobra.Command, c *api.Client, id grid.GroupID, f submission) error {
	s, err := waitForGroup(cmd.Context(), cmd, c, id)
	if err != nil {
		return err
	}
	if f.json {
		if err := cli.PrintJSON(cmd.OutOrStdout(), s); err != nil {
			return err
		}
	}
	if f.output != "" {
		if err := fetchGroup(cmd, c, &s, f.output, f.force); err != nil {
			return err
		}
	}
	return groupExit(cmd.Context(), c, &s, f.require)
}

// waitForGroup returns the status of a group once all of its jobs have ended.
func waitForGroup(ctx context.Context, cmd *cobra.Command, c *api.Client, id grid.GroupID) (api.GroupStatus, error) {
	s, err := c.Group(ctx, id)
	heard, away := time.Now(), absenceOf(cmd)
	bar := newCount(cmd.ErrOrStderr())
	defer bar.end()
	for {
		switch {
		case err == nil && s.Ended != 0:
			return c.Group(ctx, id)
		case err == nil:
			heard = time.Now()
			away.over()
			bar.show(fmt.Sprintf("%d of %d have ended", s.Over, s.Jobs))
		case ctx.Err() != nil:
			return s, stillGoing(ctx, "the group", id, err)
		case !api.Interrupted(err) || time.Since(heard) > patience+30*time.Second:
			return s, err
		default:
			bar.end()
			away.begun(err)
			pause(ctx, time.Second)
		}
		s, err = c.WaitGroup(ctx, id)
	}
}

// eachMember gives the jobs of a group, page by page.
func eachMember(ctx context.Context, c *api.Client, id grid.GroupID, see func(*api.Status) error) error {
	page := api.Members{Limit: api.MaxPage}
	for {
		s, err := c.GroupPage(ctx, id, page)
		if err != nil {
			return err
		}
		for i := range s.Members {
			if err := see(&s.Members[i]); err != nil {
				return err
			}
		}
		if page.After = s.Next; s.Next == 0 {
			return nil
		}
	}
}

// groupExit is success if all jobs ended so, else what the first says that did not.
func groupExit(ctx context.Context, c *api.Client, s *api.GroupStatus, require bool) error {
	return eachMember(ctx, c, s.ID, func(m *api.Status) error {
		ended := jobExit(m)
		if ended != nil && m.State == grid.Completed.String() && m.ExitCode != nil { // of one job the exit code says it all
			ended = cli.Exit(cli.Code(ended), fmt.Errorf("job %s is the first that did not end with 0: exit %s", m.ID, exitText(m)))
		}
		return required(m, require, ended)
	})
}

// fetchGroup brings what the jobs have left, each into a folder of its own below dir.
func fetchGroup(cmd *cobra.Command, c *api.Client, s *api.GroupStatus, dir string, force bool) error {
	var named *api.GroupStatus // a group small enough to name folders after its jobs
	if first, err := c.Group(cmd.Context(), s.ID); err == nil && first.Next == 0 {
		named = &first
	}
	var failed error
	err := eachMember(cmd.Context(), c, s.ID, func(m *api.Status) error {
		fetchInto(cmd, c, m.ID, filepath.Join(dir, folderOf(named, m)), force, &failed)
		return nil
	})
	return errors.Join(failed, err)
}

// fetchSome brings what some jobs of a group have left, each into a folder that has its number.
func fetchSome(cmd *cobra.Command, c *api.Client, ids []grid.JobID, dir string, force bool) (failed error) {
	for _, id := range ids {
		_, n := id.Group()
		fetchInto(cmd, c, id, filepath.Join(dir, strconv.Itoa(n)), force, &failed)
	}
	return failed
}

// fetchInto brings what one of several jobs has left; what fails is told, and the others go on.
func fetchInto(cmd *cobra.Command, c *api.Client, id grid.JobID, folder string, force bool, failed *error) {
	if err := fetchAll(cmd, c, id, folder, force); err != nil {
		cmd.PrintErrf("gclient: the output of job %s is not here: %v; 'gclient output %s %s' fetches it\n", id, err, id, folder)
		*failed = cli.Exit(cli.Code(err), errors.New("not all of the output is here"))
	}
}

// folderOf is the name of the folder of a job.
func folderOf(named *api.GroupStatus, m *api.Status) string {
	_, n := m.ID.Group()
	if named != nil {
		names := foldersOf(named)
		for i := range named.Members {
			if named.Members[i].ID == m.ID {
				return names[i]
			}
		}
	}
	return strconv.Itoa(n)
}

// foldersOf are the names of the jobs where each has one of its own that can name a folder, and no
// number; else their numbers.
func foldersOf(s *api.GroupStatus) []string {
	numbers, names, seen := make([]string, len(s.Members)), make([]string, len(s.Members)), map[string]bool{}
	plain := true
	for i := range s.Members {
		_, n := s.Members[i].ID.Group()
		numbers[i], names[i] = strconv.Itoa(n), s.Members[i].Name
		plain = plain && !seen[names[i]] && grid.CheckName(strings.ToLower(names[i])) == nil && strings.Trim(names[i], "0123456789") != ""
		seen[names[i]] = true
	}
	if plain {
		return names
	}
	return numbers
}

func printGroup(w io.Writer, s *api.GroupStatus) error {
	t := cli.Table(w)
	line := func(name, value string) {
		if value != "" && value != "-" {
			fmt.Fprintf(t, "%s\t%s\n", name, printable(value))
		}
	}
	line("group", string(s.ID))
	line("name", s.Name)
	line("user", s.User)
	line("jobs", fmt.Sprintf("%d: %s", s.Jobs, statesText(s)))
	if s.Coming > 0 {
		line("files", "some are to come; no job begins before")
	}
	if s.AtOnce > 0 {
		line("at once", strconv.Itoa(s.AtOnce))
	}
	if n := forTheirTurn(s); n > 0 {
		line("waiting", fmt.Sprintf("%d for their turn", n))
	}
	line("submitted", clock(s.Submitted))
	line("ended", clock(s.Ended))
	if s.CancelRequested {
		line("cancel", "requested")
	}
	if err := flush(t); err != nil || len(s.Members) == 0 {
		return err
	}
	fmt.Fprintln(w)
	if err := printJobs(w, s.Members); err != nil || s.Next == 0 {
		return err
	}
	_, err := fmt.Fprintf(w, "... up to %s: --after %d goes on\n", s.ID.Job(s.Jobs), s.Next)
	return err
}

// forTheirTurn is how many jobs of a sweep wait for their turn; one may have ended before.
func forTheirTurn(s *api.GroupStatus) int {
	return max(0, min(s.Jobs-s.Entered, s.States[grid.Submitted.String()]))
}

// statesText is how many jobs of a group are in which state, as in "2 RUNNING, 3 COMPLETED (1 with a failed exit)".
func statesText(s *api.GroupStatus) string {
	var names, parts []string
	for name := range s.States {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		text := fmt.Sprintf("%d %s", s.States[name], name)
		if name == grid.Completed.String() && s.FailedExits > 0 {
			text += fmt.Sprintf(" (%d with a failed exit)", s.FailedExits)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

func printGroups(w io.Writer, list []api.GroupStatus) error {
	t := cli.Table(w)
	if len(list) > 0 {
		fmt.Fprintln(t, "GROUP\tNAME\tUSER\tJOBS\tSTATES\tSUBMITTED\tENDED")
	}
	for i := range list {
		g := &list[i]
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s\t%s\t%s\n", g.ID, dash(g.Name), g.User, g.Jobs, dash(statesText(g)), clock(g.Submitted), clock(g.Ended))
	}
	return flush(t)
}

// maxExplained bounds the jobs of a group that are explained one by one.
const maxExplained = 100

// explainGroup tells what happened to a group, and explains each of its jobs, if those are few.
func explainGroup(cmd *cobra.Command, c *api.Client, id grid.GroupID, asJSON bool) error {
	s, err := c.GroupPage(cmd.Context(), id, api.Members{Limit: maxExplained})
	if err != nil {
		return err
	}
	all := make([]api.Explanation, 0, len(s.Members))
	for i := range s.Members {
		e, err := c.Explain(cmd.Context(), s.Members[i].ID)
		if err != nil {
			return err
		}
		all = append(all, e)
	}
	if asJSON {
		return cli.PrintJSON(cmd.OutOrStdout(), all)
	}
	history, err := c.GroupHistory(cmd.Context(), id)
	if err != nil {
		return err
	}
	for _, e := range history.Events {
		cmd.Printf("%s  %s\n", clock(e.At), printable(e.Why))
	}
	for i, e := range all {
		cmd.Printf("\n%s %s %s\n", e.ID, dash(s.Members[i].Name), s.Members[i].State)
		if len(e.Decisions) == 0 {
			cmd.Println(dash(printable(s.Members[i].Reason)))
			continue
		}
		if err := printExplanation(cmd.OutOrStdout(), e, id.Site()); err != nil {
			return err
		}
	}
	if s.Next > 0 {
		cmd.Printf("\n... up to %s: 'gclient explain %s' explains one\n", id.Job(s.Jobs), id.Job(s.Next+1))
	}
	return nil
}

// cancelGroup asks for the end of a group, and tells how far that has come.
func cancelGroup(cmd *cobra.Command, c *api.Client, id grid.GroupID, asJSON bool) error {
	s, err := endGroup(cmd.Context(), c, id)
	if err != nil {
		return err
	}
	if asJSON {
		if err := cli.PrintJSON(cmd.OutOrStdout(), s); err != nil {
			return err
		}
	}
	if err := recordedOf(&s); err != nil {
		return err
	}
	if !asJSON {
		cmd.Printf("%s has ended: %s\n", id, statesText(&s))
	}
	return nil
}

// confirming is how long the sites that have the jobs of a group are given to confirm its cancel.
const confirming = 10 * time.Second

// endGroup asks for the end of a group, and waits a while for it.
func endGroup(ctx context.Context, c *api.Client, id grid.GroupID) (api.GroupStatus, error) {
	s, err := c.CancelGroup(ctx, id)
	if err != nil {
		return s, err
	}
	wait, done := context.WithTimeout(ctx, confirming)
	defer done()
	for err == nil && s.Ended == 0 && wait.Err() == nil {
		s, err = c.WaitGroup(wait, id)
	}
	return c.Group(ctx, id)
}

// recordedOf is what to say of a group whose cancel is not confirmed for all of its jobs.
func recordedOf(s *api.GroupStatus) error {
	if s.Ended != 0 {
		return nil
	}
	return cli.Exit(cli.Failed, fmt.Errorf("the group %s: recorded for all of its jobs; %d of %d have ended; 'gclient status %s' tells when all have", s.ID, s.Over, s.Jobs, s.ID))
}

// count tells on a terminal how far a wait has come.
type count struct{ *progress }

func newCount(w io.Writer) count { return count{newProgress(w, "", 0)} }

func (n count) show(text string) {
	if n.w != nil {
		n.shown = true
		fmt.Fprintf(n.w, "\r%s  ", text)
	}
}
