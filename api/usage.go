package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"gbroker/grid"
)

// What jobs have used: GET /v1/usage?by=user|site|month|day&since=TIME&until=TIME&zone=ZONE. A job counts where it
// ended, if it is still in the journal: of a user his own, of an administrator those of all. Months and days are of
// the zone, a name of the tz database; UTC if none is given. The journal is read page by page.

// Usage is what jobs have used, by the order of the keys.
type Usage struct {
	By    string     `json:"by"`
	Since Time       `json:"since"`
	Until Time       `json:"until"`
	Rows  []UsageRow `json:"rows"`
	Total UsageRow   `json:"total"`
}

// UsageRow is what the jobs of one key have used.
type UsageRow struct {
	Key       string  `json:"key"` // a user (USER@HOME of another home), a site, a month, a day
	Jobs      int     `json:"jobs"`
	Failed    int     `json:"failed"` // of them those that did not end by themselves with 0
	CoreHours float64 `json:"core_hours"`
	CPUHours  float64 `json:"cpu_hours"` // that their programs used, as far as the sites could tell
	MeanWaitS float64 `json:"mean_wait_s"`
	MaxWaitS  float64 `json:"max_wait_s"`

	started int
	waits   float64
}

// The ways to sum up.
var usageKeys = []string{"user", "site", "month", "day"}

// maxUsageRows bounds an answer.
const maxUsageRows = 20_000

func (s *Server) usage(r *request) error {
	q := r.URL.Query()
	u := Usage{By: cmp.Or(q.Get("by"), "user")}
	if !slices.Contains(usageKeys, u.By) {
		return fmt.Errorf("by %.20q: it is one of %v: %w", u.By, usageKeys, grid.ErrInvalid)
	}
	zone, err := time.LoadLocation(q.Get("zone"))
	if err != nil || len(q.Get("zone")) > 64 {
		return fmt.Errorf("zone %.70q is not known here: %w", q.Get("zone"), grid.ErrInvalid)
	}
	for name, to := range map[string]*Time{"since": &u.Since, "until": &u.Until} {
		if text := q.Get(name); text != "" {
			at, err := time.Parse(timeText, text)
			if err != nil {
				return fmt.Errorf("%s: %.40q is no RFC 3339 time: %w", name, text, grid.ErrInvalid)
			}
			*to = Time(grid.InstantOf(at))
		}
	}
	rows := map[string]*UsageRow{}
	if err := s.patiently(r, s.limits.LongPoll, func(ctx context.Context) error { return s.sumUp(ctx, r.who, &u, zone, rows) }); err != nil {
		return err
	}
	u.Rows = make([]UsageRow, 0, len(rows))
	for _, row := range rows {
		row.mean()
		u.Rows = append(u.Rows, *row)
	}
	u.Total.mean()
	slices.SortFunc(u.Rows, func(a, b UsageRow) int { return cmp.Compare(a.Key, b.Key) })
	s.answer(r.w, http.StatusOK, u)
	return nil
}

// sumUp reads all jobs, a page at a time.
func (s *Server) sumUp(ctx context.Context, who Identity, u *Usage, zone *time.Location, rows map[string]*UsageRow) error {
	_, self := s.service.Self()
	var after grid.JobID
	for {
		page, err := s.service.Jobs(ctx, who, after, MaxPage, Filter{})
		if err != nil {
			return err
		}
		for i := range page {
			r := &page[i]
			after = r.Job.ID
			at := Time(cmp.Or(r.Finished, r.Ended))
			if !r.State.Terminal() && r.End == 0 || at < u.Since || u.Until != 0 && at >= u.Until {
				continue
			}
			key := s.usageKey(u.By, r, at, zone, self)
			row := rows[key]
			if row == nil {
				if len(rows) == maxUsageRows {
					return fmt.Errorf("there are more than %d rows: name a shorter time: %w", maxUsageRows, grid.ErrInvalid)
				}
				row = &UsageRow{Key: key}
				rows[key] = row
			}
			row.add(r)
			u.Total.add(r)
		}
		if len(page) < MaxPage {
			return ctx.Err()
		}
	}
}

func (s *Server) usageKey(by string, r *grid.Record, at Time, zone *time.Location, self grid.PeerID) string {
	switch t := time.UnixMilli(int64(at)).In(zone); {
	case by == "month":
		return t.Format("2006-01")
	case by == "day":
		return t.Format("2006-01-02")
	case by == "site" && r.Started == 0:
		return "-" // it ran nowhere
	case by == "site":
		return s.service.SiteName(r.Owner)
	case r.Job.User.Home != self:
		return r.Job.User.Name + "@" + s.service.SiteName(r.Job.User.Home)
	}
	return r.Job.User.Name
}

func (row *UsageRow) add(r *grid.Record) {
	row.Jobs++
	if end := cmp.Or(r.End, r.State); end != grid.Completed || r.ExitCode != 0 {
		row.Failed++
	}
	row.CPUHours += r.Usage.CPU.Seconds() / 3600
	if r.Started == 0 {
		return
	}
	if r.Finished > r.Started {
		row.CoreHours += (r.Finished - r.Started).Seconds() / 3600 * float64(r.Job.Demand.Cores())
	}
	wait := max(0, (r.Started - r.Submitted).Seconds())
	row.started++
	row.waits += wait
	row.MaxWaitS = max(row.MaxWaitS, wait)
}

func (row *UsageRow) mean() {
	if row.started > 0 {
		row.MeanWaitS = row.waits / float64(row.started)
	}
}

// Usage sums up what jobs have used.
func (c *Client) Usage(ctx context.Context, by string, since, until Time, zone string) (Usage, error) {
	q := url.Values{"by": {by}, "zone": {zone}}
	if since != 0 {
		q.Set("since", since.String())
	}
	if until != 0 {
		q.Set("until", until.String())
	}
	var u Usage
	err := c.do(ctx, http.MethodGet, "/v1/usage?"+q.Encode(), nil, &u, c.config.Answer+defaultLimits().LongPoll)
	return u, err
}
