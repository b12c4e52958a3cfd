package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"gbroker/api"
	"gbroker/api/apitest"
	"gbroker/grid"
)

const document = `<JobDefinition xmlns="http://schemas.ggf.org/jsdl/2005/11/jsdl" xmlns:p="http://schemas.ggf.org/jsdl/2005/11/jsdl-posix">
 <JobDescription>
  <Application><p:POSIXApplication><p:Executable>/bin/true</p:Executable></p:POSIXApplication></Application>
  %s
 </JobDescription>
</JobDefinition>`

const staging = `<DataStaging><FileName>in/a b%.txt</FileName><CreationFlag>overwrite</CreationFlag><Source><URI>data</URI></Source></DataStaging>`

var (
	plain     = fmt.Sprintf(document, "")
	withFile  = fmt.Sprintf(document, staging)
	tokenText = strings.Repeat("0123456789abcdef", 4)
)

// start serves a service in memory; the test's end ends it.
func start(t *testing.T, config api.Config) (*apitest.Service, *api.Server) {
	t.Helper()
	service := apitest.New()
	config.Users, config.Admin, config.Hook = service, service, service
	s, stop := apitest.Start(t, config)
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return service, s
}

func client(t *testing.T, config api.ClientConfig) *api.Client {
	t.Helper()
	c, err := api.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func serve(t *testing.T, config api.Config) (*apitest.Service, *api.Server, *api.Client) {
	t.Helper()
	service, s := start(t, config)
	return service, s, client(t, api.ClientConfig{Address: s.Addresses()[0]})
}

// raw sends a request as it is and returns status and error kind.
func raw(t *testing.T, address string, edit func(*http.Request), method, path, body string) (int, api.Fault) {
	t.Helper()
	transport := &http.Transport{ExpectContinueTimeout: 10 * time.Second}
	base := address
	if socket, ok := strings.CutPrefix(address, "unix://"); ok {
		base = "http://gbroker"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}
	}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if edit != nil {
		edit(r)
	}
	answer, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer answer.Body.Close()
	var f api.Fault
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode >= 400 {
		if err := json.Unmarshal(b, &f); err != nil || f.Text == "" || f.Kind == "" {
			t.Errorf("%s %s: the error is not told as {error, kind}: %s", method, path, b)
		}
	}
	return answer.StatusCode, f
}

func TestKindsTravel(t *testing.T) {
	t.Parallel()
	service, s, c := serve(t, api.Config{})
	for _, k := range []struct {
		err    error
		status int
		kind   string
	}{
		{grid.ErrInvalid, 400, "invalid"},
		{grid.ErrForbidden, 403, "forbidden"},
		{grid.ErrNotFound, 404, "not_found"},
		{grid.ErrNotYet, 409, "not_yet"},
		{grid.ErrUnavailable, 503, "unavailable"},
		{errors.New("disk on fire"), 500, "internal"},
		{context.DeadlineExceeded, 503, "unavailable"},
	} {
		service.Fail(fmt.Errorf("doing it: %w", k.err))
		if status, f := raw(t, s.Addresses()[0], nil, "GET", "/v1/jobs", ""); status != k.status || f.Kind != k.kind {
			t.Errorf("%v: status %d kind %q, want %d %q", k.err, status, f.Kind, k.status, k.kind)
		}
		_, err := c.Jobs(t.Context(), "", 10)
		if err == nil || !strings.Contains(err.Error(), "doing it: "+k.err.Error()) {
			t.Errorf("%v: the client says %v", k.err, err)
		}
		if k.kind != "internal" && !errors.Is(k.err, context.DeadlineExceeded) && !errors.Is(err, k.err) {
			t.Errorf("%v: the client's error is not of that kind: %v", k.err, err)
		}
	}
}

func TestSubmission(t *testing.T) {
	t.Parallel()
	service, _, c := serve(t, api.Config{DefaultWalltime: 5 * grid.Minute})
	ctx := t.Context()
	sub := api.Submission{Key: "k", Document: withFile, Name: "x.jsdl", Rerunnable: true, Files: []api.File{{Path: "data", Size: 5, Mode: 0o640}}}
	a, err := c.Submit(ctx, sub)
	if err != nil {
		t.Fatal(err)
	}
	want := api.File{Path: "in/a b%.txt", From: "data", Size: 5, Mode: 0o640}
	if a.Again || len(a.Wanted) != 1 || a.Wanted[0] != want || a.State != "STAGEIN" || a.WalltimeS != 300 || !a.WalltimeDefaulted {
		t.Errorf("accepted as %+v", a)
	}
	if b, err := c.Submit(ctx, sub); err != nil || !b.Again || b.ID != a.ID {
		t.Errorf("the same key again: %+v, %v", b, err)
	}
	if _, err := c.Uploaded(ctx, a.ID); !errors.Is(err, grid.ErrInvalid) || !strings.Contains(err.Error(), "a b%.txt") {
		t.Errorf("uploaded too early: %v", err)
	}
	if err := c.Upload(ctx, a.ID, "other", 5, strings.NewReader("12345")); !errors.Is(err, grid.ErrNotFound) {
		t.Errorf("a file that is not wanted: %v", err)
	}
	if err := c.Upload(ctx, a.ID, want.Path, 5, strings.NewReader("12345 and more")); err != nil {
		t.Fatal(err)
	}
	// Sent again, it is not read.
	unread := iotestReader(func([]byte) (int, error) { t.Error("a file that is there was sent again"); return 0, io.EOF })
	if err := c.Upload(ctx, a.ID, want.Path, 5, unread); err != nil {
		t.Errorf("uploading again: %v", err)
	}
	st, err := c.Uploaded(ctx, a.ID)
	if err != nil || st.State != "READY" {
		t.Errorf("uploaded: %+v, %v", st, err)
	}
	if got := string(service.Uploads(a.ID)[want.Path]); got != "12345" {
		t.Errorf("uploaded %q", got)
	}
	_, err = c.Submit(ctx, api.Submission{Key: "k2", Document: withFile, Name: "x.jsdl"})
	if !errors.Is(err, grid.ErrInvalid) || !strings.HasPrefix(err.Error(), "x.jsdl:4:") {
		t.Errorf("a source that is not declared: %v", err)
	}
}

func TestUploadOfShrunkenFile(t *testing.T) {
	t.Parallel()
	_, _, c := serve(t, api.Config{})
	a, err := c.Submit(t.Context(), api.Submission{Key: "k", Document: withFile, Files: []api.File{{Path: "data", Size: 5}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Upload(t.Context(), a.ID, "in/a b%.txt", 5, strings.NewReader("123")); err == nil || !strings.Contains(err.Error(), "3 bytes of the declared 5") {
		t.Errorf("got %v", err)
	}
}

type iotestReader func([]byte) (int, error)

func (f iotestReader) Read(b []byte) (int, error) { return f(b) }

func (f iotestReader) Seek(int64, int) (int64, error) { return 0, nil }

func TestOutputs(t *testing.T) {
	t.Parallel()
	service, s, c := serve(t, api.Config{})
	a, err := c.Submit(t.Context(), api.Submission{Key: "k", Document: plain})
	if err != nil {
		t.Fatal(err)
	}
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	if err := service.Leave(a.ID, true, grid.Manifest{{Path: "d/ü%2f #?", Size: int64(len(big)), Mode: 0o600}}, map[string][]byte{"d/ü%2f #?": big}); err != nil {
		t.Fatal(err)
	}
	list, err := c.Outputs(t.Context(), a.ID)
	if err != nil || !list.Complete || len(list.Files) != 1 || list.Files[0].Mode != 0o600 {
		t.Fatalf("outputs: %+v, %v", list, err)
	}
	var got bytes.Buffer
	if _, err := c.Output(t.Context(), a.ID, list.Files[0].Path, &got); err != nil || !bytes.Equal(got.Bytes(), big) {
		t.Errorf("got %d bytes, %v", got.Len(), err)
	}
	if _, err := c.Output(t.Context(), a.ID, "none", &got); !errors.Is(err, grid.ErrNotFound) {
		t.Errorf("an output that is not: %v", err)
	}
	base := "/v1/jobs/" + string(a.ID)
	for _, path := range []string{"/outputs/%2e%2e/x", "/outputs/%2fetc%2fpasswd", "/outputs/a%2f..%2f..%2fb", "/outputs/a%00b", "/outputs/a%2f"} {
		if status, f := raw(t, s.Addresses()[0], nil, "GET", base+path, ""); status != 400 || f.Kind != "invalid" {
			t.Errorf("%s: %d %+v", path, status, f)
		}
	}
	if status, f := raw(t, s.Addresses()[0], nil, "PUT", base+"/files/%2e%2e%2fx", "x"); status != 400 || f.Kind != "invalid" {
		t.Errorf("a way out to upload: %d %+v", status, f)
	}
}
