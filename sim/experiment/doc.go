// Package experiment runs the experiments of a file: grids of brokers in virtual time (package brokers), on workloads that
// are made or read from logs, and reckons what became of the jobs.
//
// # The file
//
// YAML; a field that is not known is refused with its line and column, and so is a number outside its limits.
//
//	title: Three sites
//	sites:                      # groups of like sites
//	  - name: node              # node1, node2 ... where there are more than one
//	    count: 10
//	    cores: {from: 16, to: 128}
//	    cores_per_node: 0       # 0: nodes of one core
//	    speed: 1
//	    policy: fcfs            # of gsim replay
//	    local_load: 0.2         # made jobs of its own users, as a part of its cores
//	    partition: 3            # of the log, whose jobs are handed in here
//	    away: {share: 0.1, up_s: 3600, down_s: 600}   # so many of the sites leave and return, by chance
//	topology: full              # or ring, grid, {random: 8} (a graph in which each site has 8), {members: {a: [b, c]}} (both ways)
//	links: {delivery_s: 0.5}    # or bandwidth_mb_s and latency_s
//	workload:
//	  jobs: 500                 # or jobs_per_site
//	  rate_per_s: 0.1           # or load: 0.95, as a part of all cores
//	  gaps_cv: 0                # 0: a Poisson process; else the time between arrivals is lognormal
//	  cores: {poisson: 8, from: 1, to: 16}
//	  run_s: {lognormal: 30, cv: 1}
//	  walltime_factor: 1        # the walltime asked for, by the run time
//	  bytes_mb: 0
//	  users: 0
//	  home: node3               # all jobs are handed in there
//	  skew: {jobs: 0.5, sites: 0.1}
//	  local_share: 0
//	  strategists: {share: 0.1, walltime_factor: 5, copies: 3, cancel_s: 5}   # users who ask for more, or hand each job in at several sites, and cancel what is left so long after the first start
//	  log: {file: KTH.swf.gz, deal: users, speed_up: 4, first: 5000}   # in place of the above; deal: partitions, users or turn
//	brokering:
//	  rule: core                # none, core, published, random, least-loaded, oracle
//	  reevaluate_s: 5           # 0 is never
//	  view_age_s: 0
//	  tell_s: 0                 # how often sites tell when jobs would start there, so that brokers ask fewer; 0 tells nothing
//	  views: first              # what is that old: the views of the first choice, or all
//	  knowledge: requested      # or learned, true: what run times sites plan by
//	  homes: neighbours         # of which a site takes jobs: those it has for neighbours, or all, if each knows all and sends to its neighbours
//	seed: 1
//	replications: 20            # with seed, seed+1, ...
//
// A number is one value or a distribution: {from, to}, {poisson}, {exponential}, {lognormal, cv}, {choose: [...]}; the last four are
// clipped to from and to where these are said.
//
// # Grids of values
//
// Each field may be a list instead: the experiment is run for all combinations (vary: all), or for one field at a time, with the
// others at the first of their values (vary: one); brokering.rule is combined with all in either form. Lists that mean
// themselves are sites, choose, members and plots. What does not matter to a rule is not run again for it: to the oracle the topology is
// nothing, and neither is the age of views.
//
// The section quick holds fields that take the place of others with --quick.
//
// # Plots
//
//	plots:
//	  - {file: wait, title: W, x: workload.rate_per_s, y: mean_wait_s, where: {workload.run_s.lognormal: 20}, log: y}
//
// A line for each combination of what else varies.
package experiment
