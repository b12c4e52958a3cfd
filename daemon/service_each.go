package daemon

import (
	"context"

	"gbroker/api"
	"gbroker/grid"
)

// WhereEach asks every site once about several jobs, each as if it alone had been handed in. One that makes no sense is refused by all, and
// the sites are asked about the others.
func (s service) WhereEach(ctx context.Context, who api.Identity, list []grid.Job) ([]grid.Decision, error) {
	jobs, wrong, err := s.jobsOf(who, list)
	if err != nil {
		return nil, err
	}
	answers, err := s.site.broker.WhereAllOf(ctx, jobs)
	if err != nil {
		return nil, err
	}
	return answersOf(wrong, answers, s.site.sizes()), nil
}

// jobsOf are those of a list that make sense, and what is wrong with the others, by their places in it.
func (s service) jobsOf(who api.Identity, list []grid.Job) (jobs []grid.Job, wrong []error, err error) {
	wrong = make([]error, len(list))
	for i := range list {
		id, err := newULID()
		if err != nil {
			return nil, nil, err
		}
		j, err := s.jobOf(who, grid.NewJobID(s.site.facts.Name, id), api.NewJob{Job: list[i]})
		if wrong[i] = err; err == nil {
			jobs = append(jobs, j)
		}
	}
	return jobs, wrong, nil
}

// answersOf puts the answers about those that make sense to their places; what is wrong is refused by all sites.
func answersOf(wrong []error, answers []grid.Decision, sites []sized) []grid.Decision {
	out := make([]grid.Decision, len(wrong))
	for i, why := range wrong {
		if why == nil {
			out[i], answers = answers[0], answers[1:]
			continue
		}
		for _, at := range sites {
			out[i].Candidates = append(out[i].Candidates, grid.Candidate{Site: at.name, Refusal: &grid.Refusal{Kind: grid.Permanent, Reason: why.Error()}})
		}
	}
	return out
}
