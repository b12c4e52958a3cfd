package torque

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gbroker/grid"
	"gbroker/pbs/command"
	"gbroker/plan"
)

func saneIf(ok bool, v any) error {
	if !ok {
		return fmt.Errorf("it was read as %+v", v)
	}
	return nil
}

func commandOf(r recording) command.Call {
	words := strings.Fields(r.command)
	return command.Call{Name: words[0], Args: words[1:]}
}

func saneNodes(list []plan.Node) error {
	for _, n := range list {
		first := n.Memory == 24684092<<10 && slices.Equal(n.Properties, []string{"compute"})
		second := n.Memory == 24684084<<10 && (n.Properties == nil || n.Name == "node02" && slices.Equal(n.Properties, []string{"fast"}))
		if n.Cores != 4 || !first && !second {
			return fmt.Errorf("a node was read as %+v", n)
		}
	}
	return saneIf(len(list) > 0, list)
}

func saneSizes(list []size) error {
	for _, s := range list {
		if s.nodes < 1 || s.nodes > 2 || s.cores < 1 || s.cores > 8 {
			return fmt.Errorf("a reservation was read as %+v", s)
		}
	}
	return nil
}

// heldThen reads showres -n by the clock of its own head.
func heldThen(r recording) error {
	words := strings.Fields(strings.SplitN(string(r.stdout), "\n", 2)[0])
	at, right, err := date(words[2:], 2026)
	if err != nil || !right {
		return fmt.Errorf("the head %v: %w", words, err)
	}
	return mauiParses(parseHeld(at), func(list []held) error {
		for _, h := range list {
			if h.start < at-grid.Hour || h.end > at+3*grid.Day || h.end-h.start < grid.Minute || !strings.HasPrefix(string(h.node), "node0") {
				return fmt.Errorf("a reservation was read as %+v", h)
			}
		}
		return nil
	})(r)
}

// mauiParses is parses for a command of Maui.
func mauiParses[T any](parse func(call string, text []byte) (T, error), sane func(T) error) func(recording) error {
	ok := parses(parse, sane)
	return func(r recording) error {
		if r.exit == 0 {
			return ok(r)
		}
		err := NewMaui(Config{}).unwilling(commandOf(r), r.result())
		down := strings.Contains(string(r.stderr), "cannot request service")
		if errors.Is(err, grid.ErrUnavailable) != down || errors.Is(err, grid.ErrInvalid) == down {
			return fmt.Errorf("it is of the wrong kind: %w", err)
		}
		return nil
	}
}

// checkJobs reads what qstat -x prints by Look where it names jobs.
func checkJobs(r recording) error {
	var ids []grid.LocalID
	for _, a := range commandOf(r).Args {
		if a = strings.Trim(a, "'"); !strings.HasPrefix(a, "-") {
			ids = append(ids, grid.LocalID(strings.TrimSuffix(a, ".pbs1")+".pbs1"))
		}
	}
	if len(ids) == 0 {
		return parses(parseJobs, saneJobs)(r)
	}
	list, err := looked(commandOf(r), r.result(), ids)
	missing := strings.Count(string(r.stderr), "Unknown Job Id Error")
	switch {
	case r.exit == 159: // another user's, where query_other_jobs is False
		return saneIf(errors.Is(err, grid.ErrUnavailable) && strings.Contains(err.Error(), "query_other_jobs"), err)
	case r.exit != 0 && r.exit != 153:
		return saneIf(errors.Is(err, grid.ErrUnavailable), err)
	case err != nil:
		return err
	case len(list.jobs) != len(ids)-missing:
		return fmt.Errorf("%d jobs of %d asked for, %d missing", len(list.jobs), len(ids), missing)
	}
	return saneJobs(list)
}

func checkReleased(r recording) error {
	_, err := parseReleased(commandOf(r).Args[0])(r.command, r.stdout)
	return err
}

func checkSubmitted(r recording) error {
	if r.exit == 0 {
		id := strings.TrimSuffix(string(r.stdout), "\n")
		if strings.Contains(r.command, "--version") || strings.Contains(r.command, " -z ") {
			return saneIf(checkID(id) != nil, id)
		}
		return checkID(id)
	}
	err := unsubmitted(commandOf(r), r.result())
	down := r.exit == 111 || r.exit == 33 || r.exit == 162
	if errors.Is(err, grid.ErrUnavailable) != down || errors.Is(err, grid.ErrInvalid) == down {
		return fmt.Errorf("it is of the wrong kind: %w", err)
	}
	return nil
}

// checkActed tells by what the exit code of the command means whether it is right.
func checkActed(r recording) error {
	if r.exit == 0 {
		return nil
	}
	err := refused(commandOf(r), r.result())
	transient := map[int]bool{33: true, 111: true, 170: true, 224: true, 70: true, 1: true}[r.exit]
	return saneIf(errors.Is(err, grid.ErrUnavailable) == transient && errors.Is(err, grid.ErrInvalid) != transient, err)
}
