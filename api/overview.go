package api

import (
	"fmt"
	"net/http"

	"gbroker/grid"
)

// Overview is how a broker is.
type Overview struct {
	Site     grid.SiteName    `json:"site"`
	Peer     grid.PeerID      `json:"peer"`
	PID      int              `json:"pid"`
	Version  string           `json:"version"`
	Started  Time             `json:"started"`
	UptimeS  float64          `json:"uptime_s"`
	Draining bool             `json:"draining"`
	Jobs     map[string]int   `json:"jobs"`  // by state: those of this home, and those that are here
	Batch    *BatchLoad       `json:"batch"` // null while nothing is known
	Disk     Disk             `json:"disk"`
	Alarms   []string         `json:"alarms"`
	Members  []MemberAtGlance `json:"members"`
}

// BatchLoad is what the batch system of this broker has to do.
type BatchLoad struct {
	System string `json:"system"`
	Load
	At Time `json:"at"`
}

// Load is what a batch system has to do.
type Load struct {
	Cores   int `json:"cores"`   // of the nodes that are up
	Busy    int `json:"busy"`    // cores
	Waiting int `json:"waiting"` // jobs, whosever
}

// Disk is the room that the broker has, in bytes.
type Disk struct {
	Folder      string `json:"folder"`
	JournalSize int64  `json:"journal_bytes"`
	Free        int64  `json:"free_bytes"` // of the journal, beyond what is kept back
}

// MemberAtGlance is one neighbour.
type MemberAtGlance struct {
	Name    grid.SiteName `json:"name"`
	State   string        `json:"state"`             // alive, doubtful, dead; "not chosen": the rule of the neighbours' file leaves it out
	Contact string        `json:"contact,omitempty"` // as that of a Site
	Version string        `json:"version"`           // "" until heard
	Jobs    int           `json:"jobs"`              // of this home that are there
	// OtherKey tells that it has another grid key than this broker.
	OtherKey bool `json:"other_grid_key,omitempty"`
}

func (s administration) overview(r *request) error {
	o, err := s.service.Overview(r.Context())
	if err != nil {
		return fmt.Errorf("looking at the broker: %w", err)
	}
	s.answer(r.w, http.StatusOK, o)
	return nil
}

func (s *Server) metrics(r *request) error {
	if s.config.Metrics == nil {
		return fmt.Errorf("%w: this broker has no metrics", grid.ErrNotFound)
	}
	s.config.Metrics.ServeHTTP(r.w, r.Request)
	return nil
}

func (s *Server) healthy(r *request) error {
	_, err := fmt.Fprintln(r.w, "ok")
	return err
}

// working says no while an alarm is up: a broker that lives, and takes or starts no jobs.
func (s *Server) working(r *request) error {
	views, err := s.service.Sites(r.Context())
	if err != nil {
		return fmt.Errorf("looking for alarms: %w", err)
	}
	for _, v := range views {
		if len(v.Alarms) > 0 {
			return fmt.Errorf("%w: %s", grid.ErrUnavailable, v.alarm())
		}
	}
	return s.healthy(r)
}
