package slurm

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"gbroker/grid"
	"gbroker/pbs/command"
	"gbroker/pbs/external"
)

// Submit runs sbatch, and reads back whether Slurm may requeue the job.
func (c *Client) Submit(ctx context.Context, o external.Order) (grid.LocalID, error) {
	if o.Reservation != "" {
		account, err := c.accountOf(ctx, o.Reservation)
		if err != nil {
			return "", fmt.Errorf("submit %s to Slurm: %w", o.Tag, err)
		}
		o.Account = cmp.Or(account, o.Account)
	}
	args, err := arguments(o)
	if err != nil {
		return "", fmt.Errorf("submit %s to Slurm: %w", o.Tag, err)
	}
	call := command.Call{Name: "sbatch", Args: args, Stdin: o.Script, As: o.As}
	got, err := c.run(ctx, call)
	if err != nil {
		return "", err
	}
	if got.Exit != 0 {
		return "", refused(call, got)
	}
	id, err := submitted(got.Stdout)
	if err != nil {
		return "", command.Unreadable(spoken(call), "", got.Stdout, err)
	}
	return id, c.insist(ctx, o, id)
}

// submitted reads what sbatch --parsable prints: ID or ID;CLUSTER.
func submitted(text []byte) (grid.LocalID, error) {
	line, ended := bytes.CutSuffix(text, []byte("\n"))
	id, _, _ := strings.Cut(string(line), ";")
	if _, err := number(id); err != nil || !ended || bytes.ContainsAny(line, "\n ") {
		return "", errors.New("it is not the number of a job")
	}
	return grid.LocalID(id), nil
}

// insist sees to it that a job of which nobody said that it may run twice is not requeued:
// a plugin of the site may have changed that. What cannot be read now is left to the start
// token, which holds in any case.
func (c *Client) insist(ctx context.Context, o external.Order, id grid.LocalID) error {
	jobs, err := c.look(ctx, id)
	if err != nil || len(jobs) == 0 || !jobs[0].requeue || o.Rerunnable {
		return nil
	}
	call := command.Call{Name: "scontrol", Args: []string{"update", "JobId=" + string(id), "Requeue=0"}, As: o.As}
	if got, err := c.run(ctx, call); err == nil && got.Exit == 0 {
		return nil
	}
	if err := c.Remove(ctx, o.As, id); err != nil {
		return fmt.Errorf("job %s may be requeued by Slurm although it was submitted with --no-requeue, and could not be removed: %w", id, err)
	}
	return fmt.Errorf("%w: job %s may be requeued by Slurm although it was submitted with --no-requeue: "+
		"look for a job_submit plugin that changes it", grid.ErrInvalid, id)
}

// arguments are those of sbatch.
func arguments(o external.Order) ([]string, error) {
	if err := checkOrder(o); err != nil {
		return nil, fmt.Errorf("%w: %w", grid.ErrInvalid, err)
	}
	log := strings.ReplaceAll(o.Log, "%", "%%")
	args := []string{
		"--parsable", "--job-name=" + o.Tag, "--comment=" + o.Mark, "--chdir=" + o.Work,
		"--input=/dev/null", "--output=" + log, "--error=" + log, "--open-mode=append",
		// Anything else makes slurmd log the user in to find an environment; the runner's is
		// small, and the wrapper writes that of the program.
		"--export=ALL",
		"--time=" + strconv.FormatInt(int64(max(1, (o.Limit+grid.Minute-1)/grid.Minute)), 10),
	}
	add := func(so bool, arg string) {
		if so {
			args = append(args, arg)
		}
	}
	add(o.Rerunnable, "--requeue")
	add(!o.Rerunnable, "--no-requeue")
	add(o.Held, "--hold")
	add(o.Queue != "", "--partition="+string(o.Queue))
	add(o.Account != "", "--account="+o.Account)
	add(o.Reservation != "", "--reservation="+o.Reservation)
	if len(o.Without) > 0 {
		names := make([]string, len(o.Without))
		for i, n := range o.Without {
			if names[i] = string(n); !word(names[i], "._-") {
				return nil, fmt.Errorf("%w: %.60q cannot be the name of a node", grid.ErrInvalid, n)
			}
		}
		args = append(args, "--exclude="+strings.Join(names, ","))
	}
	asked, err := demanded(o.Demand, o.Parallel)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", grid.ErrInvalid, err)
	}
	return append(args, asked...), nil
}

// checkOrder finds what sbatch would take for something else.
func checkOrder(o external.Order) error {
	for what, text := range map[string]string{
		"the tag": o.Tag, "the mark": o.Mark, "the partition": string(o.Queue),
		"the account": o.Account, "the reservation": o.Reservation,
	} {
		for _, c := range []byte(text) {
			letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
			if !letter && !strings.ContainsRune("./@#-_", rune(c)) {
				return fmt.Errorf("%s %.60q has %q: letters, digits and . / @ # - _ alone are safe", what, text, c)
			}
		}
		if len(text) > maxName {
			return fmt.Errorf("%s has %d characters: at most %d", what, len(text), maxName)
		}
	}
	for what, path := range map[string]string{"folder": o.Work, "log": o.Log} {
		switch {
		case !filepath.IsAbs(path):
			return fmt.Errorf("the %s %.100q is no absolute path", what, path)
		case strings.ContainsAny(path, "\\\n\r\x00"):
			return fmt.Errorf("the %s %.100q has a backslash or a line break, which Slurm takes for something else", what, path)
		case len(path) > 1000:
			return fmt.Errorf("the path of the %s has %d characters: at most 1000", what, len(path))
		}
	}
	switch {
	case o.Tag == "" || o.Mark == "":
		return errors.New("no tag, or no mark")
	case !bytes.HasPrefix(o.Script, []byte("#!")):
		return errors.New("the script does not begin with #!")
	case bytes.ContainsAny(o.Script, "\x00\r"):
		return errors.New("the script has a zero byte or a carriage return, which sbatch refuses")
	case o.Limit <= 0 || o.Limit > 10*unlimited:
		return fmt.Errorf("the limit of %.0f s", o.Limit.Seconds())
	}
	return nil
}
