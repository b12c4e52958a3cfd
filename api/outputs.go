package api

import (
	"fmt"
	"io"
	"net/http"
)

func (s *Server) outputs(r *request) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	files, complete, err := s.service.Outputs(r.Context(), r.who, id)
	if err != nil {
		return err
	}
	answer := Outputs{ID: id, Complete: complete, Files: make([]File, 0, len(files))}
	for _, f := range files {
		answer.Files = append(answer.Files, File{Path: f.Path, Size: f.Size, Mode: f.Mode})
	}
	s.answer(r.w, http.StatusOK, answer)
	return nil
}

// pieceSize is how much of an output is read and sent at once.
const pieceSize = 128 << 10

func (s *Server) output(r *request) error {
	id, path, err := r.file()
	if err != nil {
		return err
	}
	body, err := s.service.Output(r.Context(), r.who, id, path)
	if err != nil {
		return err
	}
	defer body.Close()
	h := r.w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	out := &movingWriter{r.w, moving{set: r.rc.SetWriteDeadline, d: s.limits.Stall}}
	if _, err := io.CopyBuffer(out, struct{ io.Reader }{body}, make([]byte, pieceSize)); err != nil {
		s.log.Warn("an output was cut off", "job", id, "path", path, "error", err)
		// The length is not sent before: only a broken connection tells that this is not all.
		panic(http.ErrAbortHandler)
	}
	return nil
}

func (s *Server) sites(r *request) error {
	list := s.service.Sites
	if r.URL.Query().Get("all") != "" {
		list = s.service.AllSites
	}
	views, err := list(r.Context())
	if err != nil {
		return fmt.Errorf("listing the sites: %w", err)
	}
	answer := make([]Site, 0, len(views))
	for _, v := range views {
		answer = append(answer, newSite(v))
	}
	s.answer(r.w, http.StatusOK, answer)
	return nil
}
