// Command mutate proves tests by mutation: it changes one place of a package at a time,
// runs the package's own quick tests on the changed code, and tells which changes no test
// noticed. A survivor is a rule that nobody tests, or a change that changes nothing: a
// person has to look.
//
//	mutate [-C FOLDER] [-n 20] [-seed N] [-first 10m] [-limit 20s] [-run REGEXP] [-files REGEXP] [-changes REGEXP] PACKAGE...
//
// # Mutants
//
//	compare    == and !=, < and <=, > and >= are exchanged
//	logic      && and || are exchanged
//	condition  the condition of an if, or of a case of a switch over conditions, is taken as true, or as false
//	sum        + and - of two operands that are no texts are exchanged
//	number     an integer literal becomes one more
//	statement  an assignment, a call, x++ or defer is left out
//	line       a line of an embedded shell script is left out
//
// Places are drawn at random over all packages named, with a seed from the clock unless one
// is given; it is printed, and repeats the sample. Nothing in the tree is changed: the go
// command reads the mutants by -overlay. They are built together, into one program of tests:
// each change stands beside its original, and the environment says which of them counts. A
// change that has no place there, as in the length of an array, is built alone. One that does
// not build is drawn anew and counts for nothing. Each test is run alone on the code as it is,
// which tells by which mutants it comes: on these alone it is run again. One that no test comes by is told as
// unreached; it survives. One whose tests take five times the processor's time that they took on
// the code as it is runs in a circle, and counts as killed. So does one whose tests take ten times
// as long, if those of the code as it is take less than a quarter of that just then; if they do
// not, the machine has become slower: the limit is raised and the mutant tried again, and what
// exceeds it three times so is unsure, and counts for nothing. All three are told. A run that is
// interrupted prints the score of what it has tried.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	s := sample{}
	flag.StringVar(&s.folder, "C", ".", "the folder of the module")
	flag.IntVar(&s.number, "n", 20, "how many mutants of each package")
	flag.Uint64Var(&s.seed, "seed", uint64(time.Now().UnixNano()), "repeats a sample")
	flag.DurationVar(&s.first, "first", 10*time.Minute, "the limit of the tests on the code as it is")
	flag.DurationVar(&s.limit, "limit", 20*time.Second, "the least limit of those of one mutant, of time and of processor time")
	flag.StringVar(&s.run, "run", "", "only these tests, as go test takes it")
	flag.StringVar(&s.files, "files", "", "only what is in files of these names")
	flag.StringVar(&s.changes, "changes", "", "only changes that are told so, as 'condition: (if|case) false', or 'spread.go:82: ' for those of a line")
	flag.Parse()
	s.packages = flag.Args()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := s.all(ctx, os.Stdout)
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}
