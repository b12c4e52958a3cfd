package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gbroker/api"
)

// completionLimit bounds how long a press of the tab key may take.
const completionLimit = time.Second

// complete tells how a flag is completed.
func (p *program) complete(cmd *cobra.Command, flag string, f cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic(err) // a flag that the command does not have: the first use of the program would tell
	}
}

// asked asks the broker, for no longer than a person waits.
func (p *program) asked(cmd *cobra.Command, ask func(context.Context, *api.Client) error) error {
	c, err := p.client(cmd)
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(cmd.Context(), completionLimit)
	defer cancel()
	return ask(ctx, c)
}

// completeJobs offers the identifiers of the user's jobs and groups as the first argument; then files.
func (p *program) completeJobs(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault // a folder
	}
	return p.completeAllJobs(cmd, args, begun)
}

// completeAllJobs offers them as every argument; none twice.
func (p *program) completeAllJobs(cmd *cobra.Command, args []string, begun string) (ids []string, _ cobra.ShellCompDirective) {
	add := func(id, about string) {
		if strings.HasPrefix(id, begun) && !slices.Contains(args, id) {
			ids = append(ids, id+"\t"+about)
		}
	}
	_ = p.asked(cmd, func(ctx context.Context, c *api.Client) error {
		page, err := c.List(ctx, api.Filter{Folded: true}, "", api.MaxPage)
		for _, j := range page.Jobs {
			add(string(j.ID), fmt.Sprintf("%s %s", j.State, printable(j.Name)))
		}
		if err != nil {
			return err
		}
		groups, err := c.Groups(ctx)
		for _, g := range groups.Groups {
			add(string(g.ID), jobsText(g.Jobs)+" "+printable(g.Name))
		}
		return err
	})
	return ids, cobra.ShellCompDirectiveNoFileComp
}

// completeSites offers the names of the sites that the broker knows.
func (p *program) completeSites(cmd *cobra.Command, _ []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	_ = p.asked(cmd, func(ctx context.Context, c *api.Client) error {
		sites, err := c.Sites(ctx)
		for _, s := range sites {
			names = append(names, fmt.Sprintf("%s\t%d cores, %s", s.Name, s.Processes, s.State))
		}
		return err
	})
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeStates offers the states of jobs.
func completeStates(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	words := []string{"live", "ended"}
	for _, s := range allStates() {
		words = append(words, s.String())
	}
	return completeWords(words)(cmd, args, begun)
}

// completeWords offers words, also as the next of a row with commas.
func completeWords(words []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, begun string) (list []string, _ cobra.ShellCompDirective) {
		before := begun[:strings.LastIndexByte(begun, ',')+1]
		for _, w := range words {
			list = append(list, before+w)
		}
		return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// completeDocuments offers JSDL files and batch scripts.
func completeDocuments(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"jsdl", "xml", "sh", "sbatch", "slurm", "pbs"}, cobra.ShellCompDirectiveFilterFileExt
}
