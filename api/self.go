package api

import (
	"net/http"

	"gbroker/internal/version"
)

func (s *Server) self(r *request) error {
	site, peer := s.service.Self()
	answer := Self{
		Name:         site.Name,
		Peer:         peer,
		Processes:    site.Processes,
		Speed:        site.Speed,
		Architecture: site.Architecture,
		System:       site.System,
		Version:      version.Version,
		User:         r.who.Name,
		Admin:        r.who.Administrator,
		Draining:     site.Draining,
	}
	if finite(answer.Speed) == nil {
		answer.Speed = 0
	}
	s.answer(r.w, http.StatusOK, answer)
	return nil
}
