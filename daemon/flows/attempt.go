package flows

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"gbroker/api"
	"gbroker/flow/enact"
	"gbroker/grid"
	"gbroker/stage"
)

// outcome is what came of a task that was handed in.
type outcome struct {
	task   int
	digest string
	record grid.Record
	reused bool
	err    error // why it has not ended well
}

// input is a file that a task brings: of the workflow, or what another task left.
type input struct {
	file grid.File  // by its path in the sandbox
	from string     // its name
	job  grid.JobID // that left it; "" is of the workflow
	left grid.File  // as that job left it
	ran  grid.PeerID
	is   string // its contents
}

// attempt hands a task in, if it was not, and waits for its end. What the broker cannot do now is tried again.
func (f *flow) attempt(ctx context.Context, i int) outcome {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 30*time.Second) {
		o := f.once(ctx, i)
		o.task = i
		refused := f.cancelled() && errors.Is(o.err, grid.ErrNotYet) // there is no job of it
		if refused || passing(o.err) == nil || ctx.Err() != nil {
			return o
		}
		f.note(i, o.err)
		f.keeper.config.Log.Info("a task of a workflow cannot go on now", "workflow", f.spec.ID, "task", f.parts[i].Name, "error", o.err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return o
		}
	}
}

func (f *flow) cancelled() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rec.Cancelled
}

// note tells those who ask why a task does not go on.
func (f *flow) note(i int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if t := &f.rec.Tasks[i]; !t.Over() {
		t.Reason = err.Error()
	}
}

func (f *flow) once(ctx context.Context, i int) (o outcome) {
	f.mu.Lock()
	id := grid.JobID("")
	if t := &f.rec.Tasks[i]; t.State == api.FlowGiven {
		id, o.digest = t.Job, t.Digest
	}
	f.mu.Unlock()
	if id == "" {
		inputs, err := f.inputs(ctx, i)
		if err != nil {
			o.err = err
			return o
		}
		digests := f.digests(i, inputs)
		for _, o.digest = range digests {
			if r, has, err := f.remembered(ctx, i, o.digest); has || err != nil {
				o.record, o.reused, o.err = r, has, err
				return o
			}
		}
		if id, o.digest, o.err = f.handIn(ctx, i, digests, inputs); o.err != nil {
			return o
		}
	}
	o.record, o.err = f.end(ctx, id)
	if o.err == nil {
		o.err = f.judge(i, &o.record)
	}
	return o
}

// inputs are the files of a task as they are now.
func (f *flow) inputs(ctx context.Context, i int) (list []input, err error) {
	for _, u := range f.parts[i].Uploads {
		in := input{file: grid.File{Path: u.Path, Size: u.Size, Mode: u.Mode}, from: u.From}
		if k, made := f.parts[i].Maker[u.From]; made {
			f.mu.Lock()
			in.job = f.rec.Tasks[k].Job
			f.mu.Unlock()
			r, err := f.keeper.config.Jobs.Job(ctx, f.who(), in.job)
			if err != nil {
				return nil, fmt.Errorf("what task %s left: %w", f.parts[k].Name, err)
			}
			n := slices.IndexFunc(r.Outputs, func(o grid.File) bool { return o.Path == u.From })
			if n < 0 {
				return nil, fmt.Errorf("%w: task %s has not left %s", grid.ErrInvalid, f.parts[k].Name, u.From)
			}
			in.left, in.ran = r.Outputs[n], r.Owner
			in.file.Size, in.file.Mode, in.is = in.left.Size, in.left.Mode, contents(&in.left)
		} else {
			if in.is = f.hash(u.From); f.spec.Came.is(u.From) {
				in.file.Size = f.spec.Came.Size
			}
		}
		list = append(list, in)
	}
	return list, nil
}

// digests are those of the configurations of a task with its inputs.
func (f *flow) digests(i int, inputs []input) (list []string) {
	var words []string
	for _, in := range inputs {
		words = append(words, fmt.Sprintf("%q %o %s", in.file.Path, in.file.Mode, in.is))
	}
	slices.Sort(words)
	for _, way := range f.parts[i].Ways {
		list = append(list, digestOf(way.Document, words))
	}
	return list
}

// remembered is a job that has done the same with the same, if all that it left for others is there yet. What cannot be
// known now is an error, and asked again.
func (f *flow) remembered(ctx context.Context, i int, digest string) (r grid.Record, has bool, err error) {
	f.mu.Lock()
	id := f.rec.Memo[digest]
	given := f.rec.Tasks[i].State == api.FlowGiven
	f.mu.Unlock()
	if id == "" || given {
		return r, false, nil
	}
	r, err = f.keeper.config.Jobs.Job(ctx, f.who(), id)
	if err != nil || f.judge(i, &r) != nil {
		return grid.Record{}, false, passing(err)
	}
	for _, file := range r.Outputs {
		if same, err := f.readable(ctx, id, &file); !same {
			return grid.Record{}, false, err
		}
	}
	return r, true, nil
}

// passing is an error that may pass, else nil.
func passing(err error) error {
	if errors.Is(err, grid.ErrUnavailable) || errors.Is(err, grid.ErrNotYet) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// readable tells that an output has the contents that it had.
func (f *flow) readable(ctx context.Context, id grid.JobID, file *grid.File) (bool, error) {
	body, err := f.keeper.config.Jobs.Output(ctx, f.who(), id, file.Path)
	if err != nil {
		return false, passing(err)
	}
	defer body.Close()
	ranges, n, err := stage.Hash(body)
	return err == nil && n == file.Size && slices.Equal(ranges, file.Ranges), passing(err)
}

// begin notes, on disk, that a task is being handed in: from then on it ends only with its job, whose key is that of the attempt,
// so that a cancel or a kill between this and the job's identifier loses no job.
func (f *flow) begin(i int, digests []string) (t enact.Task, key string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, before := f.enacted(), f.rec.Tasks[i]
	t, changed, err := r.Begin(i, digests[f.wayOf(i)], f.keeper.config.Now())
	if err == nil && changed {
		if err = f.save(); err != nil {
			f.rec.Tasks[i] = before
			err = fmt.Errorf("%w: noting that task %s is handed in: %w", grid.ErrUnavailable, f.parts[i].Name, err)
		}
	}
	return t, r.Key(f.key(), f.rec.Run, i, t.Attempt), err
}

// handIn hands a task in under the key of its attempt, with its files.
func (f *flow) handIn(ctx context.Context, i int, digests []string, inputs []input) (id grid.JobID, digest string, err error) {
	begun, key, err := f.begin(i, digests)
	if err != nil {
		return "", "", err
	}
	prefer := begun.Prefer
	jobs, who := f.keeper.config.Jobs, f.who()
	j := f.parts[i].Ways[min(max(begun.Way, 0), len(f.parts[i].Ways)-1)].Job
	j.Inputs = nil
	for _, in := range inputs {
		j.Inputs = append(j.Inputs, in.file)
	}
	if len(j.Sites.Only)+len(j.Sites.Prefer) == 0 && prefer != "" && !slices.Contains(j.Sites.Not, grid.SiteName(prefer)) {
		j.Sites.Prefer = []grid.SiteName{grid.SiteName(prefer)}
	}
	j.Sharing = grid.Sharing{Keep: f.shares(i), Grants: f.grants(inputs)}
	given := api.NewJob{Key: key, Job: j, QueueAnyway: f.spec.Submission.QueueAnyway}
	if begun.Attempt == 1 {
		given.Reserved = begun.Reservation
	}
	r, _, err := jobs.Submit(ctx, who, given)
	if never := new(api.Impossible); errors.As(err, &never) {
		err = fmt.Errorf("%w: no site that is known here now could ever run it: %s; 'gclient flow resume' goes on when one can, or with an edited file", grid.ErrInvalid, never.Why)
	}
	if err != nil {
		return "", begun.Digest, fmt.Errorf("handing in task %s: %w", f.parts[i].Name, err)
	}
	id = r.Job.ID
	if r.State == grid.StageIn {
		for _, in := range inputs {
			if err := f.send(ctx, id, &in); err != nil {
				return "", begun.Digest, fmt.Errorf("giving %s to task %s: %w", in.from, f.parts[i].Name, err)
			}
		}
		if _, err := jobs.Uploaded(ctx, who, id); err != nil {
			return "", begun.Digest, fmt.Errorf("giving its files to task %s: %w", f.parts[i].Name, err)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rec.Tasks[i].Job, f.rec.Tasks[i].Reason = id, ""
	f.keep()
	if f.rec.Cancelled {
		f.stir()
	}
	return id, begun.Digest, nil
}

// send gives a job one of its files.
func (f *flow) send(ctx context.Context, id grid.JobID, in *input) error {
	body, err := f.open(ctx, in)
	if err != nil {
		return err
	}
	defer body.Close()
	return f.keeper.config.Jobs.Upload(ctx, f.who(), id, in.file.Path, 0, body)
}

func (f *flow) open(ctx context.Context, in *input) (io.ReadCloser, error) {
	if in.job != "" {
		return f.keeper.config.Jobs.Output(ctx, f.who(), in.job, in.from)
	}
	file, err := os.OpenInRoot(f.inputsFolder(in.from), filepath.FromSlash(in.from))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: the file %s of the workflow is gone", grid.ErrInvalid, in.from)
	}
	return file, err
}

// end waits until a job has ended.
func (f *flow) end(ctx context.Context, id grid.JobID) (grid.Record, error) {
	jobs, who := f.keeper.config.Jobs, f.who()
	r, err := jobs.Job(ctx, who, id)
	for err == nil && !r.State.Terminal() {
		f.saw(id, &r)
		r, err = jobs.Wait(ctx, who, id, r.State)
		if err == nil && ctx.Err() != nil {
			err = ctx.Err()
		}
	}
	return r, err
}

// saw notes where a job is, for those who ask.
func (f *flow) saw(id grid.JobID, r *grid.Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.rec.Tasks {
		if t := &f.rec.Tasks[i]; t.Job == id && t.State == api.FlowGiven {
			t.Site, t.Started = f.keeper.config.Jobs.SiteName(r.Owner), r.Started
		}
	}
}

// judge says why a job has not ended well.
func (f *flow) judge(i int, r *grid.Record) error {
	switch {
	case r.State != grid.Completed:
		return fmt.Errorf("job %s is %s: %s", r.Job.ID, r.State, r.Reason)
	case r.Signal != 0:
		return fmt.Errorf("job %s was ended by signal %d", r.Job.ID, r.Signal)
	case r.ExitCode != 0:
		return fmt.Errorf("job %s ended with status %d", r.Job.ID, r.ExitCode)
	}
	for _, o := range f.parts[i].Job.Outputs {
		left := slices.ContainsFunc(r.Outputs, func(x grid.File) bool { return x.Path == o.Target })
		if o.Target != "" && o.Required && !left {
			return fmt.Errorf("job %s has not left %s", r.Job.ID, o.Target)
		}
	}
	return nil
}
