# make build    the programs, into bin/
# make test     everything that is checked: gofmt, vet, the house rules, all tests (under -race where there are goroutines)
# make test-openpbs   the batch system suite against the OpenPBS whose commands are on PATH: as a user, on an idle
#               complex of three or more equal nodes with job_history_enable, which reach each other by ssh without a password
#               (for MPICH); FOLDER=DIR is one that its nodes see
# make test-torque    the same against the TORQUE, with Maui where showq is found, whose commands are on PATH: as a
#               user whom maui.cfg names in ADMIN1 or ADMIN2, on an idle cluster of such nodes; FOLDER=DIR likewise
# make soak     histories of faults on fresh seeds, for FOR=10m (PROFILE=all; SEEDS=A-B repeats those that it tells)
# make soak-pool   20 agents with owners that come and go, 300 jobs with deadlines, kills of agents and of the daemon, for FOR=5m (SEED=N repeats one)
# make soak-flows   histories of workflows through kills, lost answers and full disks on fresh seeds (HISTORIES=1000)
# make soak-coallocation   jobs over several sites of real Slurm clusters, ROUNDS=20 times each of: runs, kills of brokers, a controller
#               that is down, a node that dies
# make torture  five brokers through kills, stops, cuts and full disks, about 4 minutes (SEED=N repeats a run)
# make demo     three sites and a pool of desktops on this machine, a dozen jobs (KEEP=1 leaves the sites up)
# make bench    the benchmarks, as benchstat reads them (COUNT=10 runs of each; BENCH=REGEXP
#               and PACKAGES=./plan for some of them; CPU=1 for one core); the figures of the README: go run ./test/figures
# make bench-estimate   predicted starts on three real Slurm clusters against those of sbatch --test-only and the
#               real ones, about 8 minutes on a quiet machine (SEED=1, JOBS=200; JSON=FILE writes all)
# make bench-estimate LIVE=DIR   the same of the batch system whose commands are on PATH, alone: as a user who may submit, on an
#               idle system (as for test-openpbs, test-torque); DIR is a folder that its nodes see (SEED=1, JOBS=200)
# make bench-sweep      a sweep of JOBS=10000 jobs of no work over three sites of this machine, to its end
# make bench-where      what where tells against what then happens, on three real Slurm clusters whose brokers are
#               neighbours, with local jobs beside, about 6 minutes on a quiet machine (SEED=1, JOBS=200; JSON=FILE)
# make bench-pool       one pool process under COMPUTERS=5000 computers that report each minute, and come back at once
# make bench-lateness   what jobs of a pool on all cores add to the lateness of an owner's program that wakes every 10 ms: it
#               ends with 1 where that is more than 2 ms at the 99th percentile; a minute
# make bench-grid       jobs that sleep on three real daemons against the simulation of the same jobs, about 5 minutes
#               (SEED=1, JOBS=100); it ends with 1 where mean wait or response differ by more than a tenth
# make wan      brokers in network namespaces over links with delay, loss, rates and cuts: meshes of 2, 3 and 8 have to
#               rejoin after each trouble, sites that only dial out, files over a long way, forecasts; about 70 minutes, as root; it prints the
#               lines of tables; GBROKER_BROKERS=N adds N brokers on one machine (GBROKER_IDLE=1m is how long each state is measured)
# make man      the manual pages of all commands, into bin/man
# make mutate   changes single places of PACKAGES="./store ./wire" at random, N=20 of each, and tells which no test noticed (SEED=N repeats;
#               FILES=REGEXP only those of such files, RUN=REGEXP only by such tests, CHANGES=REGEXP only those that are told so)
# make dead     the functions that no program calls, tests left out; it fetches golang.org/x/tools
# make fmt      format the code
SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
VERSION     ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo 0.1.0-dev)
LDFLAGS     := -X gbroker/internal/version.Version=$(VERSION)

.PHONY: build test test-openpbs test-torque tools check soak soak-coallocation soak-flows soak-pool torture demo bench bench-estimate bench-sweep bench-where bench-grid bench-pool bench-lateness wan man mutate dead fmt

build:
	@mkdir -p bin
	go build -ldflags '$(LDFLAGS)' -o bin/ ./cmd/...

# What tests need beside Go: a C compiler (for -race), an MPI (for parallel jobs) and Slurm (with munge).
# They are installed where that may be done; else it is said what is not tested.
tools:
	@test/house/tools

check:
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not formatted (make fmt does it):"; echo "$$unformatted"; exit 1; fi
	go vet ./...

# The last line is "N passed, N failed, N skipped". go vet has run over all (check): the tests leave it out. The house rules and the import
# test are tests too: test/house. What is in ALONE has no goroutines, so the race detector has
# nothing to find there, and makes it some ten times slower; so has what is called TestSerial in the other
# packages. TestLarge is what takes long of what smaller tests of its package show under the detector. The tests of the programs in bin/, WHOLE, have no detector either; they, whose
# clocks are real, run beside what takes one core, and before the others with real clusters; beside all are those of WIDE, which wait for
# networks of their own most of the time. Tests keep little and throw away
# much: they, and the linker, collect garbage a fifth as often as they would (RARE). The programs of WHOLE do not: their memory is looked at.
ALONE = ./grid/... ./steps/... ./jsdl/... ./plan/... ./flow/... ./reserve/... ./wire/... ./broker/core/... ./pool/... ./budget/... ./sim/brokers/... ./sim/faults/... ./sim/replay ./sim/replay/counted/... ./sim/workload/... ./sim/chart ./overlay/topology ./pbs/dialect ./test/house ./test/man
WHOLE = ./test/e2e
WIDE = ./test/wan
# What computes for its caller alone, in one goroutine, and is no code of ours, has no race to find; under the detector SQLite takes
# three times as long, and signatures ten times.
CALM = -gcflags=modernc.org/...=-race=false -gcflags=crypto/internal/...=-race=false -gcflags=github.com/mr-tron/...=-race=false
RARE = env GOGC=400
# A program under the detector sleeps for a second before it exits, for what is still under way; many tests run such programs, one after another.
SOON = env GORACE=atexit_sleep_ms=20
LARGE = ^Test(Serial|Large)
UNRACED = $(addprefix ./,$(sort $(dir $(shell git grep -lE '^func Test(Serial|Large)' -- '*_test.go'))))

test: export GBROKER_PROGRAMS = $(CURDIR)/bin
test: tools check build
	@go build -o bin/count ./test/house/count
	@race='-race $(CALM)'; command -v "$${CC:-gcc}" >/dev/null || race=; \
	rest=$$(go list ./test/... ./pbs/... ./... | grep -vxF "$$(go list $(ALONE) $(WHOLE) $(WIDE))"); \
	bin/count go test -vet=off -timeout 30m -json : $(WHOLE) -- $(RARE) go test -vet=off -p 1 -timeout 30m -json : $(ALONE) \
	then $(RARE) $(SOON) go test -vet=off $$race -p 2 -timeout 30m -json -skip '$(LARGE)' : $$rest -- $(RARE) go test -vet=off -p 1 -timeout 30m -json -run '$(LARGE)' : $(UNRACED) \
	and $(RARE) $(SOON) go test -vet=off $$race -p 1 -timeout 30m -json -skip '$(LARGE)' : $(WIDE)

test-openpbs:
	GBROKER_LIVE_OPENPBS=1 $(if $(FOLDER),TMPDIR=$(FOLDER)) go test ./pbs/openpbs -run '^TestLive$$' -v -count 1 -timeout 4h

test-torque:
	GBROKER_LIVE_TORQUE=1 $(if $(FOLDER),TMPDIR=$(FOLDER)) go test ./pbs/torque -run '^TestLive$$' -v -count 1 -timeout 4h

soak: build
	bin/gsim faults $(if $(SEEDS),--seeds $(SEEDS),--fresh 1000000000 --for $(or $(FOR),10m)) --all --profile $(or $(PROFILE),all)

# A job over two clusters twenty times, over two sites of which one is killed at every step, and over three clusters of which one loses its controller or a node; and one that begins before its time.
soak-coallocation:
	GBROKER_ROUNDS=$(or $(ROUNDS),20) go test ./test/e2e -run '^Test(OneJobOverTwoClusters|OneJobOverTwoClustersBeginsSooner|OneProgramOfOpenMPIOverTwoClusters|PartsOfAParallelProgramMeet|KillsOfOneJobOverTwoSites|ControllerDownDuringConfirm|NodeOfReservationDies)$$' -v -count 1 -timeout 2h

# Workflows and their keeper through kills, lost answers, failed tasks and full disks, with seeds from the clock.
soak-flows:
	go test ./daemon/flows -run '^Test(FlowsThroughFaults|WatchedFolderThroughFaults|PeriodicThroughKills)$$' -histories $(or $(HISTORIES),1000) -count 1 -timeout 2h

# Processes of this machine: agents, their owners as files, and a broker with its pool.
soak-pool:
	GBROKER_SOAK_POOL=$(or $(FOR),5m) $(if $(SEED),GBROKER_SEED=$(SEED)) go test ./test/e2e -run '^TestSoakPool$$' -v -count 1 -timeout 1h

# Networks and disks are in namespaces of the kernel: nothing of this machine is touched.
torture: build
	go build -o bin/ ./test/torture
	bin/torture -bin bin -v $(if $(SEED),-seed $(SEED)) $(if $(KEEP),-keep $(KEEP))

demo: build
	go run ./test/demo -bin bin $(if $(KEEP),-keep)

# Package by package, so that none disturbs another.
COUNT    ?= 10
BENCH    ?= .
MEASURED  = $(sort $(dir $(shell git grep -l '^func Benchmark' -- '*_test.go')))
CPU      ?=
bench:
	@go test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) $(if $(CPU),-cpu $(CPU)) -p 1 -timeout 0 $(addprefix ./,$(or $(PACKAGES),$(MEASURED)))

# It ends with 1 where the mean error of ours is more than half of Slurm's.
bench-estimate: $(if $(LIVE),,tools)
	@mkdir -p bin
	go build -o bin/ ./test/estimate
	bin/estimate $(if $(LIVE),-live $(LIVE)) $(if $(SEED),-seed $(SEED)) $(if $(JOBS),-jobs $(JOBS)) $(if $(JSON),-json $(JSON))

# It ends with 1 where the site or the spread that was told is true too seldom.
bench-sweep:
	GBROKER_BENCH_SWEEP=$(or $(JOBS),10000) go test ./test/e2e -run '^TestBenchSweep$$' -v -count 1 -timeout 2h

bench-where: tools
	@mkdir -p bin
	go build -o bin/ ./test/estimate
	bin/estimate -where $(if $(SEED),-seed $(SEED)) $(if $(JOBS),-jobs $(JOBS)) $(if $(JSON),-json $(JSON))

bench-grid: build
	go run ./test/grid -bin bin $(if $(SEED),-seed $(SEED)) $(if $(JOBS),-jobs $(JOBS))

# It ends with 1 where the pool takes more than 300 MiB or half a core, or serves the last later than 30 s.
bench-pool:
	GBROKER_BENCH_POOL=$(or $(COMPUTERS),5000) go test ./pbs/pool -run '^TestManyComputers$$' -v -count 1

bench-lateness:
	GBROKER_BENCH_LATENESS=1 go test ./pbs/pool/agent -run '^TestLateness$$' -v -count 1

wan:
	GBROKER_WAN=1 go test -count=1 -timeout 100m -v ./test/wan
	GBROKER_WAN=1 go test -count=1 -timeout 20m -v -run '^Test(RecordsOutliveAThird|AllAgreeWithinAMinute)$$' ./overlay

man: build
	for p in gclient gbroker gbroker-agent gsim; do bin/$$p man bin/man; done

mutate:
	@go run ./test/mutate -n $(or $(N),20) $(if $(SEED),-seed $(SEED)) $(if $(FILES),-files '$(FILES)') $(if $(RUN),-run '$(RUN)') $(if $(CHANGES),-changes '$(CHANGES)') $(or $(PACKAGES),./store ./wire ./grid)

dead:
	@go run golang.org/x/tools/cmd/deadcode@v0.51.0 ./cmd/...

fmt:
	gofmt -w $$(git ls-files '*.go')
