package api

import (
	"fmt"
	"net/http"
)

// Batch is what a batch system held at one moment. Instants are by its own clock, spans
// are seconds; 0 and "" are not known, or none.
type Batch struct {
	System       string        `json:"system"`
	Version      string        `json:"version"`
	At           Time          `json:"at"`
	Age          float64       `json:"age_s"` // how long ago that is, by the clock of here
	Policy       string        `json:"policy"`
	Nodes        []BatchNode   `json:"nodes"`
	Queues       []BatchQueue  `json:"queues"`
	Running      []BatchJob    `json:"running"`
	Waiting      []BatchJob    `json:"waiting"` // in the order in which the scheduler will take them
	Reservations []Reservation `json:"reservations"`
	Stopped      string        `json:"stopped"`  // why nothing is started now; "": jobs are started
	Unusable     []string      `json:"unusable"` // what could not be read, and is left out
}

// BatchNode is one machine.
type BatchNode struct {
	Name       string           `json:"name"`
	Cores      int              `json:"cores"`
	Used       int              `json:"used"` // cores
	Memory     int64            `json:"memory"`
	Resources  map[string]int64 `json:"resources"`
	Properties []string         `json:"properties"`
	Down       bool             `json:"down"` // or drained: it takes no job
	Why        string           `json:"why"`  // "" is not known
}

// BatchQueue is a partition of the nodes.
type BatchQueue struct {
	Name    string   `json:"name"`
	Default bool     `json:"default"`
	Nodes   []string `json:"nodes"` // none: all
	Limit   float64  `json:"limit_s"`
	Closed  string   `json:"closed"` // why it starts or takes no jobs now; "": it does both
}

// BatchJob is one job, whosever it is.
type BatchJob struct {
	ID          string   `json:"id"` // the batch system's
	Name        string   `json:"name"`
	Mark        string   `json:"mark"` // of jobs of brokers: OWNER/JOB@EPOCH#ATTEMPT
	User        string   `json:"user"`
	Queue       string   `json:"queue"`
	State       string   `json:"state"` // running, waiting, held, odd
	Processes   int      `json:"processes"`
	Nodes       []string `json:"nodes"`
	Limit       float64  `json:"limit_s"`
	Started     Time     `json:"started"`
	Ends        Time     `json:"ends"` // when it is killed
	Reservation string   `json:"reservation"`
	Reason      string   `json:"reason"` // why it waits, in the system's words
}

// Reservation is nodes kept for an interval.
type Reservation struct {
	ID     string   `json:"id"` // ours, "" of others'
	Native string   `json:"native"`
	Nodes  []string `json:"nodes"`
	Start  Time     `json:"start"`
	End    Time     `json:"end"`
	User   string   `json:"user"`
}

func (s administration) batch(r *request) error {
	b, err := s.service.Batch(r.Context())
	if err != nil {
		return fmt.Errorf("looking at the batch system: %w", err)
	}
	s.answer(r.w, http.StatusOK, b)
	return nil
}
