package torque

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gbroker/grid"
	"gbroker/pbs/command"
	"gbroker/pbs/external"
)

// noDirectives is what a line of the script would have to begin with to be read as options of qsub: none does.
const noDirectives = "#gbroker-none"

// Submit hands a job over by qsub, and reads back that it will not be run again where it must not.
func (c *Client) Submit(ctx context.Context, o external.Order) (grid.LocalID, error) {
	return c.submit(ctx, o, false)
}

func (c *Client) submit(ctx context.Context, o external.Order, maui bool) (grid.LocalID, error) {
	if o.Demand.Exclusive {
		nodes, err := query(ctx, c, parseNodes, "pbsnodes", "-x")
		if err != nil {
			return "", fmt.Errorf("submitting %.40s: %w", o.Tag, err)
		}
		o.Demand = whole(o.Demand, nodes)
	}
	call, err := qsub(o, maui)
	if err != nil {
		return "", fmt.Errorf("%w: submitting %.40s: %w", grid.ErrInvalid, o.Tag, err)
	}
	r, err := c.runner.Run(ctx, call)
	if err != nil {
		return "", err
	}
	if r.Exit != 0 {
		return "", unsubmitted(call, r)
	}
	id := strings.TrimSuffix(string(r.Stdout), "\n")
	if err := checkID(id); err != nil {
		return "", unreadable(call.String(), "", r.Stdout, err)
	}
	return grid.LocalID(id), c.readBack(ctx, grid.LocalID(id), o)
}

// unsubmitted is why qsub did not take a job. It ends with 1 for much, with words of its own.
func unsubmitted(call command.Call, r command.Result) error {
	text := said(r)
	switch {
	case strings.Contains(text, "can not be run as root"):
		return fmt.Errorf("%w: root cannot submit to TORQUE: let the daemon run under an account of its own, or map users to accounts: %s", grid.ErrInvalid, text)
	case r.Exit == 1 || r.Exit == 3:
		return fmt.Errorf("%w: %s: %s", grid.ErrInvalid, call, text)
	}
	return refused(call, r)
}

// readBack looks whether the server keeps to -r, and removes the job where it does not.
func (c *Client) readBack(ctx context.Context, id grid.LocalID, o external.Order) error {
	list, err := c.look(ctx, []grid.LocalID{id})
	if err != nil {
		return fmt.Errorf("reading job %s back: %w", id, err)
	}
	if len(list.jobs) == 0 || o.Rerunnable || !list.rerunnable[0] { // it has ended and is forgotten, or is as asked
		return nil
	}
	err = fmt.Errorf("%w: job %s was submitted by -r n, but the server would run it again after a failure: mend that, or declare the job rerunnable", grid.ErrInvalid, id)
	return errors.Join(err, c.Remove(ctx, o.As, id))
}

// qsub is the command of an order.
func qsub(o external.Order, maui bool) (command.Call, error) {
	if len(o.Script) == 0 { // TORQUE takes nothing for a job
		return command.Call{}, errors.New("the script is empty")
	}
	if o.Limit < grid.Second || o.Limit > grid.MaxWalltime*2 {
		return command.Call{}, fmt.Errorf("a walltime of %v", o.Limit.Duration())
	}
	if strings.ContainsAny(o.Log, ":,") { // HOST:PATH
		return command.Call{}, fmt.Errorf("the path %.100q has a colon or a comma, which qsub takes for more than one", o.Log)
	}
	if err := errors.Join(checkMark(o.Mark), checkWord(o.Tag)); err != nil || len(o.Tag) > nameLimit {
		return command.Call{}, errors.Join(err, fmt.Errorf("the name %.60q", o.Tag))
	}
	nodes, mem, err := asks(o.Demand)
	if err != nil {
		return command.Call{}, err
	}
	resources := "nodes=" + nodes + ",walltime=" + clock(o.Limit)
	if mem != "" {
		resources += ",mem=" + mem
	}
	again := map[bool]string{true: "y", false: "n"}[o.Rerunnable]
	args := []string{"-N", o.Tag, "-l", resources, "-r", again, "-d", o.Work, "-j", "oe", "-o", o.Log,
		"-S", "/bin/sh", "-m", "n", "-C", noDirectives, "-v", markName + "=" + o.Mark}
	if o.Held {
		args = append(args, "-h")
	}
	more, err := choices(o, maui)
	return command.Call{Name: "qsub", Args: append(args, more...), Stdin: o.Script, As: o.As}, err
}

// choices are the options that not every job has.
func choices(o external.Order, maui bool) ([]string, error) {
	var args []string
	for _, option := range []struct{ flag, word string }{{"-q", string(o.Queue)}, {"-A", o.Account}} {
		if option.word == "" {
			continue
		}
		if err := checkWord(option.word); err != nil {
			return nil, fmt.Errorf("qsub %s: %w", option.flag, err)
		}
		args = append(args, option.flag, option.word)
	}
	if o.Reservation == "" {
		return args, nil
	}
	if !maui {
		return nil, errors.New("TORQUE without Maui has no reservations")
	}
	if err := checkWord(o.Reservation); err != nil {
		return nil, fmt.Errorf("the reservation: %w", err)
	}
	// qsub -l advres= is taken and ignored.
	return append(args, "-W", "x=FLAGS:ADVRES:"+o.Reservation), nil
}
