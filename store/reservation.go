package store

import (
	"context"
	"fmt"

	"gbroker/grid"
)

// reservationRow is grid.Reservation; what is not set is left out.
type reservationRow struct {
	ID        grid.ReservationID
	Kind      grid.ReservationKind
	Site      grid.PeerID
	Holder    grid.User
	For       grid.JobID      `json:",omitempty"`
	Nodes     []grid.NodeName `json:",omitempty"`
	Start     grid.Tick
	End       grid.Tick
	Bandwidth int64       `json:",omitempty"`
	Peer      grid.PeerID `json:",omitempty"`
	State     grid.ReservationState
	Reason    string        `json:",omitempty"`
	Until     grid.Tick     `json:",omitempty"`
	Grace     grid.Tick     `json:",omitempty"`
	Came      grid.Tick     `json:",omitempty"`
	Early     bool          `json:",omitempty"`
	Price     float64       `json:",omitempty"`
	Details   []variableRow `json:",omitempty"`
	Seq       uint64        `json:",omitempty"`
	Told      uint64        `json:",omitempty"`
	Number    uint64        `json:",omitempty"`
	Made      grid.Tick     `json:",omitempty"`
	Ended     grid.Tick     `json:",omitempty"`
	Cores     int           `json:",omitempty"`
	Holding   grid.Holding  `json:",omitempty"`
	Was       *grid.Place   `json:",omitempty"`
	WasCores  *int          `json:",omitempty"` // nil with Was, and no price: saved by a version that did not keep them
	WasPrice  float64       `json:",omitempty"`
}

func toReservationRow(r *grid.Reservation) reservationRow {
	row := reservationRow{
		ID: r.ID, Kind: r.Kind, Site: r.Site, Holder: r.Holder, For: r.For, Nodes: r.Nodes, Start: r.Start, End: r.End,
		Bandwidth: r.Bandwidth, Peer: r.Peer, State: r.State, Reason: r.Reason, Until: r.Until, Grace: r.Grace, Came: r.Came, Early: r.Early, Price: r.Price,
		Details: each(r.Details, func(v grid.Variable) variableRow { return variableRow{text(v.Name), text(v.Value)} }),
		Seq:     r.Seq, Told: r.Told, Number: r.Number, Made: r.Made, Ended: r.Ended, Cores: r.Cores, Holding: r.Holding, Was: r.Was, WasPrice: r.WasPrice,
	}
	if r.Was != nil {
		row.WasCores = &r.WasCores
	}
	return row
}

func (w reservationRow) reservation() grid.Reservation {
	r := grid.Reservation{
		ID: w.ID, Kind: w.Kind, Site: w.Site, Holder: w.Holder, For: w.For, Nodes: w.Nodes, Start: w.Start, End: w.End,
		Bandwidth: w.Bandwidth, Peer: w.Peer, State: w.State, Reason: w.Reason, Until: w.Until, Grace: w.Grace, Came: w.Came, Early: w.Early, Price: w.Price,
		Details: each(w.Details, func(v variableRow) grid.Variable { return grid.Variable{Name: string(v.Name), Value: string(v.Value)} }),
		Seq:     w.Seq, Told: w.Told, Number: w.Number, Made: w.Made, Ended: w.Ended, Cores: w.Cores, Holding: w.Holding, Was: w.Was, WasPrice: w.WasPrice,
	}
	switch {
	case w.WasCores != nil:
		r.WasCores = *w.WasCores
	case w.Was != nil && w.WasPrice == 0:
		r.WasCores, r.WasPrice = r.Cores, r.Price
	}
	return r
}

func encodeReservationRow(_ *Journal, e grid.Entity) (w row, err error) {
	r, is := e.(*grid.Reservation)
	if !is {
		return w, fmt.Errorf("a reservation's record is no %T", e)
	}
	w.user, w.state = r.Holder.Name, r.State.String()
	w.record, err = encode(toReservationRow(r))
	return w, err
}

// Reservations reads all reservations: those of the nodes here, and those that are held elsewhere.
func (j *Journal) Reservations(ctx context.Context) (list []grid.Reservation, err error) {
	err = entities(ctx, j, "reservation", func(key string, w reservationRow) error {
		r := w.reservation()
		list = append(list, r)
		return belongs(&r, key)
	})
	return list, err
}
