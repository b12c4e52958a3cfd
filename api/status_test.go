package api

import (
	"encoding/json"
	"errors"
	"math"
	"os/user"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/plan"
)

func siteName(p grid.PeerID) string { return strings.ToLower(string(p)) }

// The JSON that users' scripts rely on, byte for byte.
func TestStatusJSON(t *testing.T) {
	t.Parallel()
	r := grid.Record{
		Job: grid.Job{ID: "here.00000000000000000000000001", Name: "n", Home: "HERE", User: grid.User{Home: "HERE", Name: "alice"},
			Demand: grid.Demand{
				Chunks:       []grid.Chunk{{Count: 2, Processes: 4, Cores: 3, Memory: 5, Resources: []grid.Resource{{Name: "gpu:a100", Amount: 2}}}},
				Architecture: "arm", System: "LINUX", Properties: []string{"ib"}, Exclusive: true,
			}, Walltime: 90_500, Queue: "q"},
		State:     grid.Assigned,
		Submitted: 1_700_000_000_001,
		Tenure:    grid.Tenure{Owner: "THERE", Epoch: grid.Epoch{Term: 1, Hop: 2}},
	}
	for _, c := range []struct {
		change func()
		want   string
	}{
		{func() {}, `{"id":"here.00000000000000000000000001","name":"n","state":"ASSIGNED","home":"here","owner":"there","epoch":"1.2","user":"alice","reason":"",` +
			`"submitted":"2023-11-14T22:13:20.001Z","started":null,"finished":null,"ended":null,"exit_code":null,"signal":null,"processes":8,"walltime_s":90.5,` +
			`"walltime_defaulted":false,"queue":"q","cancel_requested":false,"contact_lost_since":null,"start_estimate_now":null,"start_estimate_at_submit":null,"start_estimate_at_queue":null,"demand":{"chunks":[{"count":2,"processes":4,"cores":3,"memory_bytes":5,"resources":{"gpu:a100":2}}],"architecture":"arm","operating_system":"LINUX","properties":["ib"],"exclusive":true},"missing_outputs":[],"used":null}`},
		{func() {
			r.State, r.HasExit, r.ExitCode, r.Signal, r.CancelRequested, r.Reason = grid.Killed, true, 143, 15, true, "by alice"
			r.Usage, r.Local = grid.Usage{CPU: 1250, Nodes: "n1,n2"}, "4711.head"
			r.ContactLost, r.PredictedStart, r.EstimateNow, r.ExpectedStart = 1000, math.MaxInt64, math.MinInt64, 2000
		}, `{"id":"here.00000000000000000000000001","name":"n","state":"KILLED","home":"here","owner":"there","epoch":"1.2","user":"alice","reason":"by alice",` +
			`"submitted":"2023-11-14T22:13:20.001Z","started":null,"finished":null,"ended":null,"exit_code":143,"signal":15,"processes":8,"walltime_s":90.5,` +
			`"walltime_defaulted":false,"queue":"q","cancel_requested":true,"contact_lost_since":"1970-01-01T00:00:01.000Z",` +
			`"start_estimate_now":"0000-01-01T00:00:00.000Z","start_estimate_at_submit":"9999-12-31T23:59:59.999Z","start_estimate_at_queue":"1970-01-01T00:00:02.000Z",` +
			`"demand":{"chunks":[{"count":2,"processes":4,"cores":3,"memory_bytes":5,"resources":{"gpu:a100":2}}],"architecture":"arm","operating_system":"LINUX","properties":["ib"],"exclusive":true},"missing_outputs":[],"used":{"cpu_s":1.25,"memory_bytes":null,"nodes":["n1","n2"]},"local_id":"4711.head"}`},
	} {
		c.change()
		s := newStatus(&r, siteName)
		b, err := json.Marshal(s)
		if err != nil || string(b) != c.want {
			t.Errorf("got  %s, %v\nwant %s", b, err, c.want)
		}
		var back Status
		if err := json.Unmarshal(b, &back); err != nil {
			t.Errorf("reading it back: %v", err)
		}
		if again, err := json.Marshal(back); err != nil || string(again) != c.want {
			t.Errorf("read back and written again: %s, %v", again, err)
		}
	}
}

func TestExplanationJSON(t *testing.T) {
	t.Parallel()
	r := grid.Record{Job: grid.Job{ID: "here.00000000000000000000000001"}}
	decisions := []grid.Decision{{
		At: 1000, Epoch: grid.Epoch{Term: 1}, Chosen: "here", Candidates: []grid.Candidate{
			{Site: "here", Size: 7, Wait: 1500, Safe: 2500, Run: 2000, Total: 3500, Chosen: true},
			{Site: "z", Size: 7, Wait: 1500, Safe: grid.Unsure, Run: 2000, Total: 3500},
			{Site: "x", Size: 7, Bandwidth: 3.5, Measured: true, Delivery: 2000, Run: 1000, Refusal: &grid.Refusal{Kind: grid.Permanent, Reason: "few", Asked: "16", Available: "x86_64"}},
			{Site: "y", Bandwidth: math.Inf(1), Refusal: &grid.Refusal{Kind: grid.Temporary, Reason: "mute", Again: 1500}},
		}}, {At: 2000}, {At: 3000, Epoch: grid.Epoch{Term: 1}, Chosen: "here", Unmoved: true, Stays: "no gain"}}
	want := `{"id":"here.00000000000000000000000001","demand":{"chunks":[],"architecture":"","operating_system":"","properties":[],"exclusive":false},"decisions":[{"at":"1970-01-01T00:00:01.000Z","epoch":"1.0","chosen":"here","candidates":[` +
		`{"site":"here","size_bytes":7,"bandwidth_bytes_per_s":null,"measured":false,"delivery_s":0,"wait_s":1.5,"safe_wait_s":2.5,"run_s":2,"total_s":3.5,"chosen":true,"refusal":null},` +
		`{"site":"z","size_bytes":7,"bandwidth_bytes_per_s":null,"measured":false,"delivery_s":0,"wait_s":1.5,"safe_wait_s":null,"run_s":2,"total_s":3.5,"chosen":false,"refusal":null},` +
		`{"site":"x","size_bytes":7,"bandwidth_bytes_per_s":3.5,"measured":true,"delivery_s":2,"wait_s":null,"safe_wait_s":null,"run_s":1,"total_s":null,"chosen":false,"refusal":{"kind":"permanent","reason":"few","asked":16,"available":"x86_64","again_after_s":null}},` +
		`{"site":"y","size_bytes":0,"bandwidth_bytes_per_s":null,"measured":false,"delivery_s":0,"wait_s":null,"safe_wait_s":null,"run_s":0,"total_s":null,"chosen":false,"refusal":{"kind":"temporary","reason":"mute","asked":null,"available":null,"again_after_s":1.5}}]},` +
		`{"at":"1970-01-01T00:00:02.000Z","epoch":"0.0","chosen":null,"candidates":[]}],` +
		`"stay":{"decision":{"at":"1970-01-01T00:00:03.000Z","epoch":"1.0","chosen":"here","candidates":[]},"why":"no gain"},"allocation":null,"reason":""}`
	b, err := json.Marshal(newExplanation(&r, decisions, nil))
	if err != nil || string(b) != want {
		t.Errorf("got  %s, %v\nwant %s", b, err, want)
	}
	var back Explanation
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if again, err := json.Marshal(back); err != nil || string(again) != want {
		t.Errorf("read back and written again: %s, %v", again, err)
	}
}

func TestSiteJSON(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v    SiteView
		want string
	}{
		{SiteView{Site: grid.Site{Name: "a", Processes: 4, Speed: 1.5, Load: grid.Load{Cores: 4, Busy: 3, Waiting: 2}}, Peer: "P", Self: true, State: grid.Alive, Version: "0.1",
			Started: 9, Accuracy: plan.Accuracy{Waited: 8, Mean: 7.5, Median: 6, P90: 5, Within60: 0.5, Within600: 0.75, TooEarly: 0.25}},
			`{"name":"a","peer":"P","state":"alive","contact":"","rtt_s":null,"bandwidth":[],"processes":4,"speed":1.5,"self":true,"send":false,"draining":false,"load":{"cores":4,"busy":3,"waiting":2},"version":"0.1","clock_offset_s":null,"clock_bound_s":null,"alarm":"","estimates":{"started":9,"waited":8,` +
				`"mean_absolute_error_s":7.5,"median_absolute_error_s":6,"p90_absolute_error_s":5,"within_60s":0.5,"within_600s":0.75,"too_early":0.25}}`},
		{SiteView{Site: grid.Site{Name: "b", Speed: math.NaN(), Draining: true}, Send: true, State: grid.Doubtful,
			Link: grid.Link{RTT: 2, RTTFine: 0.0015, Rates: []grid.Rate{{Size: 1024, BytesPerSecond: 1e6, Measured: true}}}},
			`{"name":"b","peer":"","state":"doubtful","contact":"","rtt_s":0.0015,"bandwidth":[{"size_bytes":1024,"bytes_per_s":1000000,"measured":true}],"processes":0,"speed":0,"self":false,"send":true,"draining":true,"load":null,"version":"","clock_offset_s":null,"clock_bound_s":null,"alarm":"","estimates":null}`},
		{SiteView{Site: grid.Site{Name: "h"}, State: grid.Alive, Qualities: []grid.Quality{{Age: 1500, Spread: 0.25, ByHour: true}, {}},
			Link: grid.Link{Rates: []grid.Rate{{Size: 1024, BytesPerSecond: 500, Measured: true}, {Size: 2048, BytesPerSecond: 700}}}},
			`{"name":"h","peer":"","state":"alive","contact":"","rtt_s":null,"bandwidth":[{"size_bytes":1024,"bytes_per_s":500,"measured":true,"age_s":1.5,"spread":0.25,"by_hour":true},` +
				`{"size_bytes":2048,"bytes_per_s":700,"measured":false}],"processes":0,"speed":0,"self":false,"send":false,"draining":false,"load":null,"version":"","clock_offset_s":null,"clock_bound_s":null,"alarm":"","estimates":null}`},
		{SiteView{Site: grid.Site{Name: "c", Reach: []grid.SiteName{"a", "b"}}, State: grid.Dead, Contact: grid.Refused, Offset: -1500, Bound: 2, Alarms: []string{"a duplicate", "a full disk"}},
			`{"name":"c","peer":"","state":"dead","contact":"refused","rtt_s":null,"bandwidth":[],"processes":0,"speed":0,"self":false,"send":false,"draining":false,"load":null,"version":"","clock_offset_s":-1.5,"clock_bound_s":0.002,"alarm":"a duplicate; a full disk","estimates":null,"reach":["a","b"]}`},
	} {
		if b, err := json.Marshal(newSite(c.v)); err != nil || string(b) != c.want {
			t.Errorf("got  %s, %v\nwant %s", b, err, c.want)
		}
	}
}

// While the directory of users is down, nobody becomes somebody else.
func TestNames(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	calls := 0
	answer := func() (*user.User, error) { return &user.User{Username: "alice"}, nil }
	n := &names{now: func() time.Time { return now }, known: make(map[uint32]knownName),
		lookup: func(string) (*user.User, error) { calls++; return answer() }}
	check := func(want string, wantCalls int) {
		t.Helper()
		if got, err := n.of(7); err != nil || got != want || calls != wantCalls {
			t.Errorf("got %q, %v after %d look-ups, want %q after %d", got, err, calls, want, wantCalls)
		}
	}
	check("alice", 1)
	check("alice", 1)
	now = now.Add(2 * nameTTL)
	answer = func() (*user.User, error) { return nil, errors.New("directory down") }
	if got, err := n.of(7); !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("with the directory down: %q, %v", got, err)
	}
	answer = func() (*user.User, error) { return nil, user.UnknownUserIdError(7) }
	check("uid:7", 3)
	check("uid:7", 3)
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		address, network, target string
	}{
		{"unix:///run/s", "unix", "/run/s"},
		{"http://127.0.0.1:80", "tcp", "127.0.0.1:80"},
		{"http://localhost:80/", "tcp", "localhost:80"},
		{"http://[::1]:80", "tcp", "[::1]:80"},
		{"unix://run/s", "", ""},
		{"unix:///" + strings.Repeat("x", 107), "", ""},
		{"/run/s", "", ""},
		{"", "", ""},
		{"https://127.0.0.1:80", "", ""},
		{"http://127.0.0.1", "", ""},
		{"http://10.0.0.1:80", "", ""},
		{"http://example.com:80", "", ""},
		{"http://u:p@127.0.0.1:80", "", ""},
		{"http://127.0.0.1:80/v1", "", ""},
	} {
		network, target, err := parseAddress(c.address)
		if c.network == "" {
			if !errors.Is(err, grid.ErrInvalid) {
				t.Errorf("%q: %q %q %v, want an error", c.address, network, target, err)
			}
			continue
		}
		if err != nil || network != c.network || target != c.target {
			t.Errorf("%q: %q %q %v", c.address, network, target, err)
		}
	}
}

func TestShare(t *testing.T) {
	t.Parallel()
	s := newShare[string](4, 2, 1)
	if !s.take("a", 2, false) || s.take("a", 1, false) || s.take("a", 1, true) || s.take("b", 2, false) || !s.take("b", 1, false) {
		t.Error("the limits do not hold")
	}
	if s.take("c", 1, false) || !s.take("c", 1, true) || s.take("d", 1, true) {
		t.Error("the last one is not an administrator's")
	}
	s.give("a", 2)
	s.give("b", 1)
	s.give("c", 1)
	if len(s.by) != 0 || s.used != 0 || !s.take("b", 2, false) {
		t.Errorf("what was given back is not free: %+v", s)
	}
}
