package daemon

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gbroker/grid"
	"gbroker/overlay"
)

// What comes over a line is passed on where it is the home's; where another answers, only with a proof; and one who does not
// answer is not waited for without end.
func TestRelay(t *testing.T) {
	t.Parallel()
	const answer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
	for name, c := range map[string]struct {
		at     grid.PeerID
		answer string
		why    string
	}{
		"the home":       {"home", answer, ""},
		"another":        {"liar", answer, "does not prove"},
		"another, bad":   {"liar", strings.Replace(answer, "\r\n\r\n", "\r\nGbroker-Owner: e30\r\n\r\n", 1), "does not prove"},
		"who is silent":  {"home", "", "the line through the grid broke"},
		"another silent": {"liar", "", "the line through the grid broke"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				here, there := net.Pipe()
				defer there.Close()
				go func() {
					defer there.Close()
					b := make([]byte, 4096)
					if _, err := there.Read(b); err != nil {
						return
					}
					io.WriteString(there, c.answer)
					io.Copy(io.Discard, there)
				}()
				began := time.Now()
				w := httptest.NewRecorder()
				r := httptest.NewRequest(http.MethodGet, "/v1/jobs/a.1", nil)
				believed := func(string) error { return nil }
				if c.at != "home" {
					believed = ofOwner("a.1", "home", overlay.OwnerRecord{Owner: c.at})
				}
				err := elsewhere{}.relay(w, r, believed, here)
				if c.why == "" && (err != nil || w.Body.String() != "{}") || c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why) || w.Body.Len() > 0) {
					t.Errorf("%v, %q", err, w.Body)
				}
				if took := time.Since(began); took > answerLimit {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}
