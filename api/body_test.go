package api_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"gbroker/api"
	"gbroker/grid"
)

// noFlows serves workflows as far as they are not refused before.
type noFlows struct{ api.FlowService }

// A list that says nothing takes no memory, whatever it is a list of: it is counted while it comes.
func TestLongLists(t *testing.T) {
	_, s := start(t, api.Config{Flows: noFlows{}})
	many := func(one string) string { return strings.Repeat(one+",", (api.MaxSubmission-200)/(len(one)+1)) + one }
	var names strings.Builder
	for i := range 1_500_000 {
		fmt.Fprintf(&names, `"%d":1,`, i)
	}
	for _, c := range []struct{ path, body, said string }{
		{"/v1/jobs", `{"key":"k","document":"x","files":[` + many("{}") + `]}`, fmt.Sprintf("more than %d files", grid.MaxFiles)},
		{"/v1/where", `{"document":"x","include":[` + many("{}") + `]}`, fmt.Sprintf("more than %d files", grid.MaxFiles)},
		{"/v1/groups", `{"key":"k","jobs":[` + many("{}") + `]}`, fmt.Sprintf("at most %d jobs", grid.MaxGroup)},
		{"/v1/flows", `{"key":"k","files":[` + many("{}") + `]}`, fmt.Sprintf("more than %d files", grid.MaxFiles)},
		{"/v1/flows", `{"key":"k","tasks":[` + many("{}") + `]}`, fmt.Sprintf("more than %d tasks", api.MaxFlowTasks)},
		{"/v1/flows", `{"key":"k","tasks":[{"after":[` + many(`""`) + `]}]}`, fmt.Sprintf("more than %d tasks", api.MaxFlowTasks)},
		{"/v1/flows", `{"key":"k","tasks":[{"others":[` + many("{}") + `]}]}`, "configurations"},
		{"/v1/flows", `{"key":"k","tasks":[{"sizes":{` + names.String() + `"x":1}}]}`, fmt.Sprintf("more than %d sizes", grid.MaxFiles)},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		status, f := raw(t, s.Addresses()[0], nil, "POST", c.path, c.body)
		runtime.ReadMemStats(&after)
		if status != 400 || !strings.Contains(f.Text, c.said) {
			t.Errorf("%s %.40s: %d %+v", c.path, c.body, status, f)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
			t.Errorf("%s %.40s: %d MiB were allocated to refuse it", c.path, c.body, used>>20)
		}
	}
}

// A file of a declared size that no disk has is refused where it is declared.
func TestDeclaredSize(t *testing.T) {
	t.Parallel()
	_, s := start(t, api.Config{})
	for _, size := range []int64{grid.MaxSandbox + 1, 1<<63 - 1} {
		body := fmt.Sprintf(`{"key":"k","document":"x","files":[{"path":"data","size":%d,"mode":420}]}`, size)
		status, f := raw(t, s.Addresses()[0], nil, "POST", "/v1/jobs", body)
		if status != 400 || !strings.Contains(f.Text, `file "data"`) || !strings.Contains(f.Text, "1024 GiB") {
			t.Errorf("%d bytes: %d %+v", size, status, f)
		}
	}
}

// Bodies that are announced and do not come keep nobody from submitting.
func TestSlowBodies(t *testing.T) {
	t.Parallel()
	_, s := start(t, api.Config{})
	path := strings.TrimPrefix(s.Addresses()[0], "unix://")
	for range 8 {
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", api.MaxSubmission)
		b := make([]byte, 12)
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := io.ReadFull(c, b); err != nil || string(b) != "HTTP/1.1 100" { // it is being read
			t.Fatalf("%q %v", b, err)
		}
	}
	if status, f := raw(t, s.Addresses()[0], nil, "POST", "/v1/jobs", `{"key":"k","document":"x"}`); status != 400 || f.Kind != "invalid" {
		t.Errorf("a small one beside them: %d %+v", status, f)
	}
}

// One user's bodies take no more than that user's share.
func TestShareOfBodies(t *testing.T) {
	t.Parallel()
	_, s := start(t, api.Config{Limits: api.Limits{SubmissionBytes: 1 << 20, SubmissionBytesEach: 128 << 10}})
	big := `{"key":"k","document":"` + strings.Repeat("x", 200<<10) + `"}`
	status, f := raw(t, s.Addresses()[0], func(r *http.Request) { r.Header.Set("Expect", "100-continue") }, "POST", "/v1/jobs", big)
	if status != 503 || !strings.Contains(f.Text, "too many submissions at once") {
		t.Errorf("%d %+v", status, f)
	}
	if status, f := raw(t, s.Addresses()[0], nil, "POST", "/v1/jobs", `{"key":"k","document":"x"}`); status != 400 {
		t.Errorf("its room was not given back: %d %+v", status, f)
	}
}
