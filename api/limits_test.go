package api_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"gbroker/api"
	"gbroker/grid"
)

func TestBadRequests(t *testing.T) {
	t.Parallel()
	_, s := start(t, api.Config{})
	long := strings.Repeat("x", api.MaxDocument+1)
	many := `[` + strings.Repeat(`{"path":"a","size":1,"mode":1},`, grid.MaxFiles) + `{"path":"a","size":1,"mode":1}]`
	for name, c := range map[string]struct {
		method, path, body string
		edit               func(*http.Request)
		status             int
	}{
		"no route":       {"GET", "/v2/jobs", "", nil, 404},
		"wrong method":   {"PATCH", "/v1/jobs", "", nil, 405},
		"other method":   {"DELETE", "/v1/sites", "", nil, 405},
		"no identifier":  {"GET", "/v1/jobs/nonsense", "", nil, 400},
		"no body":        {"POST", "/v1/jobs", "", func(r *http.Request) { r.Header.Set("Content-Type", "application/json") }, 400},
		"wrong type":     {"POST", "/v1/jobs", "{}", func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, 415},
		"form":           {"POST", "/v1/jobs", "a=b", func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") }, 415},
		"no length":      {"POST", "/v1/jobs", "{}", func(r *http.Request) { r.ContentLength = -1 }, 411},
		"truncated":      {"POST", "/v1/jobs", `{"key":"k"`, nil, 400},
		"two values":     {"POST", "/v1/jobs", `{"key":"k"} {}`, nil, 400},
		"unknown field":  {"POST", "/v1/jobs", `{"key":"k","frob":1}`, nil, 400},
		"no key":         {"POST", "/v1/jobs", `{"document":"x"}`, nil, 400},
		"bad key":        {"POST", "/v1/jobs", `{"key":"a b","document":"x"}`, nil, 400},
		"long key":       {"POST", "/v1/jobs", `{"key":"` + long[:200] + `"}`, nil, 400},
		"no document":    {"POST", "/v1/jobs", `{"key":"k","document":""}`, nil, 400},
		"long document":  {"POST", "/v1/jobs", `{"key":"k","document":"` + long + `"}`, nil, 400},
		"bad name":       {"POST", "/v1/jobs", `{"key":"k","document":"x","name":"a\nb"}`, nil, 400},
		"way out":        {"POST", "/v1/jobs", `{"key":"k","document":"x","files":[{"path":"../x","size":1,"mode":1}]}`, nil, 400},
		"absolute":       {"POST", "/v1/jobs", `{"key":"k","document":"x","files":[{"path":"/x","size":1,"mode":1}]}`, nil, 400},
		"negative size":  {"POST", "/v1/jobs", `{"key":"k","document":"x","files":[{"path":"x","size":-1,"mode":1}]}`, nil, 400},
		"setuid":         {"POST", "/v1/jobs", `{"key":"k","document":"x","files":[{"path":"x","size":1,"mode":2541}]}`, nil, 400},
		"too many files": {"POST", "/v1/jobs", `{"key":"k","document":"x","files":` + many + `}`, nil, 400},
		"huge size":      {"POST", "/v1/jobs", `{"key":"k","document":"x","files":[{"path":"x","size":1e30,"mode":1}]}`, nil, 400},
		"sizes together": {"POST", "/v1/jobs", `{"key":"k","document":"x","files":[{"path":"x","size":1099511627776,"mode":1},{"path":"y","size":1,"mode":1}]}`, nil, 400},
		"field twice":    {"POST", "/v1/jobs", `{"key":"k","document":"x","files":[],"files":[]}`, nil, 400},
		"files no list":  {"POST", "/v1/jobs", `{"key":"k","document":"x","files":{}}`, nil, 400},
		"file's field":   {"POST", "/v1/jobs", `{"key":"k","document":"x","files":[{"frob":1}]}`, nil, 400},
	} {
		if status, f := raw(t, s.Addresses()[0], c.edit, c.method, c.path, c.body); status != c.status {
			t.Errorf("%s: status %d (%s), want %d", name, status, f.Text, c.status)
		}
	}
	// Larger than any submission: refused by its declared length.
	status, _ := raw(t, s.Addresses()[0], func(r *http.Request) {
		r.Body, r.ContentLength = io.NopCloser(io.LimitReader(zeros{}, api.MaxSubmission+1)), api.MaxSubmission+1
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Expect", "100-continue")
	}, "POST", "/v1/jobs", "")
	if status != 413 {
		t.Errorf("a huge submission: status %d", status)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// A client that stops sending a file is cut off.
func TestStalledUpload(t *testing.T) {
	t.Parallel()
	_, s, c := serve(t, api.Config{Limits: api.Limits{Stall: 50 * time.Millisecond}})
	a, err := c.Submit(t.Context(), api.Submission{Key: "k", Document: withFile, Files: []api.File{{Path: "data", Size: 5}}})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("unix", strings.TrimPrefix(s.Addresses()[0], "unix://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "PUT /v1/jobs/%s/files/in/a%%20b%%25.txt HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n12", a.ID)
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(conn)
	if err != nil || !bytes.HasPrefix(b, []byte("HTTP/1.1 408 ")) || !bytes.Contains(b, []byte("Connection: close")) {
		t.Errorf("the server said %q, %v", b, err)
	}
}

func TestConnectionLimit(t *testing.T) {
	t.Parallel()
	_, s := start(t, api.Config{Limits: api.Limits{ConnectionsEach: 1}})
	path := strings.TrimPrefix(s.Addresses()[0], "unix://")
	first, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(c net.Conn) string {
		fmt.Fprint(c, "GET /v1/site HTTP/1.1\r\nHost: x\r\n\r\n")
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		b := make([]byte, 12)
		n, _ := io.ReadFull(c, b)
		return string(b[:n])
	}
	if got := ask(first); got != "HTTP/1.1 200" {
		t.Errorf("the first connection: %q", got)
	}
	other, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if got := ask(other); got != "" {
		t.Errorf("the second connection: %q", got)
	}
	first.Close()
	deadline := time.Now().Add(10 * time.Second)
	for got := ""; got != "HTTP/1.1 200"; {
		if time.Now().After(deadline) {
			t.Fatal("no connection is let in after the first was closed")
		}
		third, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		got = ask(third)
		third.Close()
	}
}
