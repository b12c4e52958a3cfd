package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"

	"gbroker/grid"
	"gbroker/internal/outbound"
)

// web is http and https.
type web struct{ client *http.Client }

func newWeb(p outbound.Policy) web { return web{p.Client()} }

func (web) check(t target) error {
	if t.Host == "" || t.Hostname() == "" {
		return errors.New("it names no host")
	}
	return nil
}

func (w web) request(ctx context.Context, method string, t target, body io.Reader) (*http.Request, error) {
	u := *t.URL
	u.User, u.Fragment = nil, ""
	r, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		return nil, fmt.Errorf("%w: it is no URI", grid.ErrInvalid)
	}
	r.Header.Set("User-Agent", "gbroker")
	switch s := t.secret; {
	case s.Token != "":
		r.Header.Set("Authorization", "Bearer "+s.Token)
	case s.User != "":
		r.SetBasicAuth(s.User, s.Password)
	}
	return r, nil
}

// do makes a request; errors of http.Client repeat the URI, with its query.
func (w web) do(r *http.Request) (*http.Response, error) {
	a, err := w.client.Do(r)
	var with interface{ Unwrap() error }
	if errors.As(err, &with) {
		err = with.Unwrap()
	}
	return a, err
}

// status is the error that a status means; nil for those of success.
func status(a *http.Response) error {
	switch c := a.StatusCode; {
	case c/100 == 2:
		return nil
	case c == http.StatusNotFound, c == http.StatusGone:
		return fmt.Errorf("%w: the server answers %s", grid.ErrNotFound, a.Status)
	case c == http.StatusUnauthorized, c == http.StatusForbidden:
		return fmt.Errorf("%w: the server answers %s", grid.ErrForbidden, a.Status)
	case c == http.StatusRequestTimeout, c == http.StatusTooEarly, c == http.StatusTooManyRequests, c/100 == 5:
		return fmt.Errorf("%w: the server answers %s", grid.ErrUnavailable, a.Status)
	}
	return fmt.Errorf("%w: the server answers %s", grid.ErrInvalid, a.Status)
}

// facts are those of an answer with the whole file.
func facts(a *http.Response) Facts {
	f := Facts{Size: a.ContentLength, Version: version(a.Header)}
	f.digests(a.Header.Get("Repr-Digest"))
	f.digests(a.Header.Get("Content-Digest"))
	f.digests(a.Header.Get("Digest"))
	f.add("md5", a.Header.Get("Content-MD5"))
	return f
}

// version is what If-Range takes: a strong tag, or a time.
func version(h http.Header) string {
	if tag := h.Get("ETag"); tag != "" && !strings.HasPrefix(tag, "W/") {
		return tag
	}
	return h.Get("Last-Modified")
}

func (w web) stat(ctx context.Context, t target) (Facts, error) {
	r, err := w.request(ctx, http.MethodHead, t, nil)
	if err != nil {
		return Facts{}, err
	}
	r.Header.Set("Want-Repr-Digest", "sha-256=9")
	a, err := w.do(r)
	if err != nil {
		return Facts{}, err
	}
	a.Body.Close()
	if a.StatusCode == http.StatusMethodNotAllowed || a.StatusCode == http.StatusNotImplemented {
		return Facts{Size: -1}, nil // it may be had all the same
	}
	return facts(a), status(a)
}

func (w web) open(ctx context.Context, t target, offset int64, known Facts) (io.ReadCloser, Facts, int64, error) {
	r, err := w.request(ctx, http.MethodGet, t, nil)
	if err != nil {
		return nil, Facts{}, 0, err
	}
	r.Header.Set("Want-Repr-Digest", "sha-256=9")
	r.Header.Set("Accept-Encoding", "identity")
	if offset > 0 && known.Version != "" {
		r.Header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
		r.Header.Set("If-Range", known.Version)
	}
	a, err := w.do(r)
	if err != nil {
		return nil, Facts{}, 0, err
	}
	err = status(a)
	if enc := a.Header.Get("Content-Encoding"); err == nil && enc != "" && enc != "identity" {
		err = fmt.Errorf("%w: the server sends it as %.40q", grid.ErrInvalid, enc)
	}
	if err != nil {
		a.Body.Close()
		return nil, Facts{}, 0, err
	}
	if a.StatusCode == http.StatusPartialContent {
		begin, _, _ := strings.Cut(strings.TrimPrefix(a.Header.Get("Content-Range"), "bytes "), "-")
		if n, err := strconv.ParseInt(begin, 10, 64); err != nil || n != offset || version(a.Header) != known.Version {
			a.Body.Close()
			return nil, Facts{}, 0, fmt.Errorf("the server sends another range than asked for")
		}
		return a.Body, known, offset, nil
	}
	return a.Body, facts(a), 0, nil
}

func (w web) store(ctx context.Context, t target, from *os.File, size int64, flag grid.CreationFlag) error {
	if flag == grid.Append {
		return fmt.Errorf("%w: nothing can be appended by HTTP", grid.ErrInvalid)
	}
	var body io.Reader = http.NoBody
	if size > 0 {
		body = io.NopCloser(io.NewSectionReader(from, 0, size))
	}
	r, err := w.request(ctx, http.MethodPut, t, body)
	if err != nil {
		return err
	}
	r.ContentLength = size
	r.Header.Set("Content-Type", "application/octet-stream")
	if flag == grid.DontOverwrite {
		r.Header.Set("If-None-Match", "*")
	}
	a, err := w.do(r)
	if err != nil {
		return err
	}
	a.Body.Close()
	if a.StatusCode == http.StatusPreconditionFailed && flag == grid.DontOverwrite {
		return exists()
	}
	return status(a)
}

// exists is the answer where a target must not exist, and does.
func exists() error {
	return fmt.Errorf("%w: there is a file already, and its CreationFlag is dontOverwrite", grid.ErrInvalid)
}
