package faults

import "strings"

// Shrink looks for a smaller history with a violation of the same property: fewer
// brokers, fewer jobs, fewer kinds of faults and fewer faults. It tries until more says
// no; what it returns always violates the property, as o has to.
func Shrink(o Options, property string, more func() bool) Options {
	o.Trace = nil
	bad := func(try Options) bool {
		v := Run(try).Violation
		return v != nil && v.Property == property
	}
	for n := 2; n < o.Brokers && more(); n++ {
		if try := o; bad(with(&try, func() { try.Brokers = n })) {
			o = try
		}
	}
	for again := true; again && more(); {
		again = fewerJobs(&o, bad, more)
		again = fewerKinds(&o, bad, more) || again
		again = fewerFaults(&o, bad, more) || again
	}
	return o
}

func with(o *Options, change func()) Options {
	change()
	return *o
}

// fewerJobs leaves jobs out: halves, then quarters, down to single ones.
func fewerJobs(o *Options, bad func(Options) bool, more func() bool) bool {
	list := make([]int, 0, o.Jobs)
	for n := range o.Jobs + wides {
		if o.Keep == nil || o.Keep[n] {
			list = append(list, n)
		}
	}
	fewer := false
	for size := (len(list) + 1) / 2; size > 0; size /= 2 {
		for at := 0; at < len(list) && more(); {
			rest := append(append([]int(nil), list[:at]...), list[min(at+size, len(list)):]...)
			try := *o
			try.Keep = map[int]bool{}
			for _, n := range rest {
				try.Keep[n] = true
			}
			if bad(try) {
				*o, list, fewer = try, rest, true
			} else {
				at += size
			}
		}
	}
	return fewer
}

// fewerKinds leaves kinds of faults out.
func fewerKinds(o *Options, bad func(Options) bool, more func() bool) bool {
	fewer := false
	for k := range kinds {
		if o.Without[k] || o.Profile.rates[k] == 0 || !more() {
			continue
		}
		try := *o
		try.Without[k] = true
		if bad(try) {
			*o, fewer = try, true
		}
	}
	return fewer
}

// fewerFaults leaves out the faults that come last.
func fewerFaults(o *Options, bad func(Options) bool, more func() bool) bool {
	r := Run(*o)
	least, most := 0, r.struck // most faults are enough
	for least < most && more() {
		try := *o
		try.Most = (least + most) / 2
		if try.Most > 0 && bad(try) {
			most = try.Most
		} else {
			least = try.Most + 1
		}
	}
	if most == 0 || most == r.struck {
		return false
	}
	try := *o
	if try.Most = most; !bad(try) { // fewer faults need not be enough just because some are
		return false
	}
	*o = try
	return true
}

// Size says how large a history is, for people.
func (o Options) Size() (brokers, jobs int) {
	if o.Keep != nil {
		return o.Brokers, len(o.Keep)
	}
	return o.Brokers, o.Jobs
}

// longest bounds the lines of a transcript.
const longest = 150

// Transcript is the story of a history's violation: what its job met, and what befell
// the sites; only the last lines if it is long.
func Transcript(o Options) []string {
	var lines []string
	o.Trace = func(l string) { lines = append(lines, l) }
	v := Run(o).Violation
	if v == nil {
		return nil
	}
	story := lines[:0]
	for _, l := range lines {
		if len(lines) <= longest || v.Job == "" || strings.Contains(l, string(v.Job)) || befalls(l) {
			story = append(story, l)
		}
	}
	return story[max(0, len(story)-longest):]
}

// befalls tells that a line is about a site, not about a job.
func befalls(line string) bool {
	for _, word := range []string{"CRASH", "starts", "stopped", "goes on", "partition", "gone", " is over", "a save fails", "clock is set", "the faults are over"} {
		if strings.Contains(line, word) {
			return true
		}
	}
	return false
}
