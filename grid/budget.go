package grid

import "strconv"

// Amount is what something costs, in millionths of the unit of the sites' prices: sums of it are exact.
type Amount int64

// MaxAmountOf bounds a budget, in units.
const MaxAmountOf = 1_000_000_000

// Units is the amount in the unit of the prices.
func (a Amount) Units() float64 { return float64(a) / 1e6 }

// String is the amount in the unit of the prices, exactly.
func (a Amount) String() string { return strconv.FormatFloat(a.Units(), 'f', -1, 64) }

// Budget is what a user of this site may pay at sites with prices, as his home keeps it.
type Budget struct {
	User    string
	Granted Amount
	Spent   Amount
	Liens   []Lien
	Lapsed  bool // nothing is granted any more: he may pay anything; what he has spent counts again with the next grant
}

// Lien is what is kept back for one job, or one part, that may run: it can cost so much, and is charged for what it runs.
type Lien struct {
	Job    JobID
	Amount Amount
	Rate   float64 // per core and hour
	Cores  int
	Back   bool // given back, as its job is LOST: it is charged all the same if that gains a result
}

// Entity says that the record is that of a budget.
func (b *Budget) Entity() (Kind, string) { return KindBudget, b.User }

// InLiens is the sum of the liens that stand.
func (b *Budget) InLiens() (sum Amount) {
	for _, h := range b.Liens {
		if !h.Back {
			sum += h.Amount
		}
	}
	return sum
}

// Free is what may still be spent or kept back; below 0 where less was granted afterwards.
func (b *Budget) Free() Amount { return b.Granted - b.InLiens() - b.Spent }
