package state

import (
	"bytes"
	"context"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"

	"github.com/tidemark-stream/tidemark/state/keys"
)

// A window that has many keys is written by every commit while it is open, and dead as soon as it has fired. That would be most of what compactions
// read and write, and none of it would be of use. So a large pane gets tables of its own, which overlap those of no other pane, and when it is
// dropped they are cut out of the database as they are, whatever level they lie at.

// paneWriter is a target that writes tables one behind the other. A new one begins behind every pane of many entries, and in front of the first
// pane, so that what lies at the other end of the key space does not make tables overlap.
type paneWriter struct {
	create func() (*sstable.Writer, error)
	many   int  // entries that make a pane a large one
	large  bool // there may be such

	w       *sstable.Writer
	spans   []span // that no table has yet
	pane    []byte // what the last key's pane has in common; empty for keys of no pane
	entries int    // of it
	done    []*sstable.Writer
}

func (p *paneWriter) deleteRange(start, end []byte) error {
	p.spans = append(p.spans, span{start, end})
	return nil
}

func (p *paneWriter) set(key, value []byte) error {
	if err := p.before(key); err != nil {
		return err
	}
	return p.w.Set(key, value)
}

func (p *paneWriter) merge(key, value []byte) error {
	if err := p.before(key); err != nil {
		return err
	}
	return p.w.Merge(key, value)
}

func (p *paneWriter) delete(key []byte) error {
	if err := p.before(key); err != nil {
		return err
	}
	return p.w.Delete(key)
}

// before begins another table in front of a key if that is the first of its pane.
func (p *paneWriter) before(key []byte) error {
	pane := keys.PaneOf(key)
	if !bytes.Equal(pane, p.pane) {
		if p.w != nil && p.large && (p.entries >= p.many || len(p.pane) == 0) {
			if err := p.finish(pane); err != nil {
				return err
			}
		}
		p.pane, p.entries = append(p.pane[:0], pane...), 0
	}
	p.entries++
	return p.open()
}

func (p *paneWriter) open() (err error) {
	if p.w == nil {
		p.w, err = p.create()
	}
	return err
}

// finish ends a table in front of a key, with what is to be removed up to there. nil: it is the last one.
func (p *paneWriter) finish(bound []byte) error {
	for len(p.spans) > 0 {
		s := p.spans[0]
		if bound != nil && bytes.Compare(s.start, bound) >= 0 {
			break
		}
		p.spans = p.spans[1:]
		cut := bound != nil && bytes.Compare(s.end, bound) > 0
		if cut {
			p.spans = append([]span{{bytes.Clone(bound), s.end}}, p.spans...)
			s.end = bytes.Clone(bound)
		}
		if err := p.open(); err != nil {
			return err
		}
		if err := p.w.DeleteRange(s.start, s.end); err != nil {
			return err
		}
		if cut {
			break
		}
	}
	if p.w == nil {
		return nil
	}
	w := p.w
	p.w = nil
	p.done = append(p.done, w)
	return w.Close()
}

// abandon closes what is open after a mistake.
func (p *paneWriter) abandon() {
	if p.w != nil {
		_ = p.w.Close()
	}
}

// cutOut takes panes that a commit has dropped out of the database, if there is much of them. The removal of the commit hides them, so this changes nothing
// that can be read, but by Views, which the database would take them from, too: while there is one, panes are left to compactions.
func (s *Store) cutOut(ctx context.Context, cs *changeSet) error {
	first, _ := keys.OperatorBounds(0)
	for _, gone := range cs.spans {
		if bytes.Compare(gone.start, first) < 0 {
			continue
		}
		n, err := s.db.EstimateDiskUsage(gone.start, gone.end)
		if err != nil {
			return err
		}
		if n < uint64(s.opts.CutBytes) {
			continue
		}
		if err := s.cutSpan(ctx, gone); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) cutSpan(ctx context.Context, gone span) error {
	s.viewing.Lock()
	defer s.viewing.Unlock()
	if s.views > 0 {
		return nil
	}
	empty := true // the same commit may have written there, behind the removal
	err := s.iterate(gone.start, gone.end, func(it *pebble.Iterator) error {
		empty = !it.First()
		return it.Error()
	})
	if err != nil || !empty {
		return err
	}
	return s.log.run(ctx, "the removal of a window", func() error {
		return s.db.Excise(noContext, pebble.KeyRange{Start: gone.start, End: gone.end})
	})
}
