package api

import (
	"encoding/json"
	"fmt"
	"net/http"

	"gbroker/grid"
)

// Forgetting asks what becomes of the jobs of a site that will not come back, and
// makes it so unless DryRun.
type Forgetting struct {
	Site   string `json:"site"` // its name here, or its peer ID
	Fenced bool   `json:"fenced"`
	DryRun bool   `json:"dry_run"`
}

// Forgotten is the answer.
type Forgotten struct {
	Peer grid.PeerID `json:"peer"`
	Jobs []Fate      `json:"jobs"`
}

// Fate is what becomes of one job: again (at a new term), lost, killed; declined, where
// the site had offered it here; or "goes on", where the site is the job's home.
type Fate struct {
	ID      grid.JobID `json:"id"`
	State   string     `json:"state"` // before
	Verdict string     `json:"verdict"`
	Why     string     `json:"why"`
}

func (s administration) forget(r *request) error {
	var f Forgetting
	if err := s.decode(r, maxForgetting, func(d *json.Decoder) error { return d.Decode(&f) }); err != nil {
		return err
	}
	if f.Site == "" || len(f.Site) > maxSiteText {
		return fmt.Errorf("the site to forget is named by its name or peer ID: %w", grid.ErrInvalid)
	}
	done, err := s.service.Forget(r.Context(), r.who, f)
	if err != nil {
		return fmt.Errorf("forgetting %.80q: %w", f.Site, err)
	}
	if done.Jobs == nil {
		done.Jobs = []Fate{}
	}
	s.answer(r.w, http.StatusOK, done)
	return nil
}

// maxSiteText bounds a name or peer ID, and maxForgetting what names one, in bytes.
const (
	maxSiteText   = 128
	maxForgetting = 4 << 10
)

// Asking is what a broker does before it starts anything.
type Asking struct {
	Asked []string `json:"asked"` // the names of the neighbours that are asked
}

func (s administration) resume(r *request) error {
	done, err := s.service.Resume(r.Context())
	if err != nil {
		return fmt.Errorf("resuming: %w", err)
	}
	s.asking(r, done)
	return nil
}

func (s administration) hadDuplicate(r *request) error {
	done, err := s.service.HadDuplicate(r.Context())
	if err != nil {
		return fmt.Errorf("asking what a duplicate has done: %w", err)
	}
	s.asking(r, done)
	return nil
}

func (s administration) asking(r *request, a Asking) {
	if a.Asked == nil {
		a.Asked = []string{}
	}
	s.answer(r.w, http.StatusOK, a)
}
