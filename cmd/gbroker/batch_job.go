package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"gbroker/api"
	"gbroker/daemon"
	"gbroker/grid"
	"gbroker/internal/cli"
	"gbroker/jsdl"
)

// held runs one thing with the batch system in hand.
func (h *byHand) held(do func(ctx context.Context, cmd *cobra.Command, hand *daemon.Hand, args []string) error) func(*cobra.Command, []string) error {
	return h.run(func(ctx context.Context, cmd *cobra.Command, cfg daemon.Config, args []string) (err error) {
		hand, err := daemon.OpenHand(ctx, cfg, zap.NewNop())
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, hand.Close()) }()
		return do(ctx, cmd, hand, args)
	})
}

// wanted is what the flags of batch submit say of a command.
type wanted struct {
	processes   int
	walltime    string
	queue       string
	reservation string
	as          string
	json        bool
}

func (h *byHand) submit() *cobra.Command {
	var w wanted
	cmd := &cobra.Command{
		Use:   "submit --config FILE {JOB.jsdl | -- COMMAND ARGS...}",
		Short: "Hand a job to the batch system by hand, through the driver",
		Long: `submit hands over the program of a JSDL document, or a command, just as the daemon would: by
the same script, with a start token. Files are not staged: what the job writes stays in its folder,
which status tells. It prints the job's identifier and that of the batch system.`,
		Example: `  gbroker batch submit --config FILE -- /bin/hostname
  gbroker batch submit --config FILE --processes 4 --walltime 10m --queue long -- /usr/bin/sleep 60
  gbroker batch submit --config FILE job.jsdl`,
		Args: cobra.MinimumNArgs(1),
	}
	f := cmd.Flags()
	cli.CountVar(cmd, &w.processes, "processes", 1, 1, grid.MaxProcesses, "of a command: one core each")
	f.StringVar(&w.walltime, "walltime", "5m", "of a command, or of a document that names none")
	f.StringVar(&w.queue, "queue", "", "of a command; the batch system's default")
	f.StringVar(&w.reservation, "reservation", "", "bind the job to a reservation, by the identifier that reserve has printed")
	f.StringVar(&w.as, "as", "", "the account it runs under; the daemon's own")
	f.BoolVar(&w.json, "json", false, "print JSON: id, local, command, submitted_ms, folder")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		job, err := w.job(args, cmd.ArgsLenAtDash() == 0)
		if err != nil {
			return err
		}
		return h.held(func(ctx context.Context, cmd *cobra.Command, hand *daemon.Hand, _ []string) error {
			hand.RunAs(w.as)
			j, err := hand.Submit(ctx, job, w.reservation)
			switch {
			case err != nil:
				return err
			case w.json:
				return cli.PrintJSON(cmd.OutOrStdout(), j)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", j.ID, j.Local)
			return nil
		})(cmd, args)
	}
	return cmd
}

// job is what is to be run.
func (w wanted) job(args []string, command bool) (grid.Job, error) {
	limit, err := grid.ParseSpan(w.walltime)
	if err != nil || limit < time.Second {
		return grid.Job{}, cli.BadUsage("--walltime: %q is no span of a second or more", w.walltime)
	}
	if !command && strings.HasSuffix(args[0], ".jsdl") {
		return document(args, grid.Span(limit))
	}
	if w.processes < 1 || w.processes > grid.MaxProcesses {
		return grid.Job{}, cli.BadUsage("--processes: %d is out of range: 1 to %d", w.processes, grid.MaxProcesses)
	}
	program := args[0]
	if !strings.Contains(program, "/") {
		if program, err = exec.LookPath(program); err == nil {
			program, err = filepath.Abs(program)
		}
		if err != nil {
			return grid.Job{}, fmt.Errorf("%w: the command %s: %w", grid.ErrInvalid, strconv.Quote(args[0]), err)
		}
	}
	return grid.Job{
		Name: "byhand", Walltime: grid.Span(limit), Queue: grid.QueueName(w.queue),
		Program: grid.Program{Executable: program, Arguments: args[1:]},
		Demand:  grid.Demand{Chunks: []grid.Chunk{{Count: w.processes, Processes: 1, Cores: 1}}},
	}, nil
}

// maxDocument bounds a JSDL document, in bytes.
const maxDocument = api.MaxDocument

// document reads a JSDL document without files.
func document(args []string, limit grid.Tick) (grid.Job, error) {
	if len(args) != 1 {
		return grid.Job{}, cli.BadUsage("one document, or -- and a command")
	}
	f, err := os.Open(args[0])
	if err != nil {
		return grid.Job{}, fmt.Errorf("reading the document: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxDocument+1))
	switch {
	case err != nil:
		return grid.Job{}, fmt.Errorf("reading the document: %w", err)
	case len(text) > maxDocument:
		return grid.Job{}, fmt.Errorf("%w: %s has more than %d bytes", grid.ErrInvalid, args[0], maxDocument)
	}
	d, err := jsdl.Parse(args[0], text)
	if err != nil {
		return grid.Job{}, err
	}
	for _, s := range d.Staging {
		if s.Source != "" {
			return grid.Job{}, fmt.Errorf("%w: %s:%d: by hand no files are staged: use gclient, or a document without Source", grid.ErrInvalid, args[0], s.Line)
		}
	}
	job := d.Job
	if job.Walltime == 0 {
		job.Walltime = limit
	}
	return job, nil
}

func (h *byHand) status() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status --config FILE [ID]",
		Short: "Show what became of jobs submitted by hand",
		Long: `status shows one job, by our identifier or the batch system's, or all that were submitted by
hand and not removed since. What the job's own files say comes first, then the batch system.`,
		Example: "  gbroker batch status --config FILE\n  gbroker batch status --config FILE 1234 --json",
		Args:    cobra.MaximumNArgs(1),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array of id, local, phase, started, finished, exit_code, signal, cause, detail, folder")
	cmd.RunE = h.held(func(ctx context.Context, cmd *cobra.Command, hand *daemon.Hand, args []string) error {
		jobs, err := hand.Jobs()
		if len(args) == 1 {
			var one daemon.HandJob
			one, err = hand.Find(args[0])
			jobs = []daemon.HandJob{one}
		}
		if err != nil {
			return err
		}
		list := []handStatus{}
		for _, j := range jobs {
			p, err := hand.Progress(ctx, j)
			if err != nil {
				return err
			}
			list = append(list, statusOf(j, p))
		}
		if asJSON {
			return cli.PrintJSON(cmd.OutOrStdout(), list)
		}
		return printHand(cmd.OutOrStdout(), list)
	})
	return cmd
}

// handStatus is one job as status shows it.
type handStatus struct {
	ID       grid.JobID   `json:"id"`
	Local    grid.LocalID `json:"local"`
	Phase    string       `json:"phase"`
	Started  api.Time     `json:"started"`
	Finished api.Time     `json:"finished"`
	ExitCode int          `json:"exit_code"`
	Signal   int          `json:"signal"`
	Cause    string       `json:"cause"` // as grid.Cause has it; "" before the end
	Detail   string       `json:"detail"`
	Folder   string       `json:"folder"`
	Command  []string     `json:"command"`
}

func statusOf(j daemon.HandJob, p grid.Progress) handStatus {
	s := handStatus{
		ID: j.ID, Local: j.Local, Phase: p.Phase.String(), Started: api.Time(p.Started), Finished: api.Time(p.Finished),
		ExitCode: p.ExitCode, Signal: p.Signal, Detail: p.Detail, Folder: j.Folder, Command: j.Command,
	}
	if p.Phase == grid.Ended {
		s.Cause = p.Cause.String()
	}
	return s
}

func printHand(w io.Writer, list []handStatus) error {
	if len(list) == 1 {
		fmt.Fprintf(w, "the files of the job are in %s\n", list[0].Folder)
	}
	t := cli.Table(w)
	fmt.Fprintln(t, strings.Join([]string{"ID", "LOCAL", "PHASE", "STARTED", "FINISHED", "COMMAND", "END"}, "\t"))
	for _, s := range list {
		end := s.Cause
		if s.Cause == grid.ByItself.String() {
			end = "exit " + strconv.Itoa(s.ExitCode)
		}
		if s.Detail != "" {
			end += " (" + s.Detail + ")"
		}
		fmt.Fprintln(t, strings.Join(texts([]any{s.ID, s.Local, s.Phase, moment(s.Started), moment(s.Finished), strings.Join(s.Command, " "), end}), "\t"))
	}
	return t.Flush()
}

// act is a command on one job submitted by hand.
func (h *byHand) act(use, short, long string, do func(ctx context.Context, hand *daemon.Hand, j daemon.HandJob) (string, error)) *cobra.Command {
	return &cobra.Command{
		Use: use + " --config FILE ID", Short: short, Long: long,
		Example: "  gbroker batch " + use + " --config FILE 1234",
		Args:    cobra.ExactArgs(1),
		RunE: h.held(func(ctx context.Context, cmd *cobra.Command, hand *daemon.Hand, args []string) error {
			j, err := hand.Find(args[0])
			if err != nil {
				return err
			}
			text, err := do(ctx, hand, j)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", j.ID, text)
			return nil
		}),
	}
}

func (h *byHand) acts() []*cobra.Command {
	return []*cobra.Command{
		h.act("hold", "Keep a waiting job from starting",
			"hold puts the user's hold on a job submitted by hand. One that has started is not held.",
			func(ctx context.Context, hand *daemon.Hand, j daemon.HandJob) (string, error) {
				return "is held", hand.Hold(ctx, j)
			}),
		h.act("release", "End a hold",
			"release ends the user's hold, not one of an operator or of the system itself.",
			func(ctx context.Context, hand *daemon.Hand, j daemon.HandJob) (string, error) {
				return "is not held", hand.Release(ctx, j)
			}),
		h.act("remove", "End a job, or forget one that has ended",
			"remove takes a waiting job out of the queue and ends a running one. Of one that has\nended it removes the record and the folder.",
			func(ctx context.Context, hand *daemon.Hand, j daemon.HandJob) (string, error) {
				gone, err := hand.Remove(ctx, j)
				if gone {
					return "is forgotten", err
				}
				return "is removed", err
			}),
	}
}
