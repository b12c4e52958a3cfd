package control

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"gbroker/grid"
)

// What a part says at its barrier, and what it is told there, comes back as it was written.
func TestGathering(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, there, err := ReadArrived(dir, at); there || err != nil {
		t.Errorf("it has arrived before it said so: %v", err)
	}
	for _, a := range []Arrival{
		{At: 5, Process: Process{PID: 7, Start: 8, Boot: "b"}, Hosts: []string{"n1:2", "n2:1", "n1:1"}, Address: "n1:20001"},
		{At: 5, Hosts: []string{"n1:2"}, Rendezvous: "n1:20002"},
		{At: 6, Hosts: []string{"n3:1"}}, // its batch system has started it again, elsewhere
	} {
		if err := WriteArrived(dir, at, a); err != nil {
			t.Fatal(err)
		}
		if got, there, err := ReadArrived(dir, at); !there || err != nil || !reflect.DeepEqual(got, a) {
			t.Errorf("it said %+v, read is %+v, %v", a, got, err)
		}
	}
	sites := []grid.Gathered{{Site: "alpha", Hosts: []string{"n1:2"}, Address: "n1:20001"}, {Site: "beta", Hosts: []string{"m1:1", "m2:1"}, Rendezvous: "m1:20002"}, {Site: "gamma", Hosts: []string{"k1:1"}}}
	if _, there, err := ReadGo(dir, at); there || err != nil {
		t.Errorf("go is there before it was said: %v", err)
	}
	for range 2 {
		if err := Gather(dir, at, false, sites); err != nil {
			t.Fatal(err)
		}
	}
	if err := WriteGo(dir, at, sites[:1]); err != nil { // the first word stands
		t.Fatal(err)
	}
	if got, there, err := ReadGo(dir, at); !there || err != nil || !reflect.DeepEqual(got, sites) {
		t.Errorf("go says %+v, %v", got, err)
	}
	for want := range 2 {
		if begun, err := Begun(dir, at); begun != (want == 1) || err != nil {
			t.Errorf("begun is %v, %v", begun, err)
		}
		if err := Gather(dir, at, true, nil); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(path(dir, "go", at)); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("the account of the program cannot read go: %v, %v", info.Mode(), err)
	}
	if _, there, err := ReadToken(dir, at); there || err != nil {
		t.Errorf("what is at the barrier counts as started: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".tmp*")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

// The largest job that can be gathered fits into one file.
func TestTheWidestGatheringFits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var sites []grid.Gathered
	for i := range grid.MaxPartSites {
		s := grid.Gathered{Site: grid.SiteName(strings.Repeat("s", grid.MaxName)), Address: strings.Repeat("a", grid.MaxRendezvous-6) + ":65535", Rendezvous: strings.Repeat("b", grid.MaxRendezvous-6) + ":65535"}
		for n := range grid.MaxPartHosts {
			s.Hosts = append(s.Hosts, fmt.Sprintf("%0*d:%d", grid.MaxLabel, i*10000+n, grid.MaxProcesses))
		}
		sites = append(sites, s)
	}
	if err := WriteGo(dir, at, sites); err != nil {
		t.Fatal(err)
	}
	if got, there, err := ReadGo(dir, at); !there || err != nil || !reflect.DeepEqual(got, sites) {
		t.Errorf("%d sites come back, %v", len(got), err)
	}
}

// The program's account can write here: what is no host and no address is not believed.
func TestWhatIsNoArrivalIsDamaged(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"address n1\nhosts n1:1", "address n1:0\nhosts n1:1", "address n1:65536\nhosts n1:1", "address :80\nhosts n1:1", "address a b:80\nhosts n1:1",
		"address n1:080\nhosts n1:1", "address $(x):80\nhosts n1:1", "address \nhosts n1", "address \nhosts n1:0", "address \nhosts n1:x", "address \nhosts -n:1",
		"address \nhosts n1:01", "address \nhosts n1:1:2", "address \nhosts n1:9999999", "address \nhosts n1:1\nrendezvous n1", "address \nrendezvous n1:80\nhosts n1:1", "address \nhosts" + strings.Repeat(" n:1", grid.MaxPartHosts+1), "hosts n1:1",
	} {
		dir := t.TempDir()
		content := fmt.Sprintf("gbroker-ctl 1\nattempt %s\nat 1\npid 1\nstart 2\nboot b\n%s\n.\n", at, line)
		if err := os.WriteFile(path(dir, "arrived", at), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if a, _, err := ReadArrived(dir, at); !errors.Is(err, grid.ErrDamaged) {
			t.Errorf("%.60q is believed: %+v, %v", line, a, err)
		}
	}
	if err := WriteGo(t.TempDir(), at, []grid.Gathered{{Site: "A"}}); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("go with a site that has no name: %v", err)
	}
}

// A part starts by no word that is not whole: each site of a go has a name and hosts.
func TestWhatIsNoGoIsDamaged(t *testing.T) {
	t.Parallel()
	good := "site alpha\naddress n1:20001\nhosts n1:2"
	for lines, damaged := range map[string]bool{
		good: false, good + "\n" + strings.Replace(good, "alpha", "A b", 1): true, strings.Replace(good, "n1:2", "n1:0", 1): true,
		good + "\nrendezvous n1:20002": false, good + "\nrendezvous $(x):1": true, good + "\nsite beta": true, good + "\nsite beta\naddress n2:0\nhosts n2:1": true,
	} {
		dir := t.TempDir()
		content := fmt.Sprintf("gbroker-ctl 1\nattempt %s\nat 1\n%s\n.\n", at, lines)
		if err := os.WriteFile(path(dir, "go", at), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if sites, there, err := ReadGo(dir, at); errors.Is(err, grid.ErrDamaged) != damaged || !damaged && (err != nil || !there || len(sites) != 1) {
			t.Errorf("%q: %+v, %v, %v", lines, sites, there, err)
		}
	}
}
