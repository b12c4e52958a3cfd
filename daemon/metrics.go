package daemon

import (
	"net/http"
	"runtime"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"gbroker/broker"
	"gbroker/grid"
	"gbroker/internal/version"
)

// meter is what /metrics tells: counters since the start of this daemon, and how things are
// when it is asked. docs/operating.md lists the names.
type meter struct {
	site     *site
	registry *prometheus.Registry

	accepted  prometheus.Counter
	ended     *prometheus.CounterVec // by state
	handoffs  *prometheus.CounterVec // by direction
	decisions *prometheus.CounterVec // by cause
	polls     *prometheus.CounterVec // by result
	displaced prometheus.Counter     // local jobs
	lost      prometheus.Counter     // core-seconds of them
	wait      prometheus.Histogram
	off       *prometheus.HistogramVec // by whether the job started early or late
}

func newMeter(s *site) *meter {
	vec := func(name, help, label string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	}
	spans := []float64{1, 10, 60, 300, 600, 1800, 3600, 4 * 3600, 24 * 3600, 7 * 24 * 3600}
	m := &meter{
		site: s, registry: prometheus.NewRegistry(),
		accepted:  prometheus.NewCounter(prometheus.CounterOpts{Name: "gbroker_jobs_accepted_total", Help: "Jobs of this home that were accepted."}),
		ended:     vec("gbroker_jobs_ended_total", "Jobs of this home that have ended, by their last state.", "state"),
		handoffs:  vec("gbroker_handoffs_total", "Jobs that changed their owner, in from and out to neighbours.", "direction"),
		decisions: vec("gbroker_decisions_total", "Searches for a place that decided, by cause.", "cause"),
		polls:     vec("gbroker_batch_polls_total", "Looks at the batch system, by result.", "result"),
		displaced: prometheus.NewCounter(prometheus.CounterOpts{Name: "gbroker_jobs_displaced_total", Help: "Waiting local jobs that gave way to a reservation of another site's user."}),
		lost:      prometheus.NewCounter(prometheus.CounterOpts{Name: "gbroker_displaced_core_seconds_total", Help: "What these would have had of the nodes meanwhile."}),
		wait: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "gbroker_job_wait_seconds", Buckets: spans,
			Help: "From the submission of a job to its start, of jobs that started here."}),
		off: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "gbroker_start_estimate_error_seconds", Buckets: spans,
			Help: "How far the start of a job was from the estimate at its queueing here; late: after it."}, []string{"start"}),
	}
	m.registry.MustRegister(m.accepted, m.ended, m.handoffs, m.decisions, m.polls, m.displaced, m.lost, m.wait, m.off, moment{m},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *meter) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

// displace takes local jobs that give way to a reservation.
func (m *meter) displace(jobs int, coreSeconds float64) {
	m.displaced.Add(float64(jobs))
	m.lost.Add(coreSeconds)
}

// started takes the start of a job here.
func (m *meter) started(r *grid.Record) {
	m.wait.Observe(max(0, r.Started-r.Submitted).Seconds())
	if r.ExpectedStart == 0 {
		return
	}
	if off := (r.Started - r.ExpectedStart).Seconds(); off > 0 {
		m.off.WithLabelValues("late").Observe(off)
	} else {
		m.off.WithLabelValues("early").Observe(-off)
	}
}

// moment collects what is so when it is asked.
type moment struct{ *meter }

var (
	infoDesc      = desc("build_info", "Which program runs.", "version", "go")
	jobsDesc      = desc("jobs", "Jobs that this broker is the home or the owner of.", "state")
	memberDesc    = desc("member_up", "Whether a neighbour lives: 1, or 0.", "site")
	tripDesc      = desc("member_round_trip_seconds", "The round trip to a neighbour.", "site")
	bandwidthDesc = desc("member_bandwidth_bytes_per_second", "The bandwidth to a neighbour, for the largest messages that were measured.", "site")
	forecastDesc  = desc("member_bandwidth_forecast_bytes_per_second", "The bandwidth to a neighbour that is expected now, at this hour of the day, by the size of messages.", "site", "size_bytes")
	ageDesc       = desc("member_bandwidth_age_seconds", "How old the newest measurement of the bandwidth to a neighbour is, by the size of messages.", "site", "size_bytes")
	spreadDesc    = desc("member_bandwidth_spread", "How far recent measurements of that bandwidth lie from the forecast, relative to it.", "site", "size_bytes")
	byHourDesc    = desc("member_bandwidth_by_hour", "1 where the forecast of that bandwidth goes with the hour of the day, else 0.", "site", "size_bytes")
	bytesDesc     = desc("member_bytes_total", "What went over the connection to a neighbour.", "site", "direction")
	coresDesc     = desc("batch_cores", "Cores of the nodes that are up.")
	busyDesc      = desc("batch_cores_busy", "Of these, the cores that jobs have.")
	waitingDesc   = desc("batch_jobs_waiting", "Jobs that wait in the batch system, whosever they are.")
	journalDesc   = desc("journal_bytes", "What the journal takes on the disk.")
	freeDesc      = desc("disk_free_bytes", "Room for new work, beyond what is kept back.", "of")
	alarmDesc     = desc("alarms", "What needs the administrator; gbroker status says it in words.")
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("gbroker_"+name, help, labels, nil)
}

// Describe is empty: what is collected depends on the neighbours.
func (moment) Describe(chan<- *prometheus.Desc) {}

// Collect tells how things are.
func (m moment) Collect(to chan<- prometheus.Metric) {
	tell := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	s := m.site
	tell(infoDesc, 1, version.Version, runtime.Version())
	for state, n := range s.jobs() {
		tell(jobsDesc, float64(n), state)
	}
	tell(journalDesc, float64(journalSize(s.cfg.Data)))
	if journal, jobs, err := s.broker.Room(); err == nil {
		tell(freeDesc, float64(max(0, journal-broker.Reserve)), "journal")
		tell(freeDesc, float64(max(0, jobs)), "jobs")
	}
	tell(alarmDesc, float64(len(s.alarms())))
	if l := s.load.Load(); l != nil {
		tell(coresDesc, float64(l.Cores))
		tell(busyDesc, float64(l.Busy))
		tell(waitingDesc, float64(l.Waiting))
	}
	m.members(to, tell)
}

func (m moment) members(to chan<- prometheus.Metric, tell func(*prometheus.Desc, float64, ...string)) {
	s := m.site
	for _, member := range s.memberList() {
		name, up := string(member.Name), 0.0
		if s.overlay.Liveness(member.Peer) == grid.Alive {
			up = 1
		}
		tell(memberDesc, up, name)
		link := s.monitor.Link(member.Peer)
		if link.RTTFine > 0 {
			tell(tripDesc, link.RTTFine, name)
		}
		if r, ok := link.Largest(); ok {
			tell(bandwidthDesc, r.BytesPerSecond, name)
		}
		for k, q := range s.monitor.Qualities(member.Peer) {
			if link.Rates[k].Measured {
				size := strconv.FormatInt(link.Rates[k].Size, 10)
				tell(forecastDesc, link.Rates[k].BytesPerSecond, name, size)
				tell(ageDesc, q.Age.Seconds(), name, size)
				tell(spreadDesc, q.Spread, name, size)
				byHour := 0.0
				if q.ByHour {
					byHour = 1
				}
				tell(byHourDesc, byHour, name, size)
			}
		}
		in, out := s.overlay.Traffic(member.Peer)
		for direction, n := range map[string]int64{"in": in, "out": out} {
			to <- prometheus.MustNewConstMetric(bytesDesc, prometheus.CounterValue, float64(n), name, direction)
		}
	}
}
