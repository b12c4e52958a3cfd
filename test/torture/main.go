// Command torture runs five sites on this machine, hands them jobs and does to them,
// by a script drawn from a seed, what a bad month does: brokers are killed with -9 and
// started again, stopped for seconds, cut off from each other, and their disks are filled.
// Each job appends a line to a ledger outside all data folders when its program starts and
// when it ends. Afterwards, with all brokers up, every job must have ended as it had to, every
// program must have started once, nothing may have started after its user was told KILLED, all
// brokers must agree, and nothing may be left running or lying about; see [check].
//
//	torture [-seed N] [-short] [-bin DIR] [-keep DIR] [-v]
//
// It prints what was done and found, and ends with 1 if anything was wrong. The seed
// decides jobs, graph and script, not the order in which the machine runs them.
//
// Networks and disks of the sites are of the kernel's namespaces, so that the run needs no
// privileges, touches nothing of the machine and leaves nothing behind, but for its folder if it
// is killed itself; see box.go. Where the kernel gives a user none, brokers are killed and stopped
// only, and it says so.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"

	"gbroker/test/cluster"
)

func main() {
	os.Exit(boxed(program))
}

// program is the run as the command line says.
func program(isolated bool) int {
	o := options{form: full, isolated: isolated, out: os.Stdout}
	flag.Uint64Var(&o.seed, "seed", rand.Uint64N(1e6), "what jobs, graph and script are drawn from")
	short := flag.Bool("short", false, "the form that is part of the tests")
	bin := flag.String("bin", "", "folder of the built programs; left out, they are built for the occasion")
	flag.StringVar(&o.keep, "keep", "", "copy the folder of the run, logs and journals in it, to this one")
	flag.BoolVar(&o.verbose, "v", false, "tell each fault")
	flag.Parse()
	if *short {
		o.form = shorter
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := withPrograms(ctx, *bin, func(p cluster.Programs) error {
		o.programs = p
		return torture(ctx, o)
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		return 1
	}
	return 0
}

// withPrograms builds the programs, unless they are in bin, for as long as do takes.
func withPrograms(ctx context.Context, bin string, do func(cluster.Programs) error) (err error) {
	if bin != "" {
		return do(cluster.In(bin))
	}
	dir, err := os.MkdirTemp("", "gbt-bin-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	p, err := cluster.Build(ctx, root, dir)
	if err != nil {
		return err
	}
	return do(p)
}

// form is how much is done.
type form struct {
	jobs     int
	faults   int // of each kind
	handoffs int // at least
	span     time.Duration
	settle   time.Duration // bound on the time from the last fault to the end of the last job
}

var (
	full    = form{jobs: 300, faults: 30, handoffs: 50, span: 130 * time.Second, settle: 3 * time.Minute}
	shorter = form{jobs: 40, faults: 5, handoffs: 5, span: 18 * time.Second, settle: 2 * time.Minute}
)
