package workload

import (
	"math"
	"math/rand/v2"
)

// Kind is where a number comes from.
type Kind uint8

// The kinds of numbers.
const (
	Constant    Kind = iota // Mean
	Uniform                 // between From and To
	Poisson                 // of Mean
	Exponential             // of Mean
	Lognormal               // of Mean, and CV, the deviation as a part of the mean
	Choose                  // one of Of, each as likely
)

// Numbers is one value, or a distribution. What is drawn is clipped to From and To.
type Numbers struct {
	Kind     Kind
	Mean, CV float64
	From, To float64   // To 0 is without end
	Of       []float64 // of Choose
}

// Value is always the same number.
func Value(v float64) Numbers { return Numbers{Mean: v} }

// Drawn tells whether chance has a part in it.
func (n Numbers) Drawn() bool { return n.Kind != Constant }

// MostPoisson is the largest mean of a Poisson distribution.
const MostPoisson = 500

// Draw takes the next number.
func (n Numbers) Draw(r *rand.Rand) float64 {
	v := n.Mean
	switch n.Kind {
	case Uniform:
		v = n.From + r.Float64()*(n.To-n.From)
	case Poisson:
		v = poisson(n.Mean, r)
	case Exponential:
		v *= r.ExpFloat64()
	case Lognormal:
		v = lognormal(n.Mean, n.CV, r)
	case Choose:
		v = n.Of[r.IntN(len(n.Of))]
	}
	if n.Kind == Constant {
		return v
	}
	v = max(v, n.From)
	if n.To > 0 {
		v = min(v, n.To)
	}
	return v
}

// poisson counts how many exponential gaps fit into the mean (by their product: Knuth).
func poisson(mean float64, r *rand.Rand) float64 {
	least, n := math.Exp(-mean), 0.0
	for p := r.Float64(); p > least; p *= r.Float64() {
		n++
	}
	return n
}

func lognormal(mean, cv float64, r *rand.Rand) float64 {
	s := math.Log1p(cv * cv) // variance of the logarithm
	return mean * math.Exp(math.Sqrt(s)*r.NormFloat64()-s/2)
}
