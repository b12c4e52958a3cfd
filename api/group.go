package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"gbroker/grid"
)

// NewGroup is the submission of a group.
type NewGroup struct {
	Key  string // as that of a job
	Name string
	Jobs []NewJob // without keys; all are taken, or none
	// QueueAnyway: it is taken though no known site could ever run one of its jobs.
	QueueAnyway bool
}

// GroupRecord is a group and its jobs, without those that were removed.
type GroupRecord struct {
	Group grid.Group
	Jobs  []grid.Record
}

// GroupSubmission is what POST /v1/groups takes.
type GroupSubmission struct {
	Key         string       `json:"key"`
	Name        string       `json:"name"`
	QueueAnyway bool         `json:"queue_anyway"`
	Jobs        []Submission `json:"jobs"` // without key and queue_anyway
}

// GroupStatus is how a group is.
type GroupStatus struct {
	ID              grid.GroupID   `json:"id"`
	Name            string         `json:"name"`
	User            string         `json:"user"`
	Jobs            int            `json:"jobs"`   // how many it has
	States          map[string]int `json:"states"` // how many of them are in which state; those removed are in none
	Coming          int            `json:"coming"` // how many wait for files; none begins before all are here
	Submitted       Time           `json:"submitted"`
	Ended           Time           `json:"ended"` // null until all have
	CancelRequested bool           `json:"cancel_requested"`
	Members         []Status       `json:"members,omitempty"` // not in a list of groups
}

// GroupAccepted is the answer to the submission of a group.
type GroupAccepted struct {
	GroupStatus
	Again  bool       `json:"again"`
	Wanted []WantedOf `json:"wanted"` // of the jobs that bring files
}

// WantedOf are the files of one job that are to be uploaded.
type WantedOf struct {
	Job   grid.JobID `json:"job"`
	Files []File     `json:"files"`
}

// GroupPage is the list of groups.
type GroupPage struct {
	Groups []GroupStatus `json:"groups"`
}

func newGroupStatus(g GroupRecord, name func(grid.PeerID) string, members bool) GroupStatus {
	r := &g.Group
	s := GroupStatus{
		ID: r.ID, Name: r.Name, User: r.User.Name, Jobs: r.Jobs, States: map[string]int{}, Coming: len(r.Coming),
		Submitted: Time(r.Submitted), Ended: Time(r.Ended), CancelRequested: r.CancelRequested,
	}
	for i := range g.Jobs {
		s.States[g.Jobs[i].State.String()]++
		if members {
			s.Members = append(s.Members, newStatus(&g.Jobs[i], name))
		}
	}
	return s
}

func (s *Server) submitGroup(r *request) error {
	var sub GroupSubmission
	if err := s.decode(r, MaxSubmission, func(d *json.Decoder) error { return readGroup(d, &sub) }); err != nil {
		return err
	}
	n := NewGroup{Key: sub.Key, Name: sub.Name, QueueAnyway: sub.QueueAnyway}
	wanted := make([][]File, len(sub.Jobs))
	for i := range sub.Jobs {
		one := &sub.Jobs[i]
		if one.Key != "" || one.QueueAnyway {
			return fmt.Errorf("job %d has a key or queue_anyway of its own: those are its group's: %w", i+1, grid.ErrInvalid)
		}
		one.Key = sub.Key
		if err := one.check(); err != nil {
			return fmt.Errorf("job %d (%.80q): %w", i+1, one.Name, err)
		}
		job, uploads, err := s.newJob(one)
		if err != nil {
			return err // names the file
		}
		for _, u := range uploads {
			wanted[i] = append(wanted[i], File(u))
		}
		n.Jobs = append(n.Jobs, NewJob{Job: job.Job})
	}
	made, again, err := s.service.SubmitGroup(r.Context(), r.who, n)
	if err != nil {
		return err
	}
	answer := GroupAccepted{GroupStatus: newGroupStatus(made, s.service.SiteName, true), Again: again, Wanted: []WantedOf{}}
	for i, files := range wanted {
		if len(files) > 0 {
			answer.Wanted = append(answer.Wanted, WantedOf{made.Group.ID.Job(i + 1), files})
		}
	}
	code := http.StatusCreated
	if again {
		code = http.StatusOK
	}
	r.w.Header().Set("Location", "/v1/groups/"+string(made.Group.ID))
	s.answer(r.w, code, answer)
	return nil
}

// readGroup reads the submission of a group; its jobs are counted while they come.
func readGroup(d *json.Decoder, sub *GroupSubmission) error {
	if err := open(d, '{'); err != nil {
		return err
	}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := t.(string)
		if seen[name] {
			return fmt.Errorf("the field %.40q stands there twice", name)
		}
		seen[name] = true
		switch name {
		case "key":
			err = d.Decode(&sub.Key)
		case "name":
			err = d.Decode(&sub.Name)
		case "queue_anyway":
			err = d.Decode(&sub.QueueAnyway)
		case "jobs":
			sub.Jobs, err = readJobs(d)
		default:
			err = fmt.Errorf("unknown field %.40q", name)
		}
		if err != nil {
			return err
		}
	}
	if len(sub.Jobs) == 0 {
		return errors.New("it has no jobs")
	}
	_, err := d.Token()
	return err
}

func readJobs(d *json.Decoder) ([]Submission, error) {
	if err := open(d, '['); err != nil {
		return nil, err
	}
	var jobs []Submission
	for d.More() {
		if len(jobs) == grid.MaxGroup {
			return nil, fmt.Errorf("a group has at most %d jobs: hand them in as several groups: %w", grid.MaxGroup, grid.ErrInvalid)
		}
		var one Submission
		if err := readSubmission(d, &one); err != nil {
			return nil, err
		}
		jobs = append(jobs, one)
	}
	_, err := d.Token()
	return jobs, err
}

// group is the group that the path names.
func (r *request) group() (grid.GroupID, error) {
	id, err := grid.ParseGroupID(r.PathValue("id"))
	if err != nil {
		return "", fmt.Errorf("%w: %w", err, grid.ErrInvalid)
	}
	return id, nil
}

// onGroup answers with what do finds of the group that the path names.
func (s *Server) onGroup(do func(*request, grid.GroupID) (GroupRecord, error)) func(*request) error {
	return func(r *request) error {
		id, err := r.group()
		if err != nil {
			return err
		}
		g, err := do(r, id)
		if err != nil {
			return err
		}
		s.answer(r.w, http.StatusOK, newGroupStatus(g, s.service.SiteName, true))
		return nil
	}
}

func (s *Server) groupStatus(r *request, id grid.GroupID) (GroupRecord, error) {
	return s.service.Group(r.Context(), r.who, id)
}

func (s *Server) waitGroup(r *request, id grid.GroupID) (g GroupRecord, err error) {
	err = s.patiently(r, s.limits.LongPoll, func(ctx context.Context) error {
		g, err = s.service.WaitGroup(ctx, r.who, id)
		return err
	})
	return g, err
}

func (s *Server) cancelGroup(r *request, id grid.GroupID) (GroupRecord, error) {
	return s.service.CancelGroup(r.Context(), r.who, id)
}

func (s *Server) removeGroup(r *request) error {
	id, err := r.group()
	if err != nil {
		return err
	}
	if err := s.service.RemoveGroup(r.Context(), r.who, id); err != nil {
		return err
	}
	r.w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) listGroups(r *request) error {
	list, err := s.service.Groups(r.Context(), r.who)
	if err != nil {
		return err
	}
	page := GroupPage{Groups: make([]GroupStatus, 0, len(list))}
	for _, g := range list {
		page.Groups = append(page.Groups, newGroupStatus(g, s.service.SiteName, false))
	}
	s.answer(r.w, http.StatusOK, page)
	return nil
}

// SubmitGroup hands in the jobs of a group.
func (c *Client) SubmitGroup(ctx context.Context, s GroupSubmission) (GroupAccepted, error) {
	return resend[GroupAccepted](ctx, c, "/v1/groups", s)
}

// Group tells how a group and its jobs are.
func (c *Client) Group(ctx context.Context, id grid.GroupID) (GroupStatus, error) {
	return do[GroupStatus](ctx, c, http.MethodGet, groupPath(id))
}

// Groups lists the user's groups.
func (c *Client) Groups(ctx context.Context) (GroupPage, error) {
	return do[GroupPage](ctx, c, http.MethodGet, "/v1/groups")
}

// WaitGroup returns once the group has ended, or after the broker's long poll.
func (c *Client) WaitGroup(ctx context.Context, id grid.GroupID) (GroupStatus, error) {
	var s GroupStatus
	err := c.do(ctx, http.MethodGet, groupPath(id)+"/wait", nil, &s, c.config.Answer+DefaultLimits().LongPoll)
	return s, err
}

// CancelGroup asks for the end of all jobs of a group.
func (c *Client) CancelGroup(ctx context.Context, id grid.GroupID) (GroupStatus, error) {
	return do[GroupStatus](ctx, c, http.MethodPost, groupPath(id)+"/cancel")
}

// RemoveGroup deletes an ended group, its jobs and their files.
func (c *Client) RemoveGroup(ctx context.Context, id grid.GroupID) error {
	return c.do(ctx, http.MethodDelete, groupPath(id), nil, nil, c.config.Answer)
}

func groupPath(id grid.GroupID) string { return "/v1/groups/" + string(id) }
