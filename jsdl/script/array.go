package script

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gbroker/grid"
)

// Array is an array of jobs: one for each index.
type Array struct {
	Indexes  []int // ascending, none twice
	Step     int   // where they are one range, its step; else 1
	Throttle int   // how many may run at once; 0 is any number
}

// maxIndex bounds an index, and maxArray how many there may be.
const (
	maxIndex = 1 << 30
	maxArray = 100000
)

// slurmArray reads 0-15:4, 1,3,5-7 and any of these with %THROTTLE, as TORQUE's -t has it too.
func slurmArray(s string) (*Array, error) {
	list, throttle, limited := strings.Cut(s, "%")
	a := &Array{Step: 1}
	if limited {
		n, err := count(throttle, 1, maxIndex)
		if err != nil {
			return nil, fmt.Errorf("the number of jobs at once: %w", err)
		}
		a.Throttle = int(n)
	}
	seen := map[int]bool{}
	parts := strings.Split(list, ",")
	for _, part := range parts {
		from, to, step, err := indexes(part)
		if err != nil {
			return nil, err
		}
		if (to-from)/step+1+len(a.Indexes) > maxArray {
			return nil, fmt.Errorf("%s has more than %d indexes", short(s), maxArray)
		}
		if len(parts) == 1 {
			a.Step = step
		}
		for i := from; i <= to; i += step {
			if !seen[i] {
				a.Indexes = append(a.Indexes, i)
			}
			seen[i] = true
		}
	}
	slices.Sort(a.Indexes)
	return a, nil
}

// indexes reads 5, 1-7 and 1-7:2.
func indexes(s string) (from, to, step int, err error) {
	span, by, stepped := strings.Cut(s, ":")
	low, high, ranged := strings.Cut(span, "-")
	a, err := count(low, 0, maxIndex)
	b, c := a, int64(1)
	if err == nil && ranged {
		b, err = count(high, 0, maxIndex)
	}
	if err == nil && stepped {
		c, err = count(by, 1, maxIndex)
	}
	if err != nil || stepped && !ranged {
		return 0, 0, 0, fmt.Errorf("%s are no indexes such as 0-15, 1,3,5-7 or 1-7:2", short(s))
	}
	if b < a {
		return 0, 0, 0, fmt.Errorf("the range %s ends before it begins", short(s))
	}
	return int(a), int(b), int(c), nil
}

// pbsArray reads OpenPBS's X-Y[:Z][%N], in which Y is more than X.
func pbsArray(s string) (*Array, error) {
	a, err := slurmArray(s)
	if err == nil && (strings.Contains(s, ",") || !strings.Contains(s, "-")) {
		err = errors.New("OpenPBS takes one range X-Y or X-Y:STEP")
	}
	return a, err
}

// environment is what the jobs of an array find of it, but for the index itself.
func (a *Array) environment() []grid.Variable {
	first, last := a.Indexes[0], a.Indexes[len(a.Indexes)-1]
	return []grid.Variable{
		{Name: "SLURM_ARRAY_TASK_COUNT", Value: fmt.Sprint(len(a.Indexes))},
		{Name: "SLURM_ARRAY_TASK_MIN", Value: fmt.Sprint(first)},
		{Name: "SLURM_ARRAY_TASK_MAX", Value: fmt.Sprint(last)},
		{Name: "SLURM_ARRAY_TASK_STEP", Value: fmt.Sprint(a.Step)},
	}
}
