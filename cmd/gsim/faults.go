package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"gbroker/internal/cli"
	"gbroker/sim/faults"
)

// Limits on what is simulated.
const (
	maxBrokers  = 64
	maxFaultJob = 10_000
	maxSeeds    = 1_000_000_000
)

// shrinkTime bounds the search for a smaller history.
const shrinkTime = 5 * time.Second

// faultsFlags are what gsim faults is told.
type faultsFlags struct {
	seeds, profile, broken, trace string
	brokers, jobs, fresh          int
	span                          time.Duration
	all, json                     bool
}

func newFaults() *cobra.Command {
	f := &faultsFlags{}
	cmd := &cobra.Command{
		Use:                   "faults {--seeds A-B | --fresh N} [flags]",
		Short:                 "Run many brokers in a world in which everything breaks",
		Long:                  faultsHelp(),
		Example:               "  gsim faults --seeds 1-1000\n  gsim faults --fresh 1000000 --for 10m --all\n  gsim faults --seeds 7-7 --profile crash --trace story.txt\n  gsim faults --seeds 1-5000 --break no-start-token --json",
		Args:                  cobra.NoArgs,
		DisableFlagsInUseLine: true,
		RunE:                  func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.seeds, "seeds", "", "the histories: from seed `A-B`")
	flags.IntVar(&f.fresh, "fresh", 0, "so many histories instead, `N`, from a seed that the clock gives")
	cli.SpanVar(cmd, &f.span, "for", 0, "begin none after so long, such as `10m`")
	flags.IntVar(&f.brokers, "brokers", 5, fmt.Sprintf("sites in each, 1 to %d", maxBrokers))
	flags.IntVar(&f.jobs, "jobs", 50, fmt.Sprintf("jobs in each, 0 to %d", maxFaultJob))
	flags.StringVar(&f.profile, "profile", faults.Profiles()[0].Name, "what goes wrong: one of `PROFILE`, below")
	flags.StringVar(&f.broken, "break", "", "switch these rules off: `RULE[,RULE]`, below")
	flags.BoolVar(&f.all, "all", false, "go on after a violation")
	flags.BoolVar(&f.json, "json", false, "answer in JSON")
	flags.StringVar(&f.trace, "trace", "", "write what happened in each history to `FILE`")
	return cmd
}

func faultsHelp() string {
	var b strings.Builder
	b.WriteString(`Faults runs whole histories of many brokers in virtual time: the code that decides in
the daemon, over networks, batch systems, disks and clocks that fail in every way that
the profile has. Each step is checked against what happened in truth: no job is lost,
none runs twice, what users were told stays true (S1 to S5, S8, S9 of the design),
groups of jobs are made, cancelled and ended whole (S10 to S13), reservations never
overlap and go when they are over (S3), and the parts of a job over several sites begin
together or not at all (S4); tasks of workflows run when and as often as they may, with
what they need (S17, S18).
One seed is one history, always the same. The answer tells which seeds were run, also of
--fresh: --seeds repeats them.

The first violation ends it, unless --all is said: a smaller history that shows it is
looked for, told as a transcript, and the exit code is 1.

Profiles:
`)
	for _, p := range faults.Profiles() {
		fmt.Fprintf(&b, "  %-10s %s\n", p.Name, p.About)
	}
	b.WriteString("\nRules, and what is done without them (to prove that it would be noticed):\n")
	for _, r := range faults.Rules() {
		shows := ""
		if r.Profile != faults.Profiles()[0].Name {
			shows = " (shows in --profile " + r.Profile + ")"
		}
		fmt.Fprintf(&b, "  %-28s %s%s\n", r.Name, r.Without, shows)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// options reads the flags.
func (f *faultsFlags) options() (o faults.Options, first, last uint64, err error) {
	if first, last, err = f.numbers(); err != nil {
		return o, 0, 0, err
	}
	if f.span < 0 {
		return o, 0, 0, cli.BadUsage("--for %v: it must not be negative", f.span)
	}
	if f.brokers < 1 || f.brokers > maxBrokers {
		return o, 0, 0, cli.BadUsage("--brokers %d: it must be 1 to %d", f.brokers, maxBrokers)
	}
	if f.jobs < 0 || f.jobs > maxFaultJob {
		return o, 0, 0, cli.BadUsage("--jobs %d: it must be 0 to %d", f.jobs, maxFaultJob)
	}
	o = faults.Options{Brokers: f.brokers, Jobs: f.jobs}
	known := ""
	for _, p := range faults.Profiles() {
		if p.Name == f.profile {
			o.Profile = p
		}
		known += ", " + p.Name
	}
	if o.Profile.Name == "" {
		return o, 0, 0, cli.BadUsage("there is no profile %q; there are %s", f.profile, known[2:])
	}
	if o.Broken, err = faults.ParseRules(f.broken); err != nil {
		return o, 0, 0, cli.BadUsage("--break: %v; --help lists them", err)
	}
	return o, first, last, nil
}

// numbers are the first and the last seed.
func (f *faultsFlags) numbers() (first, last uint64, err error) {
	switch {
	case f.fresh == 0:
		return parseSeeds(f.seeds)
	case f.seeds != "":
		return 0, 0, cli.BadUsage("--seeds and --fresh: one of the two")
	case f.fresh < 0 || f.fresh > maxSeeds:
		return 0, 0, cli.BadUsage("--fresh %d: it must be 1 to %d", f.fresh, maxSeeds)
	}
	first = uint64(time.Now().UnixMicro())
	return first, first + uint64(f.fresh) - 1, nil
}

// parseSeeds reads A-B, or A.
func parseSeeds(text string) (first, last uint64, err error) {
	from, to, two := strings.Cut(text, "-")
	first, err = strconv.ParseUint(from, 10, 63)
	last = first
	if two && err == nil {
		last, err = strconv.ParseUint(to, 10, 63)
	}
	switch {
	case text == "":
		return 0, 0, cli.BadUsage("--seeds is needed, such as 1-1000, or --fresh, such as 1000")
	case err != nil || last < first:
		return 0, 0, cli.BadUsage("--seeds %q: it must be A-B, A not above B", text)
	case last-first >= maxSeeds:
		return 0, 0, cli.BadUsage("--seeds %q: at most %d at once", text, maxSeeds)
	}
	return first, last, nil
}

func (f *faultsFlags) run(cmd *cobra.Command) (err error) {
	o, first, last, err := f.options()
	if err != nil {
		return err
	}
	var out io.Writer
	if f.trace != "" {
		file, err := os.Create(f.trace)
		if err != nil {
			return fmt.Errorf("making the file of the trace: %w", err)
		}
		w := bufio.NewWriter(file)
		out = w
		defer func() {
			for _, e := range []error{w.Flush(), file.Close()} {
				if err == nil && e != nil {
					err = fmt.Errorf("writing the trace: %w", e)
				}
			}
		}()
	}
	sum := newFaultsSum(f.all)
	bar := newProgress(cmd.ErrOrStderr(), int(last-first)+1)
	bar.unit = "histories"
	began := time.Now()
	ctx := cmd.Context()
	if f.span > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, f.span)
		defer stop()
	}
	err = histories(ctx, o, first, last, out, func(r faults.Result) bool {
		bar.at(sum.Histories + 1)
		return sum.add(r)
	})
	bar.done()
	sum.finish(time.Since(began).Seconds())
	if err != nil {
		return err
	}
	if f.json {
		err = cli.PrintJSON(cmd.OutOrStdout(), sum)
	} else {
		err = sum.print(cmd.OutOrStdout())
	}
	switch {
	case err != nil:
		return err
	case len(sum.Violations) > 0:
		if !f.all {
			tellStory(cmd.Context(), cmd.ErrOrStderr(), o, sum.Violations[0])
		}
		return cli.Exit(cli.No, nil)
	}
	return interrupted(cmd.Context().Err())
}

// histories runs the histories on all cores, and gives the results in the order of their
// seeds until next says no or ctx ends.
func histories(ctx context.Context, o faults.Options, first, last uint64, trace io.Writer, next func(faults.Result) bool) error {
	type history struct {
		result faults.Result
		lines  []string
	}
	defer collectSeldom()()
	ctx, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	queue := make(chan chan history, 4*runtime.GOMAXPROCS(0)) // in the order of seeds; bounds what is under way
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	group.Go(func() {
		defer close(queue)
		for seed := first; seed <= last && ctx.Err() == nil; seed++ {
			done := make(chan history, 1)
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return
			}
			select {
			case queue <- done:
			case <-ctx.Done():
				return
			}
			group.Go(func() {
				defer func() { <-slots }()
				h := history{}
				mine := o
				mine.Seed = seed
				if trace != nil {
					mine.Trace = func(line string) { h.lines = append(h.lines, line) }
				}
				h.result = faults.Run(mine)
				done <- h
			})
		}
	})
	for done := range queue {
		h := <-done
		for _, line := range h.lines {
			if _, err := fmt.Fprintln(trace, line); err != nil {
				return fmt.Errorf("writing the trace: %w", err)
			}
		}
		if !next(h.result) {
			return nil
		}
	}
	return nil
}

// tellStory looks for a smaller history with the same violation, and tells it.
func tellStory(ctx context.Context, w io.Writer, o faults.Options, v faults.Violation) {
	o.Seed = v.Seed
	end := time.Now().Add(shrinkTime)
	small := faults.Shrink(o, v.Property, func() bool { return ctx.Err() == nil && time.Now().Before(end) })
	brokers, jobs := small.Size()
	fmt.Fprintf(w, "\nThe smallest history found with it: %d brokers, %d jobs, %d faults\n\n", brokers, jobs, faults.Run(small).Struck())
	for _, line := range faults.Transcript(small) {
		fmt.Fprintln(w, line)
	}
}
