package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"gbroker/api"
	"gbroker/pbs/slurm/slurmtest"
	"gbroker/test/cluster"
)

// reservedIn are the reservations that Slurm shows.
func reservedIn(t *testing.T, c *slurmtest.Cluster) (names []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := c.Command(ctx, "scontrol", "--oneliner", "show", "reservation").CombinedOutput()
	must(t, err)
	for _, line := range strings.Split(string(out), "\n") {
		if name, is := strings.CutPrefix(line, "ReservationName="); is {
			names = append(names, strings.Fields(name)[0])
		}
	}
	return names
}

// live are those of a site's book that it holds, or means to.
func live(t *testing.T, s site) (n int) {
	for _, h := range told[[]api.HeldReservation](t, s, "reservations") {
		if h.State != "RELEASED" && h.State != "EXPIRED" && h.State != "LOST" {
			n++
		}
	}
	return n
}

// A reservation is real: it stands in Slurm, another account's job does not enter it, the job that it is for
// does, and at the end nothing is left.
func TestSlurmReservationOfAUser(t *testing.T) {
	t.Parallel()
	dir := place(t)
	c := take(t, "small")["small"]
	s := overSlurm(t, c, dir, "small", cluster.Options{})
	start(t, s)
	sees(t, s, map[string]int{"small": 2})
	id := strings.TrimSpace(client(t, s, "reserve", "--nodes", "1", "--at", "8s", "--for", "10m"))
	names := reservedIn(t, c)
	if len(names) != 1 {
		t.Fatalf("Slurm shows %v", names)
	}
	outside := stranger(t, c, "sleep 5", "-n1", "--time=1")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if inside, err := c.Command(ctx, "sbatch", "--uid=65534", "--reservation="+names[0], "--chdir=/", "--wrap", "true").CombinedOutput(); err == nil {
		t.Errorf("another account's job enters: %s", inside)
	}
	job := work{script: `echo in`, cpus: 1, walltime: 60, output: "out.txt"}.write(t, dir, "in")
	completed(t, s, strings.TrimSpace(client(t, s, "submit", "--reservation", id, job)), "small")
	eventually(t, "nothing is to be left in Slurm", func() bool { return len(reservedIn(t, c)) == 0 })
	if h := holding(t, s, id); h.State != "RELEASED" {
		t.Errorf("it is %+v", h)
	}
	eventually(t, "the job of another account is to run after it", func() bool { return stateOf(t, c, outside) == "" || stateOf(t, c, outside) == "R" })
}

// A job of the user that a reservation is for enters it by its name and that of its account, and not without: its holder
// is told, and so is the log.
func TestSlurmReservationEnteredByName(t *testing.T) {
	t.Parallel()
	dir := place(t)
	c := take(t, "small")["small"]
	s := overSlurm(t, c, dir, "small", cluster.Options{})
	start(t, s)
	sees(t, s, map[string]int{"small": 2})
	id := strings.TrimSpace(client(t, s, "reserve", "--nodes", "1", "--at", "20m", "--for", "10m"))
	names := reservedIn(t, c)
	if len(names) != 1 {
		t.Fatalf("Slurm shows %v", names)
	}
	if out, err := c.Command(t.Context(), "sbatch", "--reservation="+names[0], "--chdir=/", "--output=/dev/null", "--wrap", "true").CombinedOutput(); err == nil {
		t.Errorf("by the name alone it is let in: %s", out)
	}
	_, account, _ := strings.Cut(c.Run(t, "scontrol", "show", "res", names[0]), "Accounts=")
	account, _, _ = strings.Cut(account, " ")
	intruding := strings.TrimSpace(c.Run(t, "sbatch", "--parsable", "--reservation="+names[0], "--account="+account, "--chdir=/", "--output=/dev/null", "--wrap", "true"))
	s.Kill() // the book is compared at the start, and then at intervals
	start(t, s)
	eventually(t, "the holder is told", func() bool {
		return strings.Contains(holding(t, s, id).Reason, "another local job names it, and can take its nodes: "+intruding+" of ")
	})
	if h := holding(t, s, id); h.State != "CONFIRMED" {
		t.Errorf("it is %+v", h)
	}
	c.Run(t, "scancel", intruding)
	client(t, s, "release", id)
	eventually(t, "nothing is to be left in Slurm", func() bool { return len(reservedIn(t, c)) == 0 })
}

// The broker is killed while a reservation is made, confirmed and given up, each time a little later: the book
// and Slurm come to agree, and what nobody wants is gone.
func TestSlurmReservationThroughKills(t *testing.T) {
	t.Parallel()
	dir := place(t)
	c := take(t, "small")["small"]
	s := overSlurm(t, c, dir, "small", cluster.Options{})
	start(t, s)
	sees(t, s, map[string]int{"small": 2})
	agree := func(what string) {
		t.Helper()
		eventually(t, what, func() bool { return len(reservedIn(t, c)) == live(t, s) })
	}
	for moment := range 6 {
		cmd := s.Command(t.Context(), "reserve", "--nodes", "1", "--at", "20m", "--for", "1m")
		must(t, cmd.Start())
		time.Sleep(time.Duration(20+70*moment) * time.Millisecond) //house:allow sleep: the moment of the kill is what is tested
		s.Kill()
		_ = cmd.Wait()
		start(t, s)
		agree("after a kill the book and Slurm are to agree")
		for _, h := range told[[]api.HeldReservation](t, s, "reservations") {
			if h.State == "CONFIRMED" || h.State == "TENTATIVE" {
				cmd := s.Command(t.Context(), "release", string(h.ID))
				must(t, cmd.Start())
				time.Sleep(time.Duration(10+30*moment) * time.Millisecond) //house:allow sleep: the moment of the kill is what is tested
				s.Kill()
				_ = cmd.Wait()
				start(t, s)
				client(t, s, "release", string(h.ID))
			}
		}
		eventually(t, "what was given up is to be gone", func() bool { return len(reservedIn(t, c)) == 0 })
	}
}
