package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"gbroker/grid"
)

// NewGroup is the submission of a group.
type NewGroup struct {
	Key  string // as that of a job
	Name string
	Jobs []NewJob // without keys; all are taken, or none
	// Template is what its jobs are made from, Count of them, where there are none in Jobs. First is the first,
	// Digest tells one template from another.
	Template *grid.Template
	Count    int
	AtOnce   int
	First    grid.Job
	// Credentials are those of the jobs that a template makes.
	Credentials []byte
	Digest      grid.Hash
	// QueueAnyway: it is taken though no known site could ever run one of its jobs.
	QueueAnyway bool
}

// GroupRecord is a group, how many of its jobs are in which state, and a page of its jobs, without
// those that were removed.
type GroupRecord struct {
	Group  grid.Group
	Counts grid.Counts
	Jobs   []grid.Record
	Next   int // more of its jobs follow after that number; 0 is the end
}

// NextOf is what follows after a page that was found to the limit.
func NextOf(g *grid.Group, jobs []grid.Record, limit int) int {
	if n := len(jobs); n > 0 && n == limit {
		if _, last := jobs[n-1].Job.ID.Group(); last < g.Jobs {
			return last
		}
	}
	return 0
}

// Members is which jobs of a group are asked for: up to Limit after the number After.
type Members struct{ After, Limit int }

// GroupSubmission is what POST /v1/groups takes.
type GroupSubmission struct {
	Key         string       `json:"key"`
	Name        string       `json:"name"`
	QueueAnyway bool         `json:"queue_anyway"`
	Jobs        []Submission `json:"jobs,omitempty"` // without key and queue_anyway
	// Sweep is one document that stands for all jobs, instead of Jobs; likewise without them.
	Sweep *Submission `json:"sweep,omitempty"`
}

// GroupStatus is how a group is.
type GroupStatus struct {
	ID              grid.GroupID   `json:"id"`
	Name            string         `json:"name"`
	User            string         `json:"user"`
	Jobs            int            `json:"jobs"`         // how many it has
	Sweep           bool           `json:"sweep"`        // they are made from one document, as their turn comes
	States          map[string]int `json:"states"`       // how many of them are in which state
	FailedExits     int            `json:"failed_exits"` // of those that are COMPLETED, how many ended with another status than 0
	Over            int            `json:"over"`         // how many have ended
	Entered         int            `json:"entered"`      // how many have had their turn, or have it; those of a sweep wait for it
	AtOnce          int            `json:"at_once,omitempty"`
	Coming          int            `json:"coming"` // how many wait for files; none begins before all are here
	Submitted       Time           `json:"submitted"`
	Ended           Time           `json:"ended"` // null until all have
	CancelRequested bool           `json:"cancel_requested"`
	Members         []Status       `json:"members,omitempty"` // a page of them; not in a list of groups
	Next            int            `json:"next,omitempty"`    // what to give as "after" for the next page; 0 at the end
}

// GroupAccepted is the answer to the submission of a group.
type GroupAccepted struct {
	GroupStatus
	Again  bool       `json:"again"`
	Wanted []WantedOf `json:"wanted"` // of the jobs that bring files
	// Warnings are what of the documents will not come true at this broker.
	Warnings []string `json:"warnings,omitempty"`
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

func newGroupStatus(g GroupRecord, name func(grid.PeerID) string) GroupStatus {
	r := &g.Group
	s := GroupStatus{
		ID: r.ID, Name: r.Name, User: r.User.Name, Jobs: r.Jobs, Sweep: r.Made(), States: map[string]int{}, FailedExits: r.Failing, Coming: len(r.Coming),
		Over: r.Ends.Sum(), Entered: r.Entered, AtOnce: r.AtOnce,
		Submitted: Time(r.Submitted), Ended: Time(r.Ended), CancelRequested: r.CancelRequested, Next: g.Next,
	}
	for state, n := range g.Counts {
		if n > 0 {
			s.States[grid.State(state).String()] = n
		}
	}
	for i := range g.Jobs {
		s.Members = append(s.Members, newStatus(&g.Jobs[i], name))
	}
	return s
}

func (s *Server) submitGroup(r *request) error {
	var sub GroupSubmission
	if err := s.decode(r, MaxSubmission, func(d *json.Decoder) error { return readGroup(d, &sub) }); err != nil {
		return err
	}
	n, wanted, err := s.newGroup(&sub)
	if err != nil {
		return err
	}
	made, again, err := s.service.SubmitGroup(r.Context(), r.who, n)
	if err != nil {
		return err
	}
	answer := GroupAccepted{GroupStatus: newGroupStatus(made, s.service.SiteName), Again: again, Wanted: []WantedOf{}}
	answer.Warnings = s.warnings(&n)
	for i, files := range wanted {
		if len(files) > 0 {
			answer.Wanted = append(answer.Wanted, WantedOf{made.Group.ID.Job(i), files})
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

// warnings are those of its jobs, each once.
func (s *Server) warnings(n *NewGroup) []string {
	list := s.service.Warnings(&n.First)
	for i := range n.Jobs {
		for _, w := range s.service.Warnings(&n.Jobs[i].Job) {
			if !slices.Contains(list, w) {
				list = append(list, w)
			}
		}
	}
	return list
}

// newGroup makes the group of a submission; wanted are the files of its jobs by their numbers, and of its template
// first.
func (s *Server) newGroup(sub *GroupSubmission) (n NewGroup, wanted [][]File, err error) {
	wanted = make([][]File, len(sub.Jobs)+1)
	if one := sub.Sweep; one != nil {
		if err := sub.checkOne(one, "the sweep"); err != nil {
			return n, nil, err
		}
		one.QueueAnyway = sub.QueueAnyway
		if n, err = s.readSweep(one); err != nil {
			return n, nil, err
		}
		for _, f := range n.Template.Inputs {
			from := f.Path
			if slices.Contains(n.Template.Included, f.Path) {
				from = ""
			}
			wanted[0] = append(wanted[0], File{Path: f.Path, From: from, Size: f.Size, Mode: f.Mode})
		}
	}
	for i := range sub.Jobs {
		one := &sub.Jobs[i]
		if err := sub.checkOne(one, fmt.Sprintf("job %d", i+1)); err != nil {
			return n, nil, err
		}
		job, uploads, err := s.newJob(one)
		if err != nil {
			return n, nil, err // names the file
		}
		for _, u := range uploads {
			wanted[i+1] = append(wanted[i+1], File(u))
		}
		n.Jobs = append(n.Jobs, NewJob{Job: job.Job, Credentials: job.Credentials})
	}
	n.Key, n.QueueAnyway = sub.Key, sub.QueueAnyway
	if sub.Name != "" {
		n.Name = sub.Name
	}
	return n, wanted, nil
}

// checkOne checks the submission of one of its jobs, or of its sweep.
func (sub *GroupSubmission) checkOne(one *Submission, what string) error {
	if one.Key != "" || one.QueueAnyway {
		return fmt.Errorf("%s has a key or queue_anyway of its own: those are its group's: %w", what, grid.ErrInvalid)
	}
	one.Key = sub.Key
	if err := one.check(); err != nil {
		return fmt.Errorf("%s (%.80q): %w", what, one.Name, err)
	}
	return nil
}

// readGroup reads the submission of a group; its jobs are counted while they come.
func readGroup(d *json.Decoder, sub *GroupSubmission) error {
	err := fields(d, map[string]any{
		"key": &sub.Key, "name": &sub.Name, "queue_anyway": &sub.QueueAnyway,
		"jobs": func() (err error) { sub.Jobs, err = readJobs(d); return err },
		"sweep": func() error {
			sub.Sweep = &Submission{}
			return readSubmission(d, sub.Sweep)
		},
	})
	if err == nil && (len(sub.Jobs) == 0) == (sub.Sweep == nil) {
		err = errors.New("it has either jobs or a sweep")
	}
	return err
}

func readJobs(d *json.Decoder) ([]Submission, error) {
	tooMany := fmt.Errorf("a group has at most %d jobs: hand them in as several groups: %w", grid.MaxGroup, grid.ErrInvalid)
	return readList(d, grid.MaxGroup, tooMany, readSubmission)
}

// group is the group that the path names.
func (r *request) group() (grid.GroupID, error) {
	id, err := grid.ParseGroupID(r.PathValue("id"))
	if err != nil {
		return "", fmt.Errorf("%w: %w", err, grid.ErrInvalid)
	}
	return id, nil
}

// onGroup answers with what do finds of the group that the path names, with a page of its jobs.
func (s *Server) onGroup(do func(*request, grid.GroupID, Members) (GroupRecord, error)) func(*request) error {
	return func(r *request) error {
		id, err := r.group()
		if err != nil {
			return err
		}
		page := Members{Limit: MaxPage}
		if page.Limit, err = r.number("limit", MaxPage, 0, MaxPage); err != nil {
			return err
		}
		if page.After, err = r.number("after", 0, 0, grid.MaxSweep); err != nil {
			return err
		}
		g, err := do(r, id, page)
		if err != nil {
			return err
		}
		s.answer(r.w, http.StatusOK, newGroupStatus(g, s.service.SiteName))
		return nil
	}
}

// number is a parameter of the query within bounds.
func (r *request) number(name string, otherwise, least, most int) (int, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%s %.20q is no number from %d to %d: %w", name, text, least, most, grid.ErrInvalid)
	}
	return n, nil
}

func (s *Server) groupStatus(r *request, id grid.GroupID, page Members) (GroupRecord, error) {
	return s.service.Group(r.Context(), r.who, id, page)
}

func (s *Server) waitGroup(r *request, id grid.GroupID, page Members) (g GroupRecord, err error) {
	err = s.patiently(r, s.limits.LongPoll, func(ctx context.Context) error {
		g, err = s.service.WaitGroup(ctx, r.who, id, page)
		return err
	})
	return g, err
}

func (s *Server) cancelGroup(r *request, id grid.GroupID, page Members) (GroupRecord, error) {
	return s.service.CancelGroup(r.Context(), r.who, id, page)
}

func (s *Server) groupHistory(r *request) error {
	id, err := r.group()
	if err != nil {
		return err
	}
	events, err := s.service.GroupHistory(r.Context(), r.who, id)
	if err != nil {
		return err
	}
	s.answer(r.w, http.StatusOK, newHistory(grid.JobID(id), events))
	return nil
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
		page.Groups = append(page.Groups, newGroupStatus(g, s.service.SiteName))
	}
	s.answer(r.w, http.StatusOK, page)
	return nil
}

// SubmitGroup hands in the jobs of a group.
func (c *Client) SubmitGroup(ctx context.Context, s GroupSubmission) (GroupAccepted, error) {
	return resend[GroupAccepted](ctx, c, "/v1/groups", s)
}

// Group tells how a group is, with the first of its jobs.
func (c *Client) Group(ctx context.Context, id grid.GroupID) (GroupStatus, error) {
	return do[GroupStatus](ctx, c, http.MethodGet, groupPath(id))
}

// GroupPage tells how a group is, with a page of its jobs.
func (c *Client) GroupPage(ctx context.Context, id grid.GroupID, page Members) (GroupStatus, error) {
	return do[GroupStatus](ctx, c, http.MethodGet, groupPath(id)+page.query())
}

func (m Members) query() string { return fmt.Sprintf("?after=%d&limit=%d", m.After, m.Limit) }

// GroupHistory is what happened to a group.
func (c *Client) GroupHistory(ctx context.Context, id grid.GroupID) (History, error) {
	return do[History](ctx, c, http.MethodGet, groupPath(id)+"/history")
}

// Groups lists the user's groups.
func (c *Client) Groups(ctx context.Context) (GroupPage, error) {
	return do[GroupPage](ctx, c, http.MethodGet, "/v1/groups")
}

// WaitGroup returns once the group has ended, or after the broker's long poll; without its jobs.
func (c *Client) WaitGroup(ctx context.Context, id grid.GroupID) (GroupStatus, error) {
	var s GroupStatus
	err := c.do(ctx, http.MethodGet, groupPath(id)+"/wait"+Members{}.query(), nil, &s, c.config.Answer+defaultLimits().LongPoll)
	return s, err
}

// CancelGroup asks for the end of all jobs of a group.
func (c *Client) CancelGroup(ctx context.Context, id grid.GroupID) (GroupStatus, error) {
	return do[GroupStatus](ctx, c, http.MethodPost, groupPath(id)+"/cancel"+Members{}.query())
}

// RemoveGroup deletes an ended group, its jobs and their files.
func (c *Client) RemoveGroup(ctx context.Context, id grid.GroupID) error {
	return c.do(ctx, http.MethodDelete, groupPath(id), nil, nil, c.config.Answer)
}

func groupPath(id grid.GroupID) string { return "/v1/groups/" + string(id) }
