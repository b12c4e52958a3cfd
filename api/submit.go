package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"gbroker/grid"
	"gbroker/jsdl"
)

func (s *Server) submit(r *request) error {
	var sub Submission
	if err := s.decode(r, MaxSubmission, func(d *json.Decoder) error { return readSubmission(d, &sub) }); err != nil {
		return err
	}
	if err := sub.check(); err != nil {
		return err
	}
	n, uploads, err := s.newJob(&sub)
	if err != nil {
		return err
	}
	answer := Accepted{Wanted: make([]File, 0, len(uploads))}
	for _, u := range uploads {
		answer.Wanted = append(answer.Wanted, File(u))
	}
	record, again, err := s.service.Submit(r.Context(), r.who, n)
	if err != nil {
		return err
	}
	answer.Status, answer.Again = newStatus(&record, s.service.SiteName), again
	answer.Warnings = s.service.Warnings(&n.Job)
	code := http.StatusCreated
	if again {
		code = http.StatusOK
	}
	r.w.Header().Set("Location", "/v1/jobs/"+string(record.Job.ID))
	s.answer(r.w, code, answer)
	return nil
}

// newJob is the job of a submission, and what it brings.
func (s *Server) newJob(sub *Submission) (NewJob, []jsdl.Upload, error) {
	job, uploads, err := s.readDocument(sub)
	if err != nil {
		return NewJob{}, nil, err
	}
	if uploads, err = include(uploads, sub.Include, job.Outputs); err != nil {
		return NewJob{}, nil, err
	}
	for _, u := range uploads {
		job.Inputs = append(job.Inputs, grid.File{Path: u.Path, Size: u.Size, Mode: u.Mode})
	}
	if sub.Reservation != "" {
		if err := grid.CheckReservationID(string(sub.Reservation)); err != nil {
			return NewJob{}, nil, fmt.Errorf("%w: reservation: %w", grid.ErrInvalid, err)
		}
		job.Reservation = sub.Reservation
	}
	return NewJob{Key: sub.Key, Job: job, Guaranteed: sub.Guaranteed, QueueAnyway: sub.QueueAnyway, Credentials: []byte(sub.Credentials)}, uploads, nil
}

// include adds files that the document does not name.
func include(uploads []jsdl.Upload, more []File, outputs []grid.Output) ([]jsdl.Upload, error) {
	taken := make(map[string]string, len(uploads)+len(outputs))
	for _, o := range outputs {
		if strings.HasPrefix(o.Target, grid.ElsewhereDir+"/") {
			return nil, fmt.Errorf("no Target may lie in %s, where the files are that go elsewhere: %w", grid.ElsewhereDir, grid.ErrInvalid)
		}
		taken[o.Path] = "the job leaves a file of that name"
	}
	for _, u := range uploads {
		taken[u.Path] = "the document brings a file of that name"
	}
	for _, f := range more {
		if why, is := taken[f.Path]; is {
			return nil, fmt.Errorf("the file %q cannot be included: %s: %w", f.Path, why, grid.ErrInvalid)
		}
		taken[f.Path] = "it is included twice"
		uploads = append(uploads, jsdl.Upload{Path: f.Path, Size: f.Size, Mode: f.Mode})
	}
	return uploads, nil
}

// readDocument makes the job of a submission.
func (s *Server) readDocument(sub *Submission) (grid.Job, []jsdl.Upload, error) {
	return jobOf(sub.Name, []byte(sub.Document), besideOf(sub.Files), sub.Rerunnable, s.config.DefaultWalltime, modes(sub.Lenient)...)
}

// besideOf is what stands beside the document as its submitter declares it: the same rules decide
// on both sides.
func besideOf(files []File) jsdl.Beside {
	declared := make(map[string]File, len(files))
	for _, f := range files {
		declared[f.Path] = f
	}
	return func(path string) (int64, uint32, error) {
		if f, ok := declared[path]; ok {
			return f.Size, f.Mode, nil
		}
		return 0, 0, grid.ErrNotFound
	}
}

func modes(lenient bool) []jsdl.Mode {
	if lenient {
		return []jsdl.Mode{jsdl.Lenient}
	}
	return nil
}

// jobOf makes the job of a document, and says what it brings.
func jobOf(name string, document []byte, beside jsdl.Beside, rerunnable bool, walltime grid.Tick, modes ...jsdl.Mode) (grid.Job, []jsdl.Upload, error) {
	doc, err := jsdl.Parse(name, document, modes...)
	if err != nil {
		return grid.Job{}, nil, err
	}
	uploads, outputs, err := doc.Resolve(beside)
	if err != nil {
		return grid.Job{}, nil, err
	}
	job := doc.Job
	job.Outputs = outputs
	job.Rerunnable = job.Rerunnable || rerunnable
	if job.Walltime == 0 {
		job.Walltime, job.WalltimeDefaulted = walltime, true
	}
	return job, uploads, nil
}

func (s *Server) upload(r *request) error {
	id, path, err := r.file()
	if err != nil {
		return err
	}
	offset, err := contentOffset(r.Header.Get("Content-Range"))
	if err != nil {
		return err
	}
	body := &movingReader{Reader: r.Body, moving: moving{set: r.rc.SetReadDeadline, d: s.limits.Stall}}
	err = s.service.Upload(r.Context(), r.who, id, path, offset, body)
	if err != nil && body.failed != nil {
		return &Fault{fmt.Sprintf("file %q did not come whole: %v", path, body.failed), "unavailable", http.StatusRequestTimeout}
	}
	if err != nil {
		return err
	}
	r.w.WriteHeader(http.StatusNoContent)
	return nil
}

// contentOffset is where the body of an upload begins in its file.
func contentOffset(field string) (int64, error) {
	if field == "" {
		return 0, nil
	}
	begin, _, _ := strings.Cut(strings.TrimPrefix(field, "bytes "), "-")
	n, err := strconv.ParseInt(begin, 10, 64)
	if err != nil || n < 0 || !strings.HasPrefix(field, "bytes ") {
		return 0, fmt.Errorf("Content-Range %.80q is no bytes FROM-TO/SIZE: %w", field, grid.ErrInvalid)
	}
	return n, nil
}

// begun tells how far an upload that broke has come.
func (s *Server) begun(r *request) error {
	id, path, err := r.file()
	if err != nil {
		return err
	}
	n, err := s.service.Begun(r.Context(), r.who, id, path)
	if err != nil {
		return err
	}
	r.w.Header().Set("Upload-Offset", strconv.FormatInt(n, 10))
	r.w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) uploaded(r *request) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	record, err := s.service.Uploaded(r.Context(), r.who, id)
	if err != nil {
		return err
	}
	s.answer(r.w, http.StatusOK, newStatus(&record, s.service.SiteName))
	return nil
}
