package faults

import (
	"fmt"
	"strings"

	"gbroker/grid"
	"gbroker/wire"
)

// kindOf is the name of a message.
func kindOf(m wire.Message) string { return strings.TrimPrefix(fmt.Sprintf("%T", m), "wire.") }

// say is a message in a line of the trace.
func say(m wire.Message) string {
	handoff := func(b wire.HandoffID) string { return fmt.Sprintf("%s@%s to %s", b.Job, b.Epoch, b.To) }
	text := ""
	switch m := m.(type) {
	case wire.EstimateRequest:
		text = fmt.Sprintf("round %d, %d jobs", m.Round, len(m.Questions))
	case wire.EstimateReply:
		text = fmt.Sprintf("round %d, %d answers", m.Round, len(m.Answers))
	case wire.Offer:
		text = handoff(m.Handoff)
	case wire.Accept:
		text = handoff(m.Handoff)
	case wire.Refuse:
		text = handoff(m.Handoff)
		if m.Estimate.Refusal != nil {
			text += ": " + m.Estimate.Refusal.Reason
		}
	case wire.Ready:
		text = handoff(m.Handoff)
	case wire.Abort:
		text = handoff(m.Handoff) + ": " + m.Why
	case wire.Commit:
		text = fmt.Sprintf("%s, cancel %v", handoff(m.Handoff), m.Cancel)
	case wire.Owned:
		text = fmt.Sprintf("%s, owner %s", handoff(m.Handoff), m.Owner)
	case wire.Inquire:
		text = handoff(m.Handoff)
	case wire.InquireReply:
		text = fmt.Sprintf("%s, verdict %d, owner %s, cancel %v", handoff(m.Handoff), m.Verdict, m.Owner, m.Cancel)
	case wire.Declined:
		text = handoff(m.Handoff)
	case wire.Unknown:
		text = handoff(m.Handoff)
	case wire.Report:
		text = fmt.Sprintf("%s@%s number %d, %s, end %d", m.Job, m.Epoch, m.Number, m.State, m.End)
	case wire.ReportAck:
		text = fmt.Sprintf("%s@%s number %d, closed %v, cancel %v", m.Job, m.Epoch, m.Number, m.Closed, m.Cancel)
	case wire.Cancel:
		text = fmt.Sprintf("%s@%s", m.Job, m.Epoch)
	case wire.Moved:
		text = string(m.Job)
		for _, d := range m.Certificates {
			text += fmt.Sprintf(", to %s at %s", d.To, d.Epoch)
		}
	case wire.Closed:
		text = fmt.Sprintf("%s, term %d", m.Job, m.Term)
	case wire.Error:
		text = fmt.Sprintf("of kind %d, %s: %s", m.Of, m.Job, m.Why)
	case wire.Request:
		text = fmt.Sprintf("%d, %s%s of %s, wish %d", m.Number, m.Job, m.Group, m.User, m.Wish)
	case wire.Response:
		text = fmt.Sprintf("%d, %s%s, outcome %d %s", m.Number, m.Job, m.Group, m.Outcome, m.Why)
	case wire.Recalled:
		text = fmt.Sprintf("%s@%s, owning %v", m.Job.ID, m.Epoch, m.Owning)
	case wire.Slots:
		text = fmt.Sprintf("%s, round %d, from %d to %d, brief %v", m.Of, m.Round, m.From, m.To, m.Brief)
	case wire.SlotsReply:
		text = fmt.Sprintf("%s, round %d, %d slots%s", m.Of, m.Round, len(m.Slots), sayRefusal(m.Refusal))
	case wire.Reserve:
		text = fmt.Sprintf("%s for %s, %v from %d to %d", m.ID, m.For, m.Nodes, m.From, m.Until)
	case wire.Reserved:
		text = fmt.Sprintf("of kind %d, %s%s", m.Of, sayReservation(&m.Reservation), sayRefusal(m.Refusal))
	case wire.ReservationWord:
		text = sayReservation(&m.Reservation)
	default:
		text = fmt.Sprintf("%+v", m)
	}
	return kindOf(m) + " " + text
}

func sayRefusal(r *grid.Refusal) string {
	if r == nil {
		return ""
	}
	return ": " + r.Reason
}

func sayReservation(r *grid.Reservation) string {
	return fmt.Sprintf("%s for %s, %v from %d to %d, until %d: number %d, %v %s", r.ID, r.For, r.Nodes, r.Start, r.End, r.Until, r.Seq, r.State, r.Reason)
}

// sayRecord is a record in a line of the trace.
func sayRecord(s *site, r *grid.Record) string {
	text := fmt.Sprintf("%s %s epoch %s owner %s attempt %d", r.Role, r.State, r.Epoch, r.Owner, r.Attempt)
	if r.Handoff.Phase != grid.NoHandoff {
		text += fmt.Sprintf(", handoff %s to %s at %s", phaseNames[r.Handoff.Phase], r.Handoff.To, r.Handoff.Epoch)
	}
	if r.CancelRequested {
		text += ", to be cancelled"
	}
	if r.Reason != "" {
		text += " (" + r.Reason + ")"
	}
	return text
}

var phaseNames = [...]string{"none", "offering", "withdrawing", "committed"}
