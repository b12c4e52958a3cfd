package api

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"gbroker/grid"
)

func (s *Server) status(r *request) error {
	record, err := s.record(r)
	if err != nil {
		return err
	}
	s.answer(r.w, http.StatusOK, s.shown(r, &record))
	return nil
}

func (s *Server) explain(r *request) error {
	record, err := s.record(r)
	if err != nil {
		return err
	}
	decisions, err := s.service.Decisions(r.Context(), r.who, record.Job.ID)
	if err != nil {
		return err
	}
	allocation, err := s.service.Allocation(r.Context(), r.who, record.Job.ID)
	if err != nil {
		return err
	}
	s.answer(r.w, http.StatusOK, newExplanation(&record, decisions, allocation))
	return nil
}

func (s *Server) record(r *request) (grid.Record, error) {
	id, err := r.id()
	if err != nil {
		return grid.Record{}, err
	}
	return s.service.Job(r.Context(), r.who, id)
}

func (s *Server) history(r *request) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	events, err := s.service.History(r.Context(), r.who, id)
	if err != nil {
		return err
	}
	s.answer(r.w, http.StatusOK, newHistory(id, events))
	return nil
}

// defaultPage is the length of a page where the client names none.
const defaultPage = 100

func (s *Server) list(r *request) error {
	query, limit := r.URL.Query(), defaultPage
	if text := query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > MaxPage {
			return fmt.Errorf("limit %.20q is no number from 1 to %d: %w", text, MaxPage, grid.ErrInvalid)
		}
		limit = n
	}
	var after grid.JobID
	if text := query.Get("after"); text != "" {
		id, err := grid.ParseJobID(text)
		if err != nil {
			return fmt.Errorf("after: %w: %w", err, grid.ErrInvalid)
		}
		after = id
	}
	filter, err := readFilter(query)
	if err != nil {
		return err
	}
	// One more than asked tells whether there is a next page.
	records, err := s.service.Jobs(r.Context(), r.who, after, limit+1, filter)
	if err != nil {
		return err
	}
	page := Page{Jobs: make([]Status, 0, min(limit, len(records)))}
	for i := range records[:min(limit, len(records))] {
		page.Jobs = append(page.Jobs, s.shown(r, &records[i]))
	}
	if len(records) > limit {
		page.Next = &page.Jobs[limit-1].ID
	}
	s.answer(r.w, http.StatusOK, page)
	return nil
}

func (s *Server) wait(r *request) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	var since grid.State
	if text := r.URL.Query().Get("since"); text != "" {
		if since, err = grid.ParseState(text); err != nil {
			return fmt.Errorf("since: %w: %w", err, grid.ErrInvalid)
		}
	}
	var record grid.Record
	err = s.patiently(r, s.limits.LongPoll, func(ctx context.Context) error {
		record, err = s.service.Wait(ctx, r.who, id, since)
		return err
	})
	if err != nil {
		return err
	}
	s.answer(r.w, http.StatusOK, s.shown(r, &record))
	return nil
}

func (s *Server) cancel(r *request) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	return s.untilConfirmed(r, func(ctx context.Context) (grid.Record, bool, error) { return s.service.Cancel(ctx, r.who, id) })
}

// untilConfirmed answers with what becomes of a wish that is recorded at once, and waits a while for the site that has
// the job to confirm it.
func (s *Server) untilConfirmed(r *request, wish func(context.Context) (grid.Record, bool, error)) error {
	var record grid.Record
	var confirmed bool
	err := s.patiently(r, s.limits.Cancel, func(ctx context.Context) (err error) {
		record, confirmed, err = wish(ctx)
		return err
	})
	if err != nil {
		return err
	}
	code := http.StatusAccepted
	if confirmed {
		code = http.StatusOK
	}
	s.answer(r.w, code, Confirmation{confirmed, s.shown(r, &record)})
	return nil
}

func (s *Server) remove(r *request) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	if err := s.service.Remove(r.Context(), r.who, id); err != nil {
		return err
	}
	r.w.WriteHeader(http.StatusNoContent)
	return nil
}
