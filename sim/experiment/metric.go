package experiment

// Metric is a result that has a name.
type Metric struct {
	Name  string // as JSON and CSV have it
	Label string // of an axis, with its unit
	Head  string // of a column of the table; "" is none
}

// metrics are all results, in the order of the files.
var metrics = []Metric{
	{"jobs", "jobs", ""},
	{"offered_load", "offered load, part of all cores", ""},
	{"mean_response_s", "mean response, s", "RESPONSE"},
	{"median_response_s", "median response, s", ""},
	{"p99_response_s", "response that 99 % do not exceed, s", ""},
	{"mean_wait_s", "mean wait, s", "WAIT"},
	{"median_wait_s", "median wait, s", ""},
	{"p99_wait_s", "wait that 99 % do not exceed, s", "P99 WAIT"},
	{"mean_queued_s", "mean wait without delivery, s", "QUEUED"},
	{"mean_bounded_slowdown", "mean bounded slowdown", "SLOWDOWN"},
	{"oracle_ratio", "mean response, by that of the oracle", "BY ORACLE"},
	{"moves_per_job", "moves per job", "MOVES"},
	{"messages_per_job", "messages per job", "MESSAGES"},
	{"asks_per_job", "questions to sites per job", "ASKS"},
	{"unasked_share", "part of the jobs that were placed without a question", "UNASKED"},
	{"steps_per_job", "steps of brokers per job", "STEPS"},
	{"throughput_per_s", "jobs ended per second", ""},
	{"utilisation", "part of all cores in use", "USE"},
	{"fairness", "fairness of the homes (Jain's index of their slowdowns)", "FAIRNESS"},
	{"prediction_error_s", "mean error of the start told, s", "ERROR"},
	{"local_mean_wait_s", "mean wait of local jobs, s", ""},
	{"strategists_response_s", "mean response of strategists, s", "STRATEGISTS"},
	{"others_response_s", "mean response of the others, s", "OTHERS"},
	{"strategists_slowdown", "mean bounded slowdown of strategists", ""},
	{"others_slowdown", "mean bounded slowdown of the others", ""},
	{"vain_share", "what copies ran in vain, by the work asked for", "VAIN"},
	{"processor_us_per_job", "processor time per job, µs", "µs A JOB"},
	{"sites", "sites", ""},
	{"degree", "neighbours of a site", ""},
}

// metricOf is nil where there is none of the name.
func metricOf(name string) *Metric {
	for i := range metrics {
		if metrics[i].Name == name {
			return &metrics[i]
		}
	}
	return nil
}
