package daemon

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/overlay"
	"gbroker/wire"
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
				believed := belief(ofHome)
				if c.at != "home" {
					believed = ofOwner("a.1", "home", overlay.OwnerRecord{Owner: c.at})
				}
				err := elsewhere{}.relay(w, r, believed, here)
				if w.Header().Get(api.UnconfirmedHeader) != "" {
					t.Error("it is marked as unconfirmed")
				}
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

// What one answers who has had a job, in the place of its home, is passed on with the word that nobody confirms it: he may have handed
// the job on, and goes on signing. His own header for that does not count.
func TestAnswerInPlaceOfTheHomeIsUnconfirmed(t *testing.T) {
	t.Parallel()
	key := func() (overlay.Key, grid.PeerID) {
		k, err := overlay.NewKey()
		if err != nil {
			t.Fatal(err)
		}
		return k, overlay.PeerIDOf(k)
	}
	homeKey, home := key()
	formerKey, former := key()
	const id = grid.JobID("a.01ARZ3NDEKTSV4RRFFQ69G5FAV")
	o := ownership{Digest: grid.Hash{1}}
	for _, by := range []struct {
		key overlay.Key
		at  grid.Epoch
	}{{homeKey, grid.Epoch{Term: 1, Hop: 1}}, {formerKey, grid.Epoch{Term: 1, Hop: 1000}}} {
		signature, err := by.key.Sign(wire.CertificateText(id, o.Digest, by.at, former))
		if err != nil {
			t.Fatal(err)
		}
		o.Certificates = append(o.Certificates, grid.Certificate{Epoch: by.at, To: former, Signature: signature})
	}
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	here, there := net.Pipe()
	defer there.Close()
	go func() {
		b := make([]byte, 4096)
		if _, err := there.Read(b); err == nil {
			fmt.Fprintf(there, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n%s: all is well\r\n%s: %s\r\n\r\n{}", api.UnconfirmedHeader, api.ProofHeader,
				base64.RawURLEncoding.EncodeToString(text))
		}
	}()
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/v1/jobs/"+string(id), nil)
	believed := ofOwner(id, home, overlay.OwnerRecord{Owner: former, Term: 1, Hop: 1000})
	if err := (elsewhere{}).relay(w, r, believed, here); err != nil || w.Body.String() != "{}" {
		t.Fatalf("%v, %q", err, w.Body)
	}
	why := w.Header().Get(api.UnconfirmedHeader)
	if !strings.Contains(why, "has, or once had, the job") || !strings.Contains(why, string(former)) {
		t.Errorf("the answer says of itself: %q", why)
	}
}

// The words of ours that stand beside an answer come with it, as those of a piece of a log; what brokers say to each other does not.
func TestRelayedHeaders(t *testing.T) {
	t.Parallel()
	here, there := net.Pipe()
	defer there.Close()
	go func() {
		b := make([]byte, 4096)
		if _, err := there.Read(b); err == nil {
			fmt.Fprintf(there, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nGbroker-Run: 1\r\nGbroker-Offset: 40\r\nGbroker-Site: b\r\nSet-Cookie: x=1\r\n%s: x\r\n%s: y\r\n\r\nab",
				api.UnconfirmedHeader, api.ProofHeader)
		}
	}()
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/v1/jobs/a.1/log", nil)
	if err := (elsewhere{}).relay(w, r, ofHome, here); err != nil || w.Body.String() != "ab" {
		t.Fatalf("%v, %q", err, w.Body)
	}
	for name, want := range map[string]string{"Gbroker-Run": "1", "Gbroker-Offset": "40", "Gbroker-Site": "b", "Set-Cookie": "", api.UnconfirmedHeader: "", api.ProofHeader: ""} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// Without a grid key no pass is given, and one that is shown leads no further: who asks reads why.
func TestPassWithoutGridKey(t *testing.T) {
	t.Parallel()
	key, err := overlay.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	over, err := overlay.New(overlay.Config{
		Key: key, Site: grid.Site{Name: "here", Processes: 1, Speed: 1},
		Hello: func() wire.Hello { return wire.Hello{} }, Receive: func(grid.PeerID, wire.Message) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	e := elsewhere{&site{self: over.Peer(), overlay: over}}
	if _, err := e.Pass(api.Identity{Name: "ann"}, nil); err == nil || !strings.Contains(err.Error(), "gbroker grid") {
		t.Errorf("a pass without a grid key: %v", err)
	}
	r := httptest.NewRequest(http.MethodGet, "/v1/jobs/far.1", nil)
	r.SetPathValue("id", "far.1")
	known, err := e.Forward(nil, r, api.Pass{Home: "far", Site: "far"})
	if known || !errors.Is(err, grid.ErrNotFound) || !strings.Contains(err.Error(), "gbroker grid") {
		t.Errorf("a pass that is shown without a grid key: %v, %v", known, err)
	}
}
