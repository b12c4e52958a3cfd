package replay

import (
	"cmp"
	"io"
	"slices"
)

// Unknown is a number that the log does not say.
const Unknown = -1

// Job is a job of a log. Times are in seconds.
type Job struct {
	ID               int64
	Submit           int64
	Run              int64
	Limit            int64 // the requested time; at least Run, and 1
	Procs            int32
	User, Group, App int32 // or Unknown
	Partition        int32 // or Unknown
}

// Log is a log that can be replayed.
type Log struct {
	Procs int32 // of the machine
	Jobs  []Job // by submit time and identifier
}

// Options say how a log is read.
type Options struct {
	Procs     int32 // of the machine; 0 is as the log's header says
	Partition int64 // of which the jobs are taken; Unknown is all
	Normalise bool
	Limits    bool // requested times are needed
}

// Changes counts what normalising did to a log.
type Changes struct {
	Read         int `json:"read"`
	NoProcessors int `json:"no_processors"` // dropped
	TooLarge     int `json:"too_large"`     // dropped
	NoRunTime    int `json:"no_run_time"`   // dropped
	NoEstimate   int `json:"no_estimate"`   // kept: the run time is taken
	Cut          int `json:"cut"`           // kept: the run time is cut to the requested time
}

// Dropped is the number of jobs that were dropped.
func (c Changes) Dropped() int { return c.NoProcessors + c.TooLarge + c.NoRunTime }

// NoSize is the error for a log that does not say how large its machine is.
var NoSize error = &LogError{Reason: "the log does not say how many processors the machine has (no MaxProcs in its header)"}

// reader collects the jobs of a log.
type reader struct {
	Options
	scanner *scanner
	jobs    []Job
	lines   []int32 // of jobs
	changes Changes
	last    int64 // submit time
	sum     int64 // of limits
}

// Read reads a log. What is wrong with the log itself is a *LogError.
func Read(in io.Reader, o Options) (*Log, Changes, error) {
	s, err := newScanner(in)
	if err != nil {
		return nil, Changes{}, err
	}
	r := &reader{Options: o, scanner: s}
	var rec record
	for {
		err := s.next(&rec)
		if err == io.EOF {
			break
		}
		if err == nil {
			err = r.add(&rec)
		}
		if err != nil {
			return nil, r.changes, err
		}
	}
	log, err := r.finish()
	return log, r.changes, err
}

// add takes a job of the log, or drops it.
func (r *reader) add(rec *record) error {
	if r.Partition != Unknown && rec[fieldPartition] != r.Partition {
		return nil
	}
	line := r.scanner.line
	r.changes.Read++
	if len(r.jobs) == mostJobs {
		return bad(line, "more than %d jobs", mostJobs)
	}
	procs := rec[fieldProcs]
	if procs <= 0 {
		procs = rec[fieldReqProcs]
	}
	j := Job{
		ID: rec[fieldID], Submit: rec[fieldSubmit], Run: rec[fieldRun], Limit: rec[fieldReqTime],
		Procs: int32(min(procs, MostProcs+1)), User: small(rec[fieldUser]), Group: small(rec[fieldGroup]), App: small(rec[fieldApp]),
		Partition: small(rec[fieldPartition]),
	}
	if procs > MostProcs && !r.Normalise {
		return bad(line, "the job has %d processors, and a machine at most %d", procs, MostProcs)
	}
	if j.Submit == Unknown {
		return bad(line, "the submit time is unknown")
	}
	kept, err := r.check(line, &j)
	if err != nil || !kept {
		return err
	}
	r.last = max(r.last, j.Submit)
	if r.sum += j.Limit; r.sum+r.last > longestSum {
		return bad(line, "the run times up to here add up to more than %d s", int64(longestSum))
	}
	r.jobs = append(r.jobs, j)
	r.lines = append(r.lines, int32(min(line, 1<<31-1)))
	return nil
}

// size is that of the machine, as far as it is known; else 0.
func (r *reader) size() int32 {
	if r.Procs > 0 {
		return r.Procs
	}
	return int32(r.scanner.maxProcs)
}

// small is a number that only tells things apart.
func small(v int64) int32 { return int32(v&(1<<31-1)) | int32(v>>63) }

// check makes the numbers of a job such that it can run; with Normalise it says
// whether the job is kept.
func (r *reader) check(line int, j *Job) (kept bool, err error) {
	if r.Normalise {
		return r.normalise(j), nil
	}
	switch {
	case j.ID == Unknown:
		return false, bad(line, "the job number is unknown")
	case j.Procs <= 0:
		return false, bad(line, "the number of processors is unknown (normalising drops such a job)")
	case j.Run == Unknown:
		return false, bad(line, "the run time is unknown (normalising drops such a job)")
	case r.Limits && j.Limit <= 0:
		return false, bad(line, "the requested time is unknown, and is needed (normalising takes the run time)")
	case r.Limits && j.Run > j.Limit:
		return false, bad(line, "the run time of %d s is beyond the requested time of %d s (normalising cuts it)", j.Run, j.Limit)
	}
	j.Limit = max(j.Limit, j.Run, 1)
	return true, nil
}

// normalise tells whether a job is kept.
func (r *reader) normalise(j *Job) bool {
	switch {
	case j.Procs <= 0:
		r.changes.NoProcessors++
		return false
	case r.size() > 0 && j.Procs > r.size():
		r.changes.TooLarge++
		return false
	case j.Run <= 0:
		r.changes.NoRunTime++
		return false
	case j.Limit <= 0:
		r.changes.NoEstimate++
		j.Limit = j.Run
	case j.Run > j.Limit:
		r.changes.Cut++
		j.Run = j.Limit
	}
	return true
}

// finish does what needs the whole log.
func (r *reader) finish() (*Log, error) {
	log := &Log{Procs: r.size(), Jobs: r.jobs}
	if r.changes.Read == 0 {
		return nil, r.noJobs()
	}
	if log.Procs == 0 {
		return nil, NoSize
	}
	if err := r.fit(log); err != nil {
		return nil, err
	}
	if len(log.Jobs) == 0 {
		return nil, bad(0, "none of the %d jobs can run: %d are without processors, %d too large for %d processors, %d without run time",
			r.changes.Read, r.changes.NoProcessors, r.changes.TooLarge, log.Procs, r.changes.NoRunTime)
	}
	if r.Normalise {
		slices.SortStableFunc(log.Jobs, func(a, b Job) int { return cmp.Compare(a.Submit, b.Submit) })
		first := log.Jobs[0].Submit
		for i := range log.Jobs {
			log.Jobs[i].ID = int64(i + 1)
			log.Jobs[i].Submit -= first
		}
		return log, nil
	}
	if err := r.unique(); err != nil {
		return nil, err
	}
	slices.SortFunc(log.Jobs, func(a, b Job) int { return cmp.Or(cmp.Compare(a.Submit, b.Submit), cmp.Compare(a.ID, b.ID)) })
	return log, nil
}

func (r *reader) noJobs() error {
	if r.Partition != Unknown {
		return bad(0, "the log has no jobs of partition %d", r.Partition)
	}
	return bad(0, "the log has no jobs")
}

// fit looks for jobs that the machine can not hold.
func (r *reader) fit(log *Log) error {
	for i, j := range log.Jobs {
		if j.Procs > log.Procs && !r.Normalise {
			return bad(int(r.lines[i]), "the job has %d processors, and the machine %d (normalising drops such a job)", j.Procs, log.Procs)
		}
	}
	all := len(log.Jobs)
	log.Jobs = slices.DeleteFunc(log.Jobs, func(j Job) bool { return j.Procs > log.Procs })
	r.changes.TooLarge += all - len(log.Jobs)
	return nil
}

// unique looks for job numbers that occur twice. Most logs are sorted by them.
func (r *reader) unique() error {
	i := 1
	for i < len(r.jobs) && r.jobs[i-1].ID < r.jobs[i].ID {
		i++
	}
	if i >= len(r.jobs) {
		return nil
	}
	seen := make(map[int64]int32, len(r.jobs))
	for i, j := range r.jobs {
		if first, ok := seen[j.ID]; ok {
			return bad(int(r.lines[i]), "job number %d was on line %d too", j.ID, first)
		}
		seen[j.ID] = r.lines[i]
	}
	return nil
}
