package plan

import (
	"fmt"
	"slices"

	"gbroker/grid"
)

// Change is that so much more is free from From until just before To, or for ever;
// negative amounts are taken.
type Change struct {
	From, To grid.Tick // To may be Forever
	Amounts  Vector
}

// With is the timeline after changes. They are made one after another, all or, where
// one is refused, none; t stays as it is.
func (t *Timeline) With(changes ...Change) (*Timeline, error) {
	trial := t.Try()
	for i, c := range changes {
		if err := trial.Change(c); err != nil {
			return nil, fmt.Errorf("change %d: %w", i+1, err)
		}
	}
	return trial.Timeline(), nil
}

// Trial is a timeline that one goroutine changes in place: a row of questions, each as
// if what came of those before were so, or a row of changes. The timeline it came from
// stays as it is; beginning costs nothing, and of it only what is changed is copied,
// once.
type Trial struct {
	now   Timeline
	edit  *edit // owns the pages that were copied
	owned bool  // the spine was copied
}

// edit is a token: pages with the same one belong to one trial.
type edit struct{ _ byte }

// Try begins a trial.
func (t *Timeline) Try() *Trial { return &Trial{now: *t, edit: new(edit)} }

// Timeline is what the trial has become, as it is now. The trial may go on.
func (t *Trial) Timeline() *Timeline {
	t.edit, t.owned = new(edit), false
	out := t.now
	return &out
}

// Earliest is that of a timeline, as the trial is now.
func (t *Trial) Earliest(need Vector, d, notBefore, horizon grid.Tick) (grid.Tick, *Shortfall) {
	return t.now.Earliest(need, d, notBefore, horizon)
}

// Place finds the earliest place and takes it.
func (t *Trial) Place(need Vector, d, notBefore, horizon grid.Tick) (grid.Tick, *Shortfall) {
	start, short := t.now.Earliest(need, d, notBefore, horizon)
	if short != nil {
		return start, short
	}
	taken := make(Vector, len(need))
	for r, n := range need {
		taken[r] = -max(n, 0)
	}
	until := Forever
	if d <= maxInstant {
		until = start + max(d, 1)
	}
	t.make(Change{start, until, taken})
	return start, nil
}

// Change makes one change, or says why it cannot be.
func (t *Trial) Change(c Change) error {
	if err := checkInstant(c.From); err != nil {
		return err
	}
	if c.To != Forever {
		if err := checkInstant(c.To); err != nil {
			return err
		}
	}
	if c.To <= c.From {
		return fmt.Errorf("%w: it ends at %d, which is not after its beginning at %d", grid.ErrInvalid, c.To, c.From)
	}
	if len(c.Amounts) != t.now.spine.width {
		return fmt.Errorf("%w: amounts of %d resources, where there are %d", grid.ErrInvalid, len(c.Amounts), t.now.spine.width)
	}
	for r, amount := range c.Amounts {
		if amount == 0 {
			continue
		}
		if err := checkAmount(t.now.names[r], amount); err != nil {
			return err
		}
		least, most := t.now.spine.extent(r, c.From, c.To)
		if least+amount < -mostFree || most+amount > mostFree {
			return fmt.Errorf("%w: with %d of %.80q more, more than %d would be free or missing", grid.ErrInvalid, amount, t.now.names[r], mostFree)
		}
	}
	t.make(c)
	return nil
}

// make makes a change that is within all bounds.
func (t *Trial) make(c Change) {
	c.From = max(c.From, t.now.Start())
	if c.To <= c.From {
		return
	}
	if !t.owned {
		t.now.spine, t.owned = t.now.spine.clone(), true
	}
	t.cut(c.From)
	if c.To < Forever {
		t.cut(c.To)
	}
	t.add(c)
	if c.To < Forever {
		t.join(c.To)
	}
	t.join(c.From)
}

// clone has room for the pages that a few changes add.
func (s *spine) clone() spine {
	n := len(s.pages)
	return spine{
		s.width, append(make([]grid.Tick, 0, n+4), s.at...), append(make([]*page, 0, n+4), s.pages...),
		s.grown(s.plus), s.grown(s.least), s.grown(s.most),
	}
}

func (s *spine) grown(of []int64) []int64 {
	return append(make([]int64, 0, len(of)+4*s.width), of...)
}

// own is page p, for changing.
func (t *Trial) own(p int) *page {
	s := &t.now.spine
	had := s.pages[p]
	if had.owner == t.edit {
		return had
	}
	own := newPage(t.edit, s.width)
	own.put(0, had, 0, had.n)
	s.pages[p] = own
	return own
}

// put copies points i to j of another page behind the first n.
func (p *page) put(n int, from *page, i, j int) {
	p.n = n + copy(p.at[n:], from.at[i:j])
	for r := 0; r < len(p.free); r += pageSize {
		copy(p.free[r+n:r+p.n], from.free[r+i:r+j])
	}
}

// cut makes a point at an instant.
func (t *Trial) cut(at grid.Tick) {
	s := &t.now.spine
	p := s.find(at)
	if had := s.pages[p]; had.at[had.find(at)] == at {
		return
	}
	page := t.own(p)
	if page.n == pageSize {
		t.split(p)
		page = s.pages[s.find(at)]
	}
	i := page.find(at) + 1
	copy(page.at[i+1:page.n+1], page.at[i:])
	page.at[i] = at
	for r := 0; r < len(page.free); r += pageSize {
		column := page.free[r : r+page.n+1]
		copy(column[i:], column[i-1:])
	}
	page.n++
}

// split moves half of page p, which is owned, to a new one behind it.
func (t *Trial) split(p int) {
	s := &t.now.spine
	left, right := s.pages[p], newPage(t.edit, s.width)
	half := left.n / 2
	right.put(0, left, half, left.n)
	left.n = half
	s.at = slices.Insert(s.at, p+1, right.at[0])
	s.pages = slices.Insert(s.pages, p+1, right)
	row := slices.Clone(s.plus[p*s.width : (p+1)*s.width])
	for _, of := range []*[]int64{&s.plus, &s.least, &s.most} {
		*of = slices.Insert(*of, (p+1)*s.width, row...)
	}
	s.summarise(p)
	s.summarise(p + 1)
}

// add adds to the points of a change, which begins and ends at points.
func (t *Trial) add(c Change) {
	s := &t.now.spine
	for p := s.find(c.From); p < len(s.pages) && s.at[p] < c.To; p++ {
		if s.within(p, c.From, c.To) {
			s.shift(p, c.Amounts)
			continue
		}
		page := t.own(p)
		i, j := page.before(c.From), page.before(c.To)
		for r, amount := range c.Amounts {
			column := page.column(r)[i:j]
			for k := range column {
				column[k] += amount
			}
		}
		s.summarise(p)
	}
}

// shift adds to all points of page p.
func (s *spine) shift(p int, amounts Vector) {
	for r, amount := range amounts {
		s.plus[p*s.width+r] += amount
		s.least[p*s.width+r] += amount
		s.most[p*s.width+r] += amount
	}
}

// summarise reckons the least and the most of page p anew.
func (s *spine) summarise(p int) {
	for r := range s.width {
		column := s.pages[p].column(r)
		least, most := column[0], column[0]
		for _, free := range column {
			least, most = min(least, free), max(most, free)
		}
		plus := s.plus[p*s.width+r]
		s.least[p*s.width+r], s.most[p*s.width+r] = least+plus, most+plus
	}
}

// join removes the point at an instant if it is equal to the one before. Pages that
// have become small are made one.
func (t *Trial) join(at grid.Tick) {
	s := &t.now.spine
	p := s.find(at)
	i := s.pages[p].find(at)
	before, last := p, i-1
	if i == 0 {
		if before = p - 1; before < 0 {
			return
		}
		last = s.pages[before].n - 1
	}
	for r := range s.width {
		if s.free(p, i, r) != s.free(before, last, r) {
			return
		}
	}
	t.remove(p, i)
	if before < p {
		p = before
	}
	t.merge(p)
	if p > 0 {
		t.merge(p - 1)
	}
}

// remove removes point i of page p; the last of a page takes the page with it.
func (t *Trial) remove(p, i int) {
	s := &t.now.spine
	if s.pages[p].n == 1 {
		s.drop(p)
		return
	}
	page := t.own(p)
	copy(page.at[i:], page.at[i+1:page.n])
	for r := 0; r < len(page.free); r += pageSize {
		copy(page.free[r+i:], page.free[r+i+1:r+page.n])
	}
	page.n--
	s.at[p] = page.at[0]
	if i == 0 {
		s.summarise(p)
	}
}

func (s *spine) drop(p int) {
	s.at = slices.Delete(s.at, p, p+1)
	s.pages = slices.Delete(s.pages, p, p+1)
	for _, of := range []*[]int64{&s.plus, &s.least, &s.most} {
		*of = slices.Delete(*of, p*s.width, (p+1)*s.width)
	}
}

// merge makes one of page p and the next if that is less than half full.
func (t *Trial) merge(p int) {
	s := &t.now.spine
	if p+1 >= len(s.pages) || s.pages[p].n+s.pages[p+1].n > pageSize/2 {
		return
	}
	left, right := t.own(p), s.pages[p+1]
	n := left.n
	left.put(n, right, 0, right.n)
	for r := range s.width {
		more := s.plus[(p+1)*s.width+r] - s.plus[p*s.width+r]
		column := left.column(r)[n:]
		for i := range column {
			column[i] += more
		}
	}
	s.drop(p + 1)
	s.summarise(p)
}
