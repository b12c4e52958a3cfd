package supervise

import (
	"reflect"
	"strings"
	"testing"

	"gbroker/grid"
)

func sample() *Spec {
	return &Spec{
		ID:   grid.AttemptID{Job: "here.01ABCDEFGHJKMNPQRSTVWXYZ00", Epoch: grid.Epoch{Term: 1, Hop: 2}, Attempt: 3},
		Name: "a=b\n\xff", Work: "/w", Control: "/c", Limit: 4, Expected: 5, Age: -6, Arrived: 7, Sequence: 8, Grace: 9,
		Site: "here", Path: "/bin", Base: []string{"A=1", "B="},
		Demand: grid.Demand{
			Chunks:       []grid.Chunk{{Count: 1, Processes: 2, Cores: 3, Memory: 4}, {Count: 5, Resources: []grid.Resource{{Name: "gpu:a100", Amount: 2}, {Name: "x", Amount: 1}}}},
			Architecture: "x86_64", System: "LINUX", Properties: []string{"ib", "ssd"}, Exclusive: true, DistinctNodes: true, Hosts: []string{"n1", "n2.x"}, Disk: 7,
			Measures: []grid.Measure{{Of: grid.Bandwidth, Within: []grid.Interval{{Low: 1.5, High: 1e300, LowOpen: true}, {Low: 2}}}, {Of: grid.ClockSpeed, Within: []grid.Interval{{High: 3, HighOpen: true}}}},
		},
		Queue: "long", Reservation: "r7", Held: true, FileLimit: 11, Group: "/g/x",
		Program: grid.Program{
			Executable: "x", Arguments: []string{"", "=", "a=b\x01\xfe"}, Input: "i", Output: "o", Error: "e", Directory: "d",
			Environment: []grid.Variable{{Name: "N", Value: "v=w"}, {Name: "E"}}, Parallel: "MPI", Limits: []grid.Limit{{Name: grid.LimitCore}, {Name: grid.LimitMemory, Value: 10}},
		},
		Part: &grid.Part{Of: "there.01ABCDEFGHJKMNPQRSTVWXYZ00", Round: 2, Rank: 1, Start: 1 << 40, Grace: 3, Within: 4,
			Sites: []grid.PartSite{{Name: "there", Processes: 3}, {Name: "here", Processes: 2}}},
		Ports: grid.DefaultPorts, GPUs: []int{0, 3},
		Shares: []Share{
			{Node: "n1", Processes: 1, Cores: 2, Memory: 3},
			{Node: "n2", Processes: 1, Cores: 2, Memory: 3, Resources: []grid.Resource{{Name: "gpu:a100", Amount: 4}}},
		},
	}
}

func TestSpecComesBack(t *testing.T) {
	t.Parallel()
	want := sample()
	data, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(data)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	for n := range data {
		if _, err := Decode(data[:n]); err == nil {
			t.Fatalf("the first %d of %d bytes are taken for all", n, len(data))
		}
	}
}

func TestSpecMistakes(t *testing.T) {
	t.Parallel()
	data, err := sample().Encode()
	if err != nil {
		t.Fatal(err)
	}
	good := string(data)
	for _, c := range []struct{ old, new, want string }{
		{"gbroker-spec=1", "gbroker-spec=2", "version"},
		{"\x00term=1", "\x00term=x", "no number"},
		{"\x00term=1", "\x00term=4294967296", "too large"},
		{"\x00limit=4", "\x00limit=-4", "negative"},
		{"\x00limit=4", "\x00limit=0", "limit 0"},
		{"\x00limit=4", "\x00colour=4", "unknown"},
		{"\x00control=/c", "\x00control=c", "absolute"},
		{"\x00chunk=1 2", "\x00chunk=2", "3 numbers"},
		{"\x00chunk=1 2 3 4", "\x00chunk=1 2 3 4 5", "word 5"},
		{"\x00chunk=1 2 3 4", "\x00chunk=1 2 3 x=4", "word 4"},
		{"gpu:a100=2 x=1", "gpu:a100=2 x=", "no number"},
		{"gpu:a100=2 x=1", "gpu:a100=2 x=0", "0 of the resource x"},
		{"gpu:a100=2 x=1", "x=2 x=1", "named twice"},
		{"\x00property=ssd", "\x00property=ib", "named twice"},
		{"\x00exclusive=1", "\x00exclusive=2", "0 or 1"},
		{"\x00part-site=here 2", "\x00part-site=here", "1 words"},
		{"\x00part-site=here 2", "\x00part-site=here x", "expected integer"},
		{"00 1 2 1099511627776", "00 2 2 1099511627776", "there is none"},
		{"\x00port=20000", "\x00port=200", "1024"},
		{"\x00job=here.", "\x00job=", "no job identifier"},
	} {
		bad := strings.Replace(good, c.old, c.new, 1)
		if bad == good {
			t.Fatalf("%q is not in the sample", c.old)
		}
		if _, err := Decode([]byte(bad)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.new, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	data, err := sample().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Decode(data)
		if err != nil {
			return
		}
		again, err := s.Encode()
		if err != nil {
			return // a share or variable that no Encode writes
		}
		if s2, err := Decode(again); err != nil || !reflect.DeepEqual(s, s2) {
			t.Fatalf("%+v became %+v, %v", s, s2, err)
		}
	})
}
