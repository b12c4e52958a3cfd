package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gbroker/test/cluster"
)

// A webhook is told of the begin and the end, again where it failed; where the site does not allow it, nobody is.
func TestNotifyByWebhook(t *testing.T) {
	t.Parallel()
	dir := place(t)
	told, failures := make(chan string, 10), atomic.Int32{}
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if failures.Add(1) == 1 {
			http.Error(w, "not now", http.StatusServiceUnavailable)
			return
		}
		text, _ := io.ReadAll(r.Body)
		told <- string(text)
	}))
	defer hook.Close()
	terms := `<gb:Notify when="begin">` + hook.URL + `/begin</gb:Notify><gb:Notify when="end">` + hook.URL + `/end</gb:Notify><gb:Notify when="fail">` + hook.URL + `/fail</gb:Notify>`
	open := newSite(t, dir, "a", cluster.Options{Nodes: 1, Cores: 1, More: "outbound: [127.0.0.1]"})
	shut := newSite(t, dir, "b", cluster.Options{Nodes: 1, Cores: 1})
	start(t, open, shut)
	exits(t, open, work{script: "exit 3", terms: terms}.submit(t, open, dir, "told"), 3)
	heard := ""
	for range 3 {
		select {
		case text := <-told:
			heard += text
		case <-time.After(20 * time.Second):
			t.Fatalf("told was only %s", heard)
		}
	}
	for _, want := range []string{`"occasion":"begin"`, `"occasion":"end"`, `"occasion":"fail"`, `"exit_code":3`, `"name":"told"`} {
		if !strings.Contains(heard, want) {
			t.Errorf("told was %s, without %s", heard, want)
		}
	}
	id := work{script: "true", terms: terms}.submit(t, shut, dir, "untold")
	exits(t, shut, id, 0)
	eventually(t, "it is not given up", func() bool { return strings.Contains(client(t, shut, "history", id), "is given up") })
	if len(told) > 0 {
		t.Errorf("a site that does not allow it told %s", <-told)
	}
}
