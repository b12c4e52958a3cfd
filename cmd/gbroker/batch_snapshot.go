package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/daemon"
	"gbroker/grid"
	"gbroker/internal/cli"
)

func (h *byHand) snapshot() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "snapshot --config FILE",
		Short: "Show what the batch system holds, as the broker sees it",
		Long: `snapshot shows nodes, queues, running jobs, waiting jobs in the order in which the
scheduler will take them, reservations, and the policy by which the broker plans. It asks the
batch system itself; the embedded one lives in the daemon, which must run then.`,
		Example: `  gbroker batch snapshot --config FILE
  gbroker batch snapshot --config FILE --json | jq '.waiting[] | {id, user, reason}'`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: system, version, at, age_s, policy, nodes, queues, running, waiting, reservations, stopped, unusable")
	cmd.RunE = h.run(func(ctx context.Context, cmd *cobra.Command, cfg daemon.Config, _ []string) error {
		b, err := look(ctx, cfg)
		switch {
		case err != nil:
			return err
		case asJSON:
			return cli.PrintJSON(cmd.OutOrStdout(), b)
		}
		return printBatch(cmd.OutOrStdout(), b)
	})
	return cmd
}

// printBatch writes a batch system as tables, one below the other.
func printBatch(w io.Writer, b api.Batch) error {
	fmt.Fprintf(w, "%s, policy %s, as it was at %s, %s ago\n", plain(strings.TrimSpace(b.System+" "+b.Version)), b.Policy, moment(b.At), length(b.Age))
	if b.Stopped != "" {
		fmt.Fprintf(w, "it starts no jobs: %s\n", plain(b.Stopped))
	}
	for _, what := range b.Unusable {
		fmt.Fprintf(w, "not understood, and left out: %s\n", plain(what))
	}
	// each is a table of its own, with its own widths
	t := cli.Table(w)
	row := func(cells ...any) { fmt.Fprintln(t, strings.Join(texts(cells), "\t")) }
	var wrong error
	head := func(names ...any) {
		wrong = cmp.Or(wrong, t.Flush())
		fmt.Fprintln(w)
		row(names...)
	}
	head("NODE", "CORES", "USED", "MEMORY", "RESOURCES", "PROPERTIES", "NOTE")
	for _, n := range b.Nodes {
		row(n.Name, n.Cores, n.Used, memory(n.Memory), amounts(n.Resources), strings.Join(n.Properties, ","), strings.TrimSpace(word(n.Down, "down")+" "+n.Why))
	}
	head("QUEUE", "LIMIT", "NODES", "NOTE")
	for _, q := range b.Queues {
		row(q.Name, limit(q.Limit), each(q.Nodes, "all"), strings.TrimSpace(word(q.Default, "default")+" "+q.Closed))
	}
	head("RUNNING", "USER", "QUEUE", "PROCESSES", "STARTED", "ENDS", "NODES", "JOB")
	for _, j := range b.Running {
		row(j.ID, j.User, j.Queue, j.Processes, moment(j.Started), moment(j.Ends), each(j.Nodes, ""), j.Mark)
	}
	head("WAITING", "USER", "QUEUE", "PROCESSES", "LIMIT", "STATE", "REASON", "JOB")
	for _, j := range b.Waiting {
		row(j.ID, j.User, j.Queue, j.Processes, limit(j.Limit), j.State, j.Reason, j.Mark)
	}
	head("RESERVATION", "OURS", "USER", "START", "END", "NODES")
	for _, r := range b.Reservations {
		row(r.Native, r.ID, r.User, moment(r.Start), moment(r.End), each(r.Nodes, ""))
	}
	return cmp.Or(wrong, t.Flush())
}

// texts are the cells of a row: what comes from outside cannot leave its cell.
func texts(cells []any) []string {
	list := make([]string, len(cells))
	for i, c := range cells {
		text := fmt.Sprint(c)
		if list[i] = plain(text); text == "" {
			list[i] = "-"
		}
	}
	return list
}

func plain(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) {
			return c
		}
		return unicode.ReplacementChar
	}, s)
}

func moment(t api.Time) string {
	if t == 0 {
		return ""
	}
	return time.UnixMilli(int64(t)).UTC().Format("2006-01-02 15:04:05Z")
}

func length(seconds float64) string {
	return grid.FromSeconds(seconds).Duration().Round(time.Second).String()
}

func limit(seconds float64) string {
	if seconds == 0 {
		return ""
	}
	return length(seconds)
}

func memory(n int64) string {
	if n == 0 {
		return ""
	}
	return cli.Size(n)
}

func amounts(m map[string]int64) string {
	var list []string
	for name, n := range m {
		list = append(list, fmt.Sprintf("%s=%d", name, n))
	}
	slices.Sort(list)
	return strings.Join(list, ",")
}

// each lists names, the first few of many.
func each(names []string, none string) string {
	const most = 8
	switch {
	case len(names) == 0:
		return none
	case len(names) > most:
		return fmt.Sprintf("%s,… (%d)", strings.Join(names[:most], ","), len(names))
	}
	return strings.Join(names, ",")
}

func word(yes bool, text string) string {
	if yes {
		return text
	}
	return ""
}
