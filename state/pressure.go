package state

import "context"

// Pressure says how far the database is behind with its own work.
type Pressure struct {
	Sublevels int    // layers of level 0: each costs every read one more lookup
	Debt      uint64 // bytes that compactions still have to move
	Full      bool   // beyond the limits of Options: take no more input, or checkpoint less often
}

// Pressure looks at the database. It costs some microseconds: ask once a checkpoint, not once a batch.
func (s *Store) Pressure() Pressure {
	if s.Err() != nil {
		return Pressure{}
	}
	m := s.db.Metrics()
	p := Pressure{Sublevels: int(m.Levels[0].Sublevels), Debt: m.Compact.EstimatedDebt}
	p.Full = p.Sublevels > s.opts.MaxSublevels || p.Debt > s.opts.MaxDebt
	return p
}

// WaitForRoom blocks while Pressure is Full. It returns early with the error of the store or of ctx.
func (s *Store) WaitForRoom(ctx context.Context) error {
	for {
		// Take the channel first: relief that comes between the look and the wait must not be missed.
		s.reliefMu.Lock()
		relief := s.relief
		s.reliefMu.Unlock()
		if err := s.Err(); err != nil {
			return err
		}
		if !s.Pressure().Full {
			return nil
		}
		select {
		case <-relief:
		case <-s.log.broken:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// relieved wakes those who wait for room.
func (s *Store) relieved() {
	s.reliefMu.Lock()
	close(s.relief)
	s.relief = make(chan struct{})
	s.reliefMu.Unlock()
}
